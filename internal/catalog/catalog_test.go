package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func parse(t *testing.T, text string) template.Template {
	t.Helper()
	parsed, err := template.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// shown formats a listing.
func shown(l catalog.Listing) (all []string) {
	for _, e := range l.Entries {
		all = append(all, e.Address.String()+" in "+e.Reference.String())
	}
	for _, ref := range l.Unknown {
		all = append(all, "? in "+ref.String())
	}
	return all
}

// asking returns options for a registry with the given repositories and their owners.
func asking(t *testing.T, owners map[string]string, asked *atomic.Int32) catalog.Options {
	t.Helper()
	return catalog.Options{
		Names: func(context.Context, template.Reference) (names []string, err error) {
			for name := range owners {
				names = append(names, name, name) // some registries list a name repeatedly
			}
			return names, nil
		},
		Owner: func(_ context.Context, ref template.Reference) (provider.Address, bool, error) {
			asked.Add(1)
			switch says := owners[ref.Name]; says {
			case "":
				return provider.Address{}, false, nil
			case "fails":
				return provider.Address{}, false, errors.New("down")
			default:
				return nouns.Address(t, says), true, nil
			}
		},
	}
}

func TestListOfRegistry(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		template string
		owners   map[string]string
		asked    int32
		want     []string
	}{
		{"ghcr.io/m/{namespace}/{type}", map[string]string{
			"m/acme/a": "", "m/acme/b": "registry.terraform.io/acme/b", "m/acme/c": "fails",
			"m/acme/d": "acme/other", // the name doesn't match the template
			"m/acme":   "", "other/acme/x": "", "m/acme/x\ny": "", "m/ACME/X": "", "m/../x": "", "m/<b>/x": "",
		}, 4, []string{
			"registry.opentofu.org/acme/a in ghcr.io/m/acme/a", "registry.opentofu.org/acme/c in ghcr.io/m/acme/c",
			"registry.opentofu.org/acme/d in ghcr.io/m/acme/d", "registry.terraform.io/acme/b in ghcr.io/m/acme/b",
		}},
		// The name determines the provider.
		{"ghcr.io/{hostname}/{namespace}/{type}", map[string]string{"example.com/acme/a": "acme/a"}, 0, []string{"example.com/acme/a in ghcr.io/example.com/acme/a"}},
		// The name doesn't determine the provider.
		{"ghcr.io/p-{type}", map[string]string{"p-a": "acme/a", "p-b": "", "p-c": "acme/b"}, 3, []string{
			"registry.opentofu.org/acme/a in ghcr.io/p-a", "? in ghcr.io/p-b", "? in ghcr.io/p-c",
		}},
		{"ghcr.io/{namespace}-{type}", map[string]string{"a-b-c": "a-b/c"}, 1, []string{"registry.opentofu.org/a-b/c in ghcr.io/a-b-c"}},
	} {
		var asked atomic.Int32
		l, err := catalog.List(t.Context(), parse(t, test.template), asking(t, test.owners, &asked))
		sorted := shown(l)
		if diff := cmp.Diff(test.want, sorted, sortUnknown()); diff != "" || err != nil || asked.Load() != test.asked {
			t.Errorf("%s: asked %d, %v, -want +got:\n%s", test.template, asked.Load(), err, diff)
		}
	}
}

// TestOwnersAreBounded checks that the owners of at most maxOwners repositories are read.
func TestOwnersAreBounded(t *testing.T) {
	t.Parallel()
	owners := map[string]string{}
	for n := range 2100 {
		owners[fmt.Sprintf("m/acme/p%d", n)] = "acme/other"
	}
	var asked atomic.Int32
	l, err := catalog.List(t.Context(), parse(t, "ghcr.io/m/{namespace}/{type}"), asking(t, owners, &asked))
	if err != nil || asked.Load() != 2000 || len(l.Entries) != 2100 {
		t.Errorf("asked %d, %d entries, %v", asked.Load(), len(l.Entries), err)
	}
}

// sortUnknown sorts the unknown repositories, whose order is undefined.
func sortUnknown() cmp.Option {
	return cmp.Transformer("sorted", func(all []string) map[string]bool {
		set := map[string]bool{}
		for _, text := range all {
			set[text] = true
		}
		return set
	})
}

func TestListOfNamed(t *testing.T) {
	t.Parallel()
	l, err := catalog.List(t.Context(), parse(t, `ghcr.io/${type == "a" ? "x" : "y"}/${type}`), catalog.Options{
		Named: []provider.Address{nouns.Address(t, "acme/b"), nouns.Address(t, "acme/a"), nouns.Address(t, "acme/b"), nouns.Address(t, "acme/größe")},
	})
	want := []string{"registry.opentofu.org/acme/a in ghcr.io/x/a", "registry.opentofu.org/acme/b in ghcr.io/y/b"}
	if diff := cmp.Diff(want, shown(l)); diff != "" || err != nil {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestListRefuses(t *testing.T) {
	t.Parallel()
	_, err := catalog.List(t.Context(), parse(t, `ghcr.io/${type == "a" ? "x" : "y"}/${type}`), catalog.Options{})
	if !errors.Is(err, catalog.ErrTemplate) {
		t.Errorf("%v", err)
	}
	down := errors.New("down")
	_, err = catalog.List(t.Context(), parse(t, "ghcr.io/{namespace}/{type}"), catalog.Options{
		Names: func(context.Context, template.Reference) ([]string, error) { return nil, down },
	})
	if !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	_, err = catalog.List(t.Context(), parse(t, "oci-layout:"+filepath.ToSlash(t.TempDir())+"/none/{type}"), catalog.Options{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = catalog.List(ctx, parse(t, "oci-layout:"+filepath.ToSlash(t.TempDir())+"/{type}"), catalog.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestListOfLayouts lists a directory with layouts and other directories.
func TestListOfLayouts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{
		"acme/a/oci-layout", "acme/b/oci-layout", "acme/c/index.json", "acme/oci-layout", "acme/blobs/sha256/0123", "x/y/z/oci-layout", "file",
		"acme/NO/oci-layout", "localhost_8080/acme/a/oci-layout",
	} {
		at := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root := "oci-layout:" + filepath.ToSlash(dir)
	for text, want := range map[string][]string{
		"/{namespace}/{type}":            {"registry.opentofu.org/acme/a in ROOT/acme/a", "registry.opentofu.org/acme/b in ROOT/acme/b"},
		"/${namespace}/${type}":          {"registry.opentofu.org/acme/a in ROOT/acme/a", "registry.opentofu.org/acme/b in ROOT/acme/b"},
		"/./{namespace}//{type}/":        {"registry.opentofu.org/acme/a in ROOT/./acme//a/", "registry.opentofu.org/acme/b in ROOT/./acme//b/"},
		"/{hostname}/{namespace}/{type}": {"localhost:8080/acme/a in ROOT/localhost_8080/acme/a", "x/y/z in ROOT/x/y/z"},
		"/acme/{type}":                   {"? in ROOT/acme/a", "? in ROOT/acme/b"},
		"/acme/a":                        {"? in ROOT/acme/a"},
		"/{namespace}/z/{type}":          nil,
	} {
		l, err := catalog.List(t.Context(), parse(t, root+text), catalog.Options{})
		var got []string
		for _, line := range shown(l) {
			if !strings.Contains(line, "acme/NO") { // not part of the template
				got = append(got, strings.ReplaceAll(line, root, "ROOT"))
			}
		}
		if diff := cmp.Diff(want, got, sortUnknown()); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", text, err, diff)
		}
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "",
		"acme/a\n\n# none\nacme/b # b": "acme/a acme/b",
		"acme/a\r\n  example.com/a/b ": "acme/a example.com/a/b",
		"acme/a\nacme\nacme/b\n-":      "acme/a acme/b :2: ",
		"acme/a@1.0.0":                 ":1: ",
		strings.Repeat("#", 1<<20+1):   "exceeds",
	} {
		path := filepath.Join(t.TempDir(), "providers")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var got, invalid []string
		as, err := catalog.ReadFile(path, func(err error) { invalid = append(invalid, strings.TrimPrefix(err.Error(), path)) })
		for _, a := range as {
			got = append(got, strings.TrimPrefix(a.String(), "registry.opentofu.org/"))
		}
		got = append(got, invalid...)
		if err != nil {
			got = append(got, err.Error())
		}
		if list := strings.Join(got, " "); !strings.Contains(list, want) || (want == "") != (list == "") {
			t.Errorf("%.50q: %q", text, list)
		}
	}
}

// TestReadSources checks that each invalid line has a separate error.
func TestReadSources(t *testing.T) {
	t.Parallel()
	all, err := catalog.ReadSources(catalog.Stdin, strings.NewReader("acme/a\nacme_corp/b\nacme/c@~> 1.0\nacme/d --platform x\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		got = append(got, s.Place+" "+s.Requirement.String())
		if invalid := s.Requirement == (provider.Requirement{}); (s.Err != nil) != invalid || invalid && !strings.HasPrefix(s.Err.Error(), s.Place+": ") {
			t.Errorf("%s: %v", s.Place, s.Err)
		}
	}
	want := []string{"stdin:1 registry.opentofu.org/acme/a", "stdin:2 ", "stdin:3 registry.opentofu.org/acme/c@~> 1.0", "stdin:4 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := catalog.ReadSources(catalog.Stdin, strings.NewReader("acme_corp/b\n-\n")); err == nil || !strings.Contains(err.Error(), "stdin:1: ") || !strings.Contains(err.Error(), "Terraform") {
		t.Errorf("got %v", err)
	}
}

// TestLinkedSources checks that an invalid line is shown only if it is from a file in the
// directory that the user specified.
func TestLinkedSources(t *testing.T) {
	t.Parallel()
	secrets, dir := t.TempDir(), t.TempDir()
	target := filepath.Join(secrets, "netrc")
	if err := os.WriteFile(target, []byte("password canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	link, inside := filepath.Join(dir, "providers"), filepath.Join(dir, "other")
	if err := errors.Join(os.Symlink(target, link), os.Symlink(inside, inside+"-link"), os.WriteFile(inside, []byte("canary"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for file, shown := range map[string]bool{link: false, target: true, inside: true, inside + "-link": true} {
		_, sourcesErr := catalog.ReadSources(file, nil)
		_, fileErr := catalog.ReadFile(file, nil)
		for _, err := range []error{sourcesErr, fileErr} {
			if err == nil || strings.Contains(err.Error(), "canary") != shown || !strings.Contains(err.Error(), file+":1: invalid") {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
