package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestRequirementsMatchOpenTofu runs tofu on the test directories of
// internal/opentofu/configuration. tofu must find the same providers and constraints as
// tofu-oci, and must reject the directories that tofu-oci rejects.
func TestRequirementsMatchOpenTofu(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../internal/opentofu/configuration/testdata/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("got %d directories, error %v", len(paths), err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, f := range archive.Files[:len(archive.Files)-1] {
				write(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
			}
			ours, ourErr := weRequire(t.Context(), dir)
			theirs, theirErr := tofuRequires(t, dir)
			if reason := unlike[name]; reason != "" {
				if (ourErr == nil) == (theirErr == nil) {
					t.Errorf("the results are equal, want a difference because %s", reason)
				}
				return
			}
			if (ourErr == nil) != (theirErr == nil) {
				t.Fatalf("tofu-oci: %v\nOpenTofu: %v", ourErr, theirErr)
			}
			if diff := cmp.Diff(theirs, ours); ourErr == nil && diff != "" {
				t.Errorf("(-OpenTofu +tofu-oci):\n%s", diff)
			}
		})
	}
}

// unlike lists the directories that tofu and tofu-oci intentionally read differently,
// and explains each difference.
var unlike = map[string]string{
	"foreign":          "blocks that OpenTofu does not know are left alone: exec runs other programs too",
	"terraform-prefix": "no registry takes such a name, which OpenTofu finds out when it asks",
}

// weRequire returns the requirements that internal/opentofu/configuration reads, one
// per line. A missing module is an error, as in tofu.
func weRequire(ctx context.Context, dir string) ([]string, error) {
	c, err := configuration.Load(ctx, dir, configuration.Options{})
	if err == nil && len(c.Unread) > 0 {
		err = fmt.Errorf("unread configuration: %s", c.Unread[0])
	}
	var lines []string
	for _, r := range c.Required {
		lines = append(lines, requirementLine(r.Address.String(), lockfile.FormatConstraints(r.Constraint)))
	}
	return lines, err
}

func requirementLine(address, constraints string) string {
	return strings.TrimSpace(address + " " + constraints)
}

// requiredLine matches a required provider in the output of tofu providers.
var requiredLine = regexp.MustCompile(`(?m)provider\[([^\]]+)\](.*)$`)

// tofuRequires returns the requirements that tofu reads: the providers of all modules,
// and all constraints for each provider.
func tofuRequires(t *testing.T, dir string) ([]string, error) {
	t.Helper()
	var printed, stderr bytes.Buffer
	for _, args := range [][]string{{"get", "-no-color"}, {"providers", "-no-color"}} {
		cmd := command(t, programs.tofu, args...)
		cmd.Dir = dir
		printed.Reset()
		cmd.Stdout, cmd.Stderr = &printed, &stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, &stderr)
		}
	}
	constraints := map[string][]string{}
	for _, found := range requiredLine.FindAllStringSubmatch(printed.String(), -1) {
		address, constraint := found[1], strings.TrimSpace(found[2])
		if strings.HasPrefix(address, "terraform.io/builtin/") {
			continue
		}
		constraints[address] = append(constraints[address], constraint)
	}
	var lines []string
	for address, all := range constraints {
		all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
		joined := provider.Constraint{}
		if len(all) > 0 {
			var err error
			if joined, err = provider.ParseConstraint(strings.Join(all, ", ")); err != nil {
				t.Fatal(err)
			}
		}
		lines = append(lines, requirementLine(address, lockfile.FormatConstraints(joined)))
	}
	slices.Sort(lines)
	return lines, nil
}
