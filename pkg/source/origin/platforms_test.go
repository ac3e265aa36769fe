package origin_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var linux = provider.Platform{OS: "linux", Arch: "amd64"}

// lists contains functions that make the platforms in a list of versions incomplete.
var lists = map[string]func(entry map[string]any){
	"missing": func(entry map[string]any) { delete(entry, "platforms") },
	"null":    func(entry map[string]any) { entry["platforms"] = nil },
	"empty":   func(entry map[string]any) { entry["platforms"] = []any{} },
	"partial": func(entry map[string]any) {
		entry["platforms"] = []map[string]string{{"os": haiku.OS, "arch": haiku.Arch}}
	},
	"of no kind": func(entry map[string]any) { entry["platforms"] = []map[string]string{{"os": "Linux"}} },
}

// offer adds version 1.2.3 for haiku, linux, and plan9.
func (w *world) offer(t *testing.T, list func(map[string]any)) {
	t.Helper()
	r := w.release()
	r.Archives = maps.Clone(r.Archives)
	r.Archives[linux] = origintest.Archive{Bytes: zipOf(t, "linux")}
	r.List = list
	w.add(t, r)
}

// TestRegistryUnlistedPlatforms checks that packages are found even if the list of
// versions omits their platforms.
func TestRegistryUnlistedPlatforms(t *testing.T) {
	t.Parallel()
	for name, list := range lists {
		for label, o := range map[string]origintest.Options{"": {}, ", no packages block": {NoPackages: true}} {
			t.Run(name+label, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, o)
				w.offer(t, list)
				named, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"), plan9, linux)
				if err != nil || fmt.Sprint(named.Platforms()) != "[linux_amd64 plan9_mips]" {
					t.Errorf("named: %v, %v", named.Platforms(), err)
				}
				if n := w.origin.Requests()[origintest.Package]; n != 2 {
					t.Errorf("%d package documents for two named platforms", n)
				}
				all, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"))
				want := "[haiku_riscv64 linux_amd64 plan9_mips]"
				if name == "partial" && o.NoPackages { // no document lists the other platforms
					want = "[haiku_riscv64]"
				}
				if err != nil || fmt.Sprint(all.Platforms()) != want {
					t.Errorf("all: %v, %v, want %s", all.Platforms(), err, want)
				}
				if n := w.origin.Requests()[origintest.Package] - 2; n > 14 {
					t.Errorf("%d package documents for three platforms", n)
				}
			})
		}
	}
}

// TestRegistryUnlistedCapabilities checks facts that are available without reading the
// complete release.
func TestRegistryUnlistedCapabilities(t *testing.T) {
	t.Parallel()
	for name, list := range lists {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			w.offer(t, list)
			can := w.source().Capabilities()
			digests, err := can.Digests(t.Context(), w.address, version(t, "1.2.3"))
			got := provider.SortPlatforms(slices.Collect(maps.Keys(digests)))
			if err != nil || fmt.Sprint(got) != "[haiku_riscv64 linux_amd64 plan9_mips]" {
				t.Errorf("digests: %v, %v", got, err)
			}
			want := "[haiku_riscv64 linux_amd64 plan9_mips]"
			if name == "partial" {
				want = "[haiku_riscv64]"
			}
			platforms, err := can.Platforms(t.Context(), w.address, version(t, "1.2.3"))
			if err != nil || fmt.Sprint(platforms) != want {
				t.Errorf("platforms: %v, %v, want %s", platforms, err, want)
			}
		})
	}
}

// TestRegistryNamedPlatformsInPart checks that the error lists the available platforms.
func TestRegistryNamedPlatformsInPart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	w.offer(t, lists["null"])
	none := provider.Platform{OS: "amiga", Arch: "m68k"}
	_, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"), plan9, none)
	want := &provider.PlatformError{Address: w.address, Version: version(t, "1.2.3"), Wanted: none, Have: []provider.Platform{plan9}}
	if missing, ok := errors.AsType[*provider.PlatformError](err); !ok || missing.Error() != want.Error() {
		t.Errorf("got %v, want %v", err, want)
	}
}

// TestRegistryUnlistedFailures checks that a release is not reported as empty if
// requests for its documents fail.
func TestRegistryUnlistedFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	w.offer(t, lists["null"])
	w.origin.Misbehave(origintest.Package, origintest.Status(http.StatusForbidden), -1)
	_, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"))
	if !errors.Is(err, provider.ErrForbidden) {
		t.Errorf("got %v", err)
	}
	if _, err := w.source().Capabilities().Platforms(t.Context(), w.address, version(t, "1.2.3")); !errors.Is(err, provider.ErrForbidden) {
		t.Errorf("got %v", err)
	}
}

// TestRegistryManyPlatforms checks that too many platforms are rejected before they are
// requested.
func TestRegistryManyPlatforms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	r := w.release()
	r.Edit = func(p provider.Platform, doc map[string]any) { // each document lists different platforms
		for n := range 150 {
			doc["packages"].(map[string]any)[fmt.Sprintf("%s%d_arch", p.OS, n)] = map[string]any{}
		}
	}
	w.add(t, r)
	_, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"))
	if want := "describing HOST/acme/thing 1.2.3: 302 platforms; the maximum is 256"; w.text(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if n := w.origin.Requests()[origintest.Package]; n != 2 {
		t.Errorf("%d package documents", n)
	}
}

// TestRegistryCanonicalVersions checks that requests contain the canonical version.
// SHA256SUMS contains the version as listed.
func TestRegistryCanonicalVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	r := w.release()
	r.Version = "3.0"
	w.add(t, r)
	got, err := w.source().Release(t.Context(), w.address, version(t, "3.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range got.Packages {
		names = append(names, p.Filename, p.ListedAs)
	}
	want := []string{
		"terraform-provider-thing_3.0.0_haiku_riscv64.zip", "terraform-provider-thing_3.0_haiku_riscv64.zip",
		"terraform-provider-thing_3.0.0_plan9_mips.zip", "terraform-provider-thing_3.0_plan9_mips.zip",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if d := got.Documents[0].Name; !strings.HasSuffix(d, "_SHA256SUMS") {
		t.Errorf("the sums are %s", d)
	}
}

// TestRegistryOmittedPlatforms checks that a package that can't be used doesn't hide the
// others, unless its platform is requested.
func TestRegistryOmittedPlatforms(t *testing.T) {
	t.Parallel()
	const name = "terraform-provider-thing_1.2.3_haiku_riscv64"
	setFilename := func(filename string) func(*origintest.Release) {
		return func(r *origintest.Release) {
			r.Edit = func(p provider.Platform, doc map[string]any) {
				if p == haiku {
					doc["filename"] = filename
				}
			}
		}
	}
	for label, test := range map[string]struct {
		change func(*origintest.Release)
		want   string
	}{
		"not a zip":         {setFilename(name + ".tar.gz"), "not a zip: " + name + ".tar.gz"},
		"not in SHA256SUMS": {setFilename("terraform-provider-thing_1.2.3+_haiku_riscv64.zip"), "SHA256SUMS does not list"},
		"no document": {func(r *origintest.Release) {
			r.Archives = maps.Clone(r.Archives)
			delete(r.Archives, haiku)
			r.List = func(entry map[string]any) {
				entry["platforms"] = []map[string]string{{"os": haiku.OS, "arch": haiku.Arch}, {"os": plan9.OS, "arch": plan9.Arch}}
			}
		}, "404 Not Found"},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			r := w.release()
			test.change(&r)
			w.add(t, r)
			found, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"))
			if err != nil || fmt.Sprint(found.Platforms()) != "[plan9_mips]" {
				t.Fatalf("got %v, %v", found.Platforms(), err)
			}
			if len(found.Omitted) != 1 || found.Omitted[0].Wanted != haiku || !strings.Contains(found.Omitted[0].Error(), test.want) || !slices.Equal(found.Omitted[0].Have, found.Platforms()) {
				t.Errorf("got %v", found.Omitted)
			}
			if found, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"), plan9); err != nil || len(found.Omitted) > 0 {
				t.Errorf("got %v, %v", found.Omitted, err)
			}
			if _, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"), haiku); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
