package doctor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/testing/exampletest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// TestExamineTemplate examines a template without a provider.
func TestExamineTemplate(t *testing.T) {
	t.Parallel()
	const loggedIn, anonymous = true, false
	for name, test := range map[string]struct {
		at        string
		login     bool
		target    bool
		ping      error // returned when the registry is contacted
		read      error // returned when tags are listed
		requested string
		want      []string
	}{
		"from":                   {"quay.io/x/{namespace}/{type}", loggedIn, false, nil, nil, "quay.io/x", []string{"note not-checked"}},
		"HCL":                    {"quay.io/x/a-${type}", loggedIn, false, nil, nil, "quay.io/x", []string{"note not-checked"}},
		"no credentials":         {"quay.io/x/{type}", anonymous, false, provider.ErrForbidden, nil, "quay.io/x", []string{"warning login-missing", "note not-checked"}},
		"no credentials to push": {"quay.io/x/{type}", anonymous, true, provider.ErrForbidden, nil, "quay.io/x", []string{"error login-missing", "note not-checked"}},
		"refused":                {"quay.io/{type}", loggedIn, false, provider.ErrForbidden, nil, "quay.io/", []string{"error access-denied", "note not-checked"}},
		"out of order":           {"quay.io/{type}", loggedIn, false, errors.New("503"), nil, "quay.io/", []string{"error registry-failed", "note not-checked"}},
		"one for all":            {"quay.io/x/all", loggedIn, false, errors.New("not requested"), nil, "", []string{"note not-checked"}},
		"one for all, private":   {"quay.io/x/all", anonymous, false, nil, provider.ErrForbidden, "", []string{"error login-missing", "note not-checked"}},
		"one for all, new":       {"quay.io/x/all", loggedIn, true, nil, repository.ErrNoRepository, "", []string{"note repository-new", "note not-checked"}},
		"registries":             {"{hostname}/x/{type}", loggedIn, false, errors.New("not requested"), nil, "", []string{"note not-checked"}},
		"invalid name":           {"quay.io/X/{type}", loggedIn, false, errors.New("not requested"), nil, "", []string{"error repository-name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, repo := options(t)
			at, err := template.Parse(test.at)
			if err != nil {
				t.Fatal(err)
			}
			repo.err = test.read
			o.Wanted, o.Installation, o.Template, o.IsTarget = provider.Requirement{}, nil, &at, test.target
			o.Login = func(context.Context, string) doctor.Login {
				return doctor.Login{Found: test.login, OpenTofu: true}
			}
			requested := ""
			o.Registry = func(_ context.Context, at template.Reference) (bool, error) {
				requested = at.Registry + "/" + at.Name
				return true, test.ping
			}
			report, err := doctor.Examine(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, codes(report.Findings)); diff != "" {
				t.Error(diff)
			}
			if requested != test.requested {
				t.Errorf("requested %q", requested)
			}
		})
	}
}

// TestExamineDirectory examines image layouts without a provider.
func TestExamineDirectory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		at       string // template below a directory that contains a layout
		damage   func(layout string) error
		target   bool
		response string
		want     []string
	}{
		"all below":     {at: "{type}", response: "image layouts: 1, tags: 1", want: []string{"note not-checked"}},
		"one":           {at: "LAYOUT", response: "image layouts: 1, tags: 1", want: []string{"note not-checked"}},
		"none":          {at: "c/{type}", want: []string{"error repository-missing", "note not-checked"}},
		"none yet":      {at: "c/{type}", target: true, want: []string{"note repository-new", "note not-checked"}},
		"none below":    {at: "LAYOUT/{type}", want: []string{"error repository-missing", "note not-checked"}},
		"missing index": {at: "{type}", damage: empty("blobs"), response: "image layouts: 1, tags: 1", want: []string{"error artifact-broken", "note not-checked"}},
		"invalid list":  {at: "{type}", damage: empty("index.json"), want: []string{"error layout-failed", "note not-checked"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			layout := exampletest.Layout(dir, "1.0.0")
			if test.damage != nil {
				if err := test.damage(layout); err != nil {
					t.Fatal(err)
				}
			}
			at, err := template.Parse("oci-layout:" + filepath.ToSlash(dir) + "/" + strings.ReplaceAll(test.at, "LAYOUT", filepath.Base(layout)))
			if err != nil {
				t.Fatal(err)
			}
			report, err := doctor.Examine(t.Context(), doctor.Options{
				Template: &at, IsTarget: test.target, Push: true,
				Repository: func(ref template.Reference) (repository.Reader, error) {
					return repository.Open(ref, repository.Options{})
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, codes(report.Findings)); diff != "" {
				t.Error(diff, report.Response)
			}
			if test.response != "" && report.Response != test.response {
				t.Errorf("got response %q", report.Response)
			}
			if report.Push != "allowed" {
				t.Errorf("got push %q, want allowed", report.Push)
			}
		})
	}
}

// empty truncates a layout's files at or below the given path.
func empty(path string) func(string) error {
	return func(layout string) error {
		return filepath.WalkDir(filepath.Join(layout, path), func(file string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return os.WriteFile(file, nil, 0o600)
		})
	}
}
