package installation_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/filesystem"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/sourcetest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Tests never run on these platforms.
const (
	haiku = "haiku_riscv64"
	plan9 = "plan9_mips"
)

// methods creates the methods of a test in order.
type methods func(t *testing.T, w *world) []cliconfig.Method

// is returns a predicate that uses errors.Is.
func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func isUnresolved(err error) bool {
	var unresolved *installation.UnresolvedError
	return errors.As(err, &unresolved)
}

func isUnsupported(err error) bool {
	return errors.Is(err, installation.ErrNotSupported)
}

func isPlatform(err error) bool {
	var missing *provider.PlatformError
	return errors.As(err, &missing)
}

func isFormat(err error) bool {
	var format *artifact.FormatError
	return errors.As(err, &format)
}

func except(t *testing.T, m cliconfig.Method, patterns ...string) cliconfig.Method {
	t.Helper()
	for _, p := range patterns {
		m.Exclude = append(m.Exclude, pattern(t, p))
	}
	return m
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		methods methods
		want    []string
		fails   func(error) bool
	}{
		{"versions of all methods", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{
				w.push(t, "mirror", has{"1.0.0 " + haiku, "1.1.0-rc1 " + haiku}), w.packed(t, "packed", has{"2.0.0 " + plan9, "1.0.0 " + plan9}),
				w.unpacked(t, "unpacked", has{"0.5.0 " + plan9}), w.offer(t, has{"3.0.0 " + haiku, "1.0.0 " + haiku}),
			}
		}, []string{"3.0.0", "2.0.0", "1.1.0-rc1", "1.0.0", "0.5.0"}, nil},
		{"excluded by a method", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.push(t, "mirror", has{"1.0.0 " + haiku}), except(t, w.offer(t, has{"3.0.0 " + haiku}), originHost+"/acme/*")}
		}, []string{"1.0.0"}, nil},
		{"not included by a method", func(t *testing.T, w *world) []cliconfig.Method {
			mirror := w.push(t, "mirror", has{"1.0.0 " + haiku})
			mirror.Include = []provider.Pattern{pattern(t, "acme/*")}
			return []cliconfig.Method{mirror, w.offer(t, has{"3.0.0 " + haiku})}
		}, []string{"3.0.0"}, nil},
		{"unknown to some methods", func(t *testing.T, w *world) []cliconfig.Method {
			empty := w.unpacked(t, "empty", nil)
			write(t, filepath.Join(empty.Path, "README"), nil)
			return []cliconfig.Method{w.push(t, "mirror", nil), w.absent(t), empty, w.offer(t, nil), w.packed(t, "packed", has{"1.0.0 " + haiku})}
		}, []string{"1.0.0"}, nil},
		{"unknown to all methods", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.absent(t), w.offer(t, nil)}
		}, nil, func(err error) bool { return isUnresolved(err) && is(provider.ErrProviderNotFound)(err) }},
		{"no matching method", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{except(t, w.offer(t, has{"1.0.0 " + haiku}), "*/*/*")}
		}, nil, func(err error) bool { return isUnresolved(err) && is(provider.ErrProviderNotFound)(err) }},
		{"no methods", func(*testing.T, *world) []cliconfig.Method { return nil }, nil, is(provider.ErrProviderNotFound)},
		{"a mirror that requires credentials", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.offer(t, has{"1.0.0 " + haiku}), w.locked(t)}
		}, nil, is(provider.ErrForbidden)},
		{"a registry that rejects the name", respondsWith(400, "NAME_INVALID"), []string{"1.0.0"}, nil},
		{"a registry with several errors, one for an unknown name", respondsWith(404, "MANIFEST_UNKNOWN", "NAME_UNKNOWN"), []string{"1.0.0"}, nil},
		{"denied access and an unknown name", respondsWith(401, "UNAUTHORIZED", "NAME_UNKNOWN"), []string{"1.0.0"}, nil},
		{"404 without a code", respondsWith(404), []string{"1.0.0"}, nil},
		{"404 with an empty code", respondsWith(404, ""), nil, is(repository.ErrNoRepository)},
		{"404 of Harbor", respondsWith(404, "NOT_FOUND"), nil, is(repository.ErrNoRepository)},
		{"404 with another code", respondsWith(404, "MANIFEST_UNKNOWN"), nil, is(repository.ErrNotFound)},
		{"an origin that requires credentials", func(t *testing.T, w *world) []cliconfig.Method {
			w.origin.Misbehave(origintest.Versions, origintest.Status(http.StatusForbidden), -1)
			return []cliconfig.Method{w.packed(t, "packed", has{"1.0.0 " + haiku}), w.offer(t, nil)}
		}, nil, is(provider.ErrForbidden)},
		{"a missing directory", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{{Kind: cliconfig.FilesystemMirror, Path: filepath.Join(w.root, "none")}, w.offer(t, has{"1.0.0 " + haiku})}
		}, nil, is(fs.ErrNotExist)},
		{"a network mirror", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.offer(t, has{"1.0.0 " + haiku}), w.serve(t, "network", has{"2.0.0 " + haiku})}
		}, []string{"2.0.0", "1.0.0"}, nil},
		{"a network mirror without the provider", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.serve(t, "network", nil), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{"1.0.0"}, nil},
		{"a network mirror for other providers", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{except(t, cliconfig.Method{Kind: cliconfig.NetworkMirror, URL: "https://mirror.example/"}, thing), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{"1.0.0"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			i := install(t, w.options(block(test.methods(t, w)...)))
			versions, err := i.Versions(t.Context(), address(t, thing))
			if test.fails != nil {
				if err == nil || !test.fails(err) {
					t.Errorf("got %v, %v", versions, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range versions {
				got = append(got, v.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("wrong versions (-want +got):\n%s", diff)
			}
		})
	}
}

func install(t *testing.T, o installation.Options) *installation.Installation {
	t.Helper()
	i, err := installation.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestRelease(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		methods methods
		// only contains the requested platforms of version 1.0.0.
		only []string
		// want contains the expected method for each platform.
		want  []string
		fails func(error) bool
	}{
		{"the first method wins", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.push(t, "mirror", has{"1.0.0 " + haiku}), w.packed(t, "packed", has{"1.0.0 " + haiku}), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, []string{haiku + " mirror"}, nil},
		{"the first matching method", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{except(t, w.push(t, "mirror", has{"1.0.0 " + haiku}), thing), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, []string{haiku + " direct"}, nil},
		{"each platform separately", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.push(t, "mirror", has{"1.0.0 " + plan9}), w.unpacked(t, "unpacked", has{"1.0.0 " + haiku + " " + plan9}), w.offer(t, has{"1.0.0 aix_ppc64 " + haiku})}
		}, []string{plan9, haiku, "aix_ppc64"}, []string{"aix_ppc64 direct", haiku + " unpacked", plan9 + " mirror"}, nil},
		{"all platforms of the first method with the version", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.packed(t, "packed", has{"2.0.0 " + haiku}), w.unpacked(t, "unpacked", has{"1.0.0 " + plan9}), w.offer(t, has{"1.0.0 " + haiku + " " + plan9})}
		}, nil, []string{plan9 + " unpacked"}, nil},
		{"directories that lack the version", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.packed(t, "packed", has{"2.0.0 " + haiku}), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, []string{haiku + " direct"}, nil},
		{"an origin that lacks the version", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.offer(t, has{"2.0.0 " + haiku}), w.packed(t, "packed", has{"1.0.0 " + haiku})}
		}, []string{haiku}, []string{haiku + " packed"}, nil},
		{"an origin without the provider", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.offer(t, nil), w.push(t, "mirror", has{"1.0.0 " + haiku})}
		}, []string{haiku}, []string{haiku + " mirror"}, nil},
		{"a listed platform without a package", func(t *testing.T, w *world) []cliconfig.Method {
			w.origin.Misbehave(origintest.Package, origintest.Status(http.StatusNotFound), 1)
			return []cliconfig.Method{w.offer(t, has{"1.0.0 " + haiku}), w.packed(t, "packed", has{"1.0.0 " + haiku})}
		}, []string{haiku}, []string{haiku + " packed"}, nil},
		{"a mirror that lacks the platform", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.push(t, "mirror", has{"1.0.0 " + plan9}), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, []string{haiku + " direct"}, nil},
		{"a mirror with the platform for one system version", func(t *testing.T, w *world) []cliconfig.Method {
			mirror := w.edited(t, w.push(t, "mirror", has{"1.0.0 " + haiku}), func(x *ocispec.Index) { x.Manifests[0].Platform.OSVersion = "5" })
			return []cliconfig.Method{mirror, w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, []string{haiku + " direct"}, nil},
		{"a mirror with a duplicate of another platform", func(t *testing.T, w *world) []cliconfig.Method {
			mirror := w.edited(t, w.push(t, "mirror", has{"1.0.0 " + haiku + " " + plan9}), func(x *ocispec.Index) { x.Manifests = append(x.Manifests, x.Manifests[0]) })
			return []cliconfig.Method{mirror, w.offer(t, has{"1.0.0 " + plan9})}
		}, []string{plan9}, []string{plan9 + " mirror"}, nil},
		{"a mirror with a duplicate of the platform", func(t *testing.T, w *world) []cliconfig.Method {
			mirror := w.edited(t, w.push(t, "mirror", has{"1.0.0 " + haiku}), func(x *ocispec.Index) { x.Manifests = append(x.Manifests, x.Manifests[0]) })
			return []cliconfig.Method{mirror, w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, nil, isFormat},
		// A missing tag ends OpenTofu's search, so direct must exclude the mirror's
		// providers.
		{"a mirror that lacks the version", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.push(t, "mirror", has{"2.0.0 " + haiku}), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, nil, is(provider.ErrVersionNotFound)},
		{"a mirror without the provider", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.absent(t), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, nil, is(provider.ErrProviderNotFound)},
		{"a mirror after a method with the version", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.offer(t, has{"1.0.0 " + haiku}), w.locked(t)}
		}, []string{haiku}, []string{haiku + " direct"}, nil},
		{"a mirror that requires credentials", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.locked(t), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, nil, is(provider.ErrForbidden)},
		{"an origin that requires credentials", func(t *testing.T, w *world) []cliconfig.Method {
			w.origin.Misbehave(origintest.Package, origintest.Status(http.StatusUnauthorized), -1)
			return []cliconfig.Method{w.offer(t, has{"1.0.0 " + haiku}), w.packed(t, "packed", has{"1.0.0 " + haiku})}
		}, []string{haiku}, nil, is(provider.ErrForbidden)},
		{"a network mirror before the method", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.serve(t, "network", has{"1.0.0 " + haiku}), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, []string{haiku + " network"}, nil},
		{"a network mirror without the platform", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.serve(t, "network", has{"1.0.0 " + plan9}), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, []string{haiku + " direct"}, nil},
		{"a network mirror without the version", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.serve(t, "network", has{"2.0.0 " + haiku}), w.offer(t, has{"1.0.0 " + haiku})}
		}, []string{haiku}, nil, is(provider.ErrVersionNotFound)},
		{"a network mirror after the method", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.offer(t, has{"1.0.0 " + haiku}), {Kind: cliconfig.NetworkMirror, URL: "https://mirror.example/"}}
		}, []string{haiku}, []string{haiku + " direct"}, nil},
		{"no method has the platform", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.push(t, "mirror", has{"1.0.0 " + plan9}), w.offer(t, has{"1.0.0 aix_ppc64"}), w.packed(t, "packed", has{"2.0.0 " + haiku})}
		}, []string{plan9, haiku}, nil, func(err error) bool {
			var missing *provider.PlatformError
			return isUnresolved(err) && errors.As(err, &missing) && missing.Wanted.String() == haiku &&
				fmt.Sprint(missing.Have) == "[aix_ppc64 plan9_mips]"
		}},
		{"no method has the version", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{w.packed(t, "packed", has{"2.0.0 " + haiku}), w.offer(t, has{"3.0.0 " + haiku})}
		}, nil, nil, func(err error) bool {
			return isUnresolved(err) && is(provider.ErrVersionNotFound)(err) && !isPlatform(err)
		}},
		{"no matching method", func(t *testing.T, w *world) []cliconfig.Method {
			return []cliconfig.Method{except(t, w.offer(t, has{"1.0.0 " + haiku}), "*/*/*")}
		}, nil, nil, is(provider.ErrProviderNotFound)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			i := install(t, w.options(block(test.methods(t, w)...)))
			only := platforms(t, test.only...)
			r, err := i.Release(t.Context(), address(t, thing), version(t, "1.0.0"), only...)
			if diff := cmp.Diff(platforms(t, test.only...), only); diff != "" {
				t.Errorf("the argument was changed: %s", diff)
			}
			if test.fails != nil {
				if err == nil || !test.fails(err) {
					t.Errorf("got %v, %v", r.Packages, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range r.Packages {
				got = append(got, p.Platform.String()+" "+from(t, i, p))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("wrong packages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImplicitMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.unpacked(t, "first", has{"1.0.0 " + haiku})
	second := w.packed(t, "second", has{"1.0.0 " + haiku, "2.0.0 " + haiku})
	w.offer(t, has{"1.0.0 " + haiku, "3.0.0 " + haiku})
	a := address(t, thing)

	// Providers in the directories are installed only from the directories.
	local := install(t, w.options(nil, filepath.Join(w.root, "none"), first.Path, second.Path))
	versions, err := local.Versions(t.Context(), a)
	if err != nil || fmt.Sprint(versions) != "[2.0.0 1.0.0]" {
		t.Errorf("got %v, %v", versions, err)
	}
	r, err := local.Release(t.Context(), a, version(t, "1.0.0"), platforms(t, haiku)...)
	if err != nil {
		t.Fatal(err)
	}
	if got := from(t, local, r.Packages[0]); got != "first" {
		t.Errorf("it comes from %s", got)
	}
	if _, err := local.Release(t.Context(), a, version(t, "3.0.0")); !errors.Is(err, provider.ErrVersionNotFound) {
		t.Errorf("a version of the origin: got %v", err)
	}
	if n := w.origin.Requests()[origintest.Versions]; n != 0 {
		t.Errorf("the origin got %d requests", n)
	}

	// All other providers are installed from the origin registry.
	empty := w.unpacked(t, "empty", nil)
	write(t, filepath.Join(empty.Path, "README"), nil)
	direct := install(t, w.options(nil, empty.Path))
	if versions, err = direct.Versions(t.Context(), a); err != nil || fmt.Sprint(versions) != "[3.0.0 1.0.0]" {
		t.Errorf("got %v, %v", versions, err)
	}
}

func TestEmptyBlockInstallsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.offer(t, has{"1.0.0 " + haiku})
	i := install(t, w.options(&cliconfig.Installation{}, w.packed(t, "packed", has{"1.0.0 " + haiku}).Path))
	if _, err := i.Versions(t.Context(), address(t, thing)); !errors.Is(err, provider.ErrProviderNotFound) {
		t.Errorf("got %v", err)
	}
}

func TestDevOverridesHaveNoFallback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := block(w.offer(t, has{"1.0.0 " + haiku}))
	b.DevOverrides = map[provider.Address]cliconfig.DevOverride{address(t, thing): {Position: stricthcl.Position{File: "rc", Line: 9, Column: 5}, Path: "/src/thing"}}
	i := install(t, w.options(b))
	_, versions := i.Versions(t.Context(), address(t, thing))
	_, release := i.Release(t.Context(), address(t, thing), version(t, "1.0.0"))
	for _, err := range []error{versions, release} {
		if want := "OpenTofu would install " + thing + " with dev_overrides /src/thing (rc:9:5), which is not supported yet"; fmt.Sprint(err) != want || !isUnsupported(err) {
			t.Errorf("got %v", err)
		}
	}
	other := address(t, originHost+"/acme/other")
	if _, err := i.Versions(t.Context(), other); isUnsupported(err) {
		t.Errorf("another provider: got %v", err)
	}
}

func TestErrorsListMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := install(t, w.options(block(w.packed(t, "packed", has{"2.0.0 " + haiku}), w.offer(t, has{"1.0.0 " + plan9}))))
	_, err := i.Release(t.Context(), address(t, thing), version(t, "1.0.0"), platforms(t, haiku)...)
	text := strings.ReplaceAll(filepath.ToSlash(fmt.Sprint(err)), filepath.ToSlash(w.root), "~")
	want := thing + " 1.0.0 has no package for haiku_riscv64, only for plan9_mips (filesystem_mirror ~/packed (rc:2:3): version not found; " +
		"existing versions: 2.0.0; direct (rc:3:3): no package for haiku_riscv64, only for plan9_mips)"
	if text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	i = install(t, w.options(block(w.push(t, "mirror", has{"2.0.0 " + haiku}))))
	_, err = i.Release(t.Context(), address(t, thing), version(t, "1.0.0"))
	if !strings.HasPrefix(fmt.Sprint(err), "installation method oci_mirror oci-layout:") {
		t.Errorf("got %v", err)
	}
}

func TestInstallationIsASource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.packed(t, "first", has{"0.9.0 " + plan9}), w.packed(t, "second", has{"1.0.0 " + haiku})
	zips := map[provider.Platform][]byte{platforms(t, haiku)[0]: zipOf(t, "second"), platforms(t, plan9)[0]: zipOf(t, "plan9")}
	write(t, filepath.Join(second.Path, filepath.FromSlash(thing), "terraform-provider-thing_1.0.0_plan9_mips.zip"), zipOf(t, "plan9"))
	sourcetest.Run(t, sourcetest.Fixture{
		New:     func(t *testing.T) provider.Source { return install(t, w.options(block(first, second))) },
		Address: address(t, thing), Versions: []provider.Version{version(t, "1.0.0"), version(t, "0.9.0")}, Zips: zips,
	})
}

func TestMetadataStaysWithItsPackages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := install(t, w.options(block(w.push(t, "mirror", has{"1.0.0 " + plan9}), w.offer(t, has{"1.0.0 " + haiku}))))
	a, v := address(t, thing), version(t, "1.0.0")
	complete, err := i.Release(t.Context(), a, v, platforms(t, plan9)...)
	if err != nil {
		t.Fatal(err)
	}
	if len(complete.Documents) == 0 {
		t.Fatal("the mirror's release has no SHA256SUMS")
	}
	r, err := i.Release(t.Context(), a, v, platforms(t, plan9, haiku)...)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Documents) != 0 {
		t.Errorf("documents of one method are attached to the complete release: %v", r.Documents)
	}
	for _, p := range r.Packages {
		if !slices.ContainsFunc(p.Documents, func(a provider.Document) bool { return strings.Contains(string(a.Bytes), p.Filename) }) {
			t.Errorf("%s lacks its SHA256SUMS", p.Platform)
		}
		signed := slices.ContainsFunc(p.Documents, func(d provider.Document) bool {
			content, err := d.Read(t.Context())
			if err != nil {
				t.Error(err)
			}
			return string(content) == "a signature"
		})
		if want := p.Platform.String() == plan9; signed != want {
			t.Errorf("%s has a signature: %v, want %v", p.Platform, signed, want)
		}
	}
	if _, err := i.Capabilities().Documents(t.Context(), r); err != nil {
		t.Error(err)
	}
}

func TestUnpackedPackagesHaveNoZip(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := install(t, w.options(block(w.unpacked(t, "unpacked", has{"1.0.0 " + haiku}))))
	r, err := i.Release(t.Context(), address(t, thing), version(t, "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = i.Open(t.Context(), r.Packages[0])
	if !errors.Is(err, filesystem.ErrUnpacked) || !strings.Contains(err.Error(), "for haiku_riscv64 is unpacked in ") {
		t.Errorf("got %v", err)
	}
	if _, ok := i.Capabilities().Directory(provider.Package{}); ok {
		t.Error("a package without a source is a directory")
	}
}

func TestNewRequiresSources(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]installation.Options{
		"direct":     {},
		"oci_mirror": {Config: cliconfig.Config{Installation: block(cliconfig.Method{Kind: cliconfig.OCIMirror})}},
		"pigeon":     {Config: cliconfig.Config{Installation: block(cliconfig.Method{Kind: "pigeon"})}},
	} {
		if _, err := installation.New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// respondsWith returns a mirror and an origin registry. The mirror's registry responds
// with a status and error codes, and the origin registry has the provider.
func respondsWith(status int, codes ...string) methods {
	return func(t *testing.T, w *world) []cliconfig.Method {
		t.Helper()
		return []cliconfig.Method{w.refusing(t, status, codes...), w.offer(t, has{"1.0.0 " + haiku})}
	}
}
