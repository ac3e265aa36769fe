//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Numbers of the content that is bundled. The zips are incompressible.
const (
	bundledProviders = 50
	bundledModules   = 10
	bundledZip       = 420 << 10
	bundlePart       = 100_000_000
)

// connectedSide contains the repositories from which bundles are created.
type connectedSide struct {
	dir    string
	signer *fixture.Signer
	random *rand.ChaCha8
	// digests maps each version to the digest of its index.
	digests map[string]string
}

// push pushes a version of all providers, and returns the total size of the new zips.
// The first provider is hashicorp/time, whose versions contain the same zips.
func (c *connectedSide) push(t *testing.T, version string) (size int64) {
	t.Helper()
	v, err := provider.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	release := origintest.Release{Namespace: "hashicorp", Type: "time", Version: version, Protocols: []string{"5.0"}, Archives: world.release.Archives}
	_, config := serveOrigin(t, origintest.Options{}, release)
	run(t, programs.tofuOCI, "mirror", "hashicorp/time", "--to", c.template(), "--config", config, "--ca-file", world.caFile)
	for i := range bundledProviders {
		a := provider.Address{Host: provider.DefaultHost, Namespace: "acme", Type: fmt.Sprintf("p%d", i)}
		if i == 0 {
			a.Namespace, a.Type = "hashicorp", "time"
		}
		repo := repository.NewLayout(filepath.Join(c.dir, a.Namespace, a.Type))
		archives := map[provider.Platform][]byte{}
		for _, p := range world.platforms {
			archives[p] = make([]byte, bundledZip)
			_, _ = c.random.Read(archives[p])
		}
		if i > 0 {
			size += int64(len(archives)) * bundledZip
			if err := fixture.PushRelease(t.Context(), repo, provider.Release{Address: a, Version: v, Protocols: []string{"5.0"}}, archives, c.signer); err != nil {
				t.Fatal(err)
			}
		}
		found, err := repository.Inspect(t.Context(), repo, version, repository.DepthIndex)
		if err != nil {
			t.Fatal(err)
		}
		c.digests[a.String()+" "+version] = found.Digest.String()
	}
	return size
}

// template returns the repository template of the providers.
func (c *connectedSide) template() string {
	return "oci-layout:" + filepath.ToSlash(c.dir) + "/{namespace}/{type}"
}

// importedDigests returns the digest of each version that a report of bundle import lists.
func importedDigests(t *testing.T, text string) map[string]string {
	t.Helper()
	var report struct {
		Items []struct{ Provider, Version, Status, Digest string }
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, i := range report.Items {
		if i.Status != "created" && i.Status != "unchanged" {
			t.Errorf("%s %s: %s", i.Provider, i.Version, i.Status)
		}
		if strings.Count(i.Provider, "/") == 2 {
			digests[i.Provider+" "+i.Version] = i.Digest
		}
	}
	return digests
}

// sizes returns the names of a bundle's parts, and their total size.
func sizes(t *testing.T, pattern string) (names []string, total int64) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no parts: %v", err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > bundlePart {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
		total += info.Size()
	}
	return names, total
}

// TestBundle transfers 50 providers with three versions for four platforms, and ten
// modules, across an air gap in parts of 100 MB. OpenTofu and Terraform install from the
// registry on the isolated side, and from the bundle. A month later, the second bundle
// contains only one new version of each provider.
func TestBundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	signer, err := fixture.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	c := &connectedSide{dir: filepath.Join(dir, "mirror"), signer: signer, random: rand.NewChaCha8([32]byte{3}), digests: map[string]string{}}
	// 1. Fill the repositories on the connected side.
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		c.push(t, version)
	}
	sources, modules := "", "oci-layout:"+filepath.ToSlash(dir)+"/modules/{namespace}/{name}/{system}"
	for name := range c.digests {
		address, _, _ := strings.Cut(name, " ")
		sources += address + "\n"
	}
	create := []string{"bundle", "create", "--sources", filepath.Join(dir, "providers.txt"), "--all", "--from", c.template(), "--modules-from", modules, "--part-size", "100MB"}
	write(t, filepath.Join(dir, "providers.txt"), strings.Join(slices.Compact(slices.Sorted(strings.Lines(sources))), ""))
	for i := range bundledModules {
		source := filepath.Join(t.TempDir(), "module")
		write(t, filepath.Join(source, "main.tf"), fmt.Sprintf("output \"number\" {\n  value = %d\n}\n", i))
		name := fmt.Sprintf("acme/m%d/test", i)
		run(t, programs.tofuOCI, "module", "push", source, "--version", "1.0.0", "--to", "oci-layout:"+filepath.ToSlash(dir)+"/modules/"+name)
		create = append(create, "--module", name)
	}
	// 2. Create a bundle, and import its parts in reverse order.
	run(t, programs.tofuOCI, append(create, "--out", filepath.Join(dir, "january.tar"))...)
	january, _ := sizes(t, filepath.Join(dir, "january.*.tar"))
	if len(january) < 3 {
		t.Fatalf("got %d parts", len(january))
	}
	run(t, programs.tofuOCI, append([]string{"bundle", "verify"}, january...)...)
	host := startRegistry(t)
	to := []string{"--to", host + "/tofu/{namespace}/{type}", "--modules-to", host + "/modules/{namespace}/{name}/{system}", "--ca-file", world.caFile}
	reversed := slices.Clone(january)
	slices.Reverse(reversed)
	imports := append([]string{"bundle", "import", "--output", "json", "--inventory", filepath.Join(dir, "receipt.json")}, to...)
	if diff := cmp.Diff(c.digests, importedDigests(t, run(t, programs.tofuOCI, append(imports, reversed...)...))); diff != "" {
		t.Error(diff)
	}
	// 3. Install and plan without a network except loopback.
	configuration := `terraform {
  required_providers {
    time = { source = "hashicorp/time" }
  }
}
resource "time_static" "now" {}
module "m" {
  source = "registry.opentofu.org/acme/m3/test"
}
output "number" { value = module.m.number }
`
	alias := []string{"--alias", terraformHost + "/*/*=" + provider.DefaultHost.String() + "/*/*"}
	plans := func(args []string, client string, configuration string) {
		root, store := t.TempDir(), t.TempDir()
		write(t, filepath.Join(root, "main.tf"), configuration)
		for _, command := range [][]string{{client, "init", "-input=false", "-no-color"}, {client, "plan", "-input=false", "-no-color"}} {
			cmd := isolated(t, programs.tofuOCI, append(append(slices.Clone(args), "--cache", store, "--root", root, "--"), command...)...)
			out := output(t, cmd)
			if command[1] == "plan" && !strings.Contains(out, "Plan: 1 to add") {
				t.Errorf("%s: %s", cmd, out)
			}
		}
	}
	bundled := append([]string{"exec", "--bundle", filepath.Join(dir, "january.*.tar")}, alias...)
	plans(bundled, programs.tofu, configuration)
	plans(bundled, programs.terraform, configuration)
	withoutModule, _, _ := strings.Cut(configuration, "module")
	plans(append([]string{"exec", "--from", to[1], "--ca-file", world.caFile}, alias...), programs.terraform, withoutModule)
	root, cliConfig := t.TempDir(), filepath.Join(t.TempDir(), "tofurc")
	write(t, filepath.Join(root, "main.tf"), withoutModule)
	write(t, cliConfig, run(t, programs.tofuOCI, "tofurc", to[1]))
	for _, command := range []string{"init", "plan"} {
		cmd := isolated(t, programs.tofu, command, "-input=false", "-no-color")
		cmd.Dir, cmd.Env = root, append(cmd.Env, "TF_CLI_CONFIG_FILE="+cliConfig)
		output(t, cmd)
	}
	// 4. A month later, transfer one new version of each provider.
	added := c.push(t, "1.3.0")
	run(t, programs.tofuOCI, append(create, "--inventory", filepath.Join(dir, "receipt.json"), "--out", filepath.Join(dir, "february.tar"))...)
	february, total := sizes(t, filepath.Join(dir, "february*.tar"))
	if ratio := float64(total) / float64(added); ratio > 1.02 {
		t.Errorf("the second bundle has %d bytes, %.3f times the new zips", total, ratio)
	} else {
		t.Logf("the second bundle has %.4f times the bytes of the new zips", ratio)
	}
	digests := importedDigests(t, run(t, programs.tofuOCI, append(imports, february...)...))
	for name, d := range c.digests {
		if strings.HasSuffix(name, " 1.3.0") != (digests[name] == d) {
			t.Errorf("%s: got %q, want %s only if it is new", name, digests[name], d)
		}
	}
	// 5. The receipt of a delta is complete, so a third bundle is empty.
	run(t, programs.tofuOCI, append(create, "--inventory", filepath.Join(dir, "receipt.json"), "--out", filepath.Join(dir, "march.tar"))...)
	if _, total := sizes(t, filepath.Join(dir, "march*.tar")); total > 1<<20 {
		t.Errorf("the third bundle has %d bytes", total)
	}
}

// isolated is like command, but the program can only connect to this machine.
func isolated(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, program, args...)
	cmd.Env = append(cmd.Env, "HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=localhost,127.0.0.1")
	return cmd
}

// TestKilledBundles kills or interrupts the creation and the import of a bundle at
// different steps. Afterward, existing parts must be complete, tags must have all their content,
// and the next run must succeed.
func TestKilledBundles(t *testing.T) {
	t.Parallel()
	release, zips := killed(t)
	_, config := serveOrigin(t, origintest.Options{}, release)
	dir := t.TempDir()
	from := "oci-layout:" + filepath.ToSlash(dir) + "/{type}"
	run(t, programs.tofuOCI, "mirror", "acme/kill", "--to", from, "--config", config, "--ca-file", world.caFile)
	whole := filepath.Join(dir, "whole.tar")
	create := func(out string) []string {
		return []string{"bundle", "create", "acme/kill", "--all", "--from", from, "--part-size", "5MB", "--out", out, "--quiet"}
	}
	run(t, programs.tofuOCI, create(whole)...)
	parts, err := filepath.Glob(filepath.Join(dir, "whole.*.tar"))
	if err != nil || len(parts) < 3 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	host := startRegistry(t)
	importInto := func(to string) []string {
		return append([]string{"bundle", "import", "--to", to, "--ca-file", world.caFile, "--quiet"}, parts...)
	}
	importing := newSteps(0)
	run(t, programs.tofuOCI, importInto(importing.through(t, host, host+"/undisturbed/{type}"))...)
	for seed := range int64(killSeeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			signal := []os.Signal{os.Kill, os.Interrupt}[seed%2]
			layout := t.TempDir()
			// 1. Kill bundle create, and complete the bundle.
			out := filepath.Join(layout, "whole.tar")
			s := newSteps(0)
			s.watch(t, layout, part(killZips*killZip, seed))
			stop(t, signal, s, layout, create(out)...)
			some, _ := filepath.Glob(filepath.Join(layout, "whole.*.tar"))
			for _, part := range some {
				same(t, filepath.Join(dir, filepath.Base(part)), part)
			}
			run(t, programs.tofuOCI, create(out)...)
			for _, part := range parts {
				same(t, part, filepath.Join(layout, filepath.Base(part)))
			}
			// 2. Kill bundle import, and complete the import.
			to := fmt.Sprintf("%s/bundle%d/{type}", host, seed)
			if seed%4 > 1 {
				to = "oci-layout:" + filepath.ToSlash(layout) + "/{type}"
			}
			s = newSteps(part(importing.taken.Load(), seed))
			if seed%4 > 1 {
				s = newSteps(0)
				s.watch(t, layout, part(killZips*killZip, seed))
			}
			stop(t, signal, s, layout, importInto(s.through(t, host, to))...)
			if len(versions(t, to)) > 0 {
				pullAll(t, to, t.TempDir(), zips)
			}
			run(t, programs.tofuOCI, importInto(to)...)
			pullAll(t, to, t.TempDir(), zips)
			checkTemporary(t, layout)
		})
	}
}
