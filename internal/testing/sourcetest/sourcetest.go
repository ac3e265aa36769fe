// Package sourcetest provides the conformance test suite for implementations of
// [provider.Source].
package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Fixture describes the source under test.
type Fixture struct {
	// New returns a source that has not yet fetched any data. All returned sources have
	// the same content.
	New func(t *testing.T) provider.Source
	// Address is a provider that the source has.
	Address provider.Address
	// Versions contains all versions of the provider, newest first. The suite requires
	// at least two versions.
	Versions []provider.Version
	// Zips contains the packages of Versions[0]. The suite requires at least two
	// platforms with different content.
	Zips map[provider.Platform][]byte
}

// Run runs the suite.
func Run(t *testing.T, f Fixture) {
	t.Helper()
	if len(f.Versions) < 2 || len(f.Zips) < 2 {
		t.Fatal("the fixture needs two versions and two platforms")
	}
	for _, part := range []struct {
		name string
		test func(*testing.T)
	}{
		{"versions", testVersions(f)},
		{"unknown provider", testUnknownProvider(f)},
		{"unknown version", testUnknownVersion(f)},
		{"unknown platform", testUnknownPlatform(f)},
		{"release", testRelease(f)},
		{"chosen platforms", testChosenPlatforms(f)},
		{"open", testOpen(f)},
		{"foreign package", testForeignPackage(f)},
		{"verified", testVerified(f)},
		{"canceled", testCanceled(f)},
		{"concurrent", testConcurrent(f)},
		{"capabilities", testCapabilities(f)},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.test(t)
		})
	}
}

func testVersions(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		got, err := f.New(t).Versions(t.Context(), f.Address)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(texts(f.Versions), texts(got)); diff != "" {
			t.Error(diff)
		}
	}
}

func testUnknownProvider(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		unknown := f.Address
		unknown.Type = "no-such-provider"
		if _, err := f.New(t).Versions(t.Context(), unknown); !errors.Is(err, provider.ErrProviderNotFound) {
			t.Errorf("Versions: want ErrProviderNotFound, got %v", err)
		}
		if _, err := f.New(t).Release(t.Context(), unknown, f.Versions[0]); !errors.Is(err, provider.ErrProviderNotFound) {
			t.Errorf("Release: want ErrProviderNotFound, got %v", err)
		}
	}
}

func testUnknownVersion(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		v, err := provider.ParseVersion("987.6.5")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.New(t).Release(t.Context(), f.Address, v); !errors.Is(err, provider.ErrVersionNotFound) {
			t.Errorf("want ErrVersionNotFound, got %v", err)
		}
	}
}

func testUnknownPlatform(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		unknown := provider.Platform{OS: "nosuchos", Arch: "vax"}
		_, err := f.New(t).Release(t.Context(), f.Address, f.Versions[0], f.platforms()[0], unknown)
		var missing *provider.PlatformError
		if !errors.As(err, &missing) {
			t.Fatalf("want a PlatformError, got %v", err)
		}
		want := provider.PlatformError{Address: f.Address, Version: f.Versions[0], Wanted: unknown, Have: f.platforms()}
		if missing.Address != want.Address || missing.Version != want.Version || missing.Wanted != want.Wanted ||
			!slices.Equal(missing.Have, want.Have) {
			t.Errorf("got %+v, want %+v", *missing, want)
		}
	}
}

func testRelease(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		r, err := f.New(t).Release(t.Context(), f.Address, f.Versions[0])
		if err != nil {
			t.Fatal(err)
		}
		if r.Address != f.Address || r.Version != f.Versions[0] {
			t.Errorf("the release is of %s %s", r.Address, r.Version)
		}
		if diff := cmp.Diff(f.platforms(), r.Platforms()); diff != "" {
			t.Errorf("platforms: %s", diff)
		}
		for _, p := range r.Packages {
			zip := f.Zips[p.Platform]
			if p.Address != f.Address || p.Version != f.Versions[0] || p.Digest != digest.FromBytes(zip) {
				t.Errorf("%s is %s %s, %s", p.Platform, p.Address, p.Version, p.Digest)
			}
			if p.Size != -1 && p.Size != int64(len(zip)) {
				t.Errorf("%s has size %d, want %d or -1", p.Platform, p.Size, len(zip))
			}
			if err := errors.Join(p.CheckConventional(p.Filename), p.CheckIdentity()); err != nil {
				t.Errorf("%s: %v", p.Platform, err)
			}
		}
		for _, d := range r.Documents {
			if err := provider.CheckFilename(d.Name); err != nil || d.MediaType == "" || d.Kind == "" || d.Scope != provider.ScopeRelease {
				t.Errorf("document %q of type %q, kind %q and scope %q: %v", d.Name, d.MediaType, d.Kind, d.Scope, err)
			}
			content, err := d.Read(t.Context())
			if err != nil || digest.FromBytes(content) != d.Digest || int64(len(content)) != d.Size {
				t.Errorf("document %s: %d bytes, want %d of %s: %v", d.Name, len(content), d.Size, d.Digest, err)
			}
		}
	}
}

func testChosenPlatforms(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		platforms := f.platforms()
		last := platforms[len(platforms)-1]
		source := f.New(t)
		for name, test := range map[string]struct{ only, want []provider.Platform }{
			"one":              {[]provider.Platform{last}, []provider.Platform{last}},
			"two, out of turn": {[]provider.Platform{last, platforms[0]}, []provider.Platform{platforms[0], last}},
			"twice the same":   {[]provider.Platform{last, last}, []provider.Platform{last}},
		} {
			given := slices.Clone(test.only)
			r, err := source.Release(t.Context(), f.Address, f.Versions[0], test.only...)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if diff := cmp.Diff(test.want, r.Platforms()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if diff := cmp.Diff(given, test.only); diff != "" {
				t.Errorf("%s: the argument was changed: %s", name, diff)
			}
		}
	}
}

func testOpen(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		source := f.New(t)
		r, err := source.Release(t.Context(), f.Address, f.Versions[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Packages {
			for range 2 { // a package can be opened twice
				body, size, err := source.Open(t.Context(), p)
				if err != nil {
					t.Fatalf("%s: %v", p.Platform, err)
				}
				got, err := io.ReadAll(body)
				if err := errors.Join(err, body.Close()); err != nil {
					t.Errorf("%s: %v", p.Platform, err)
				}
				if !bytes.Equal(got, f.Zips[p.Platform]) {
					t.Errorf("%s: wrong bytes", p.Platform)
				}
				if size != -1 && size != int64(len(got)) {
					t.Errorf("%s: size %d, but %d bytes", p.Platform, size, len(got))
				}
			}
		}
	}
}

func testForeignPackage(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		type unheardOf struct{}
		p := provider.Package{Filename: "a.zip", Digest: digest.FromString("a"), Size: 1, Locator: unheardOf{}}
		if body, _, err := f.New(t).Open(t.Context(), p); err == nil {
			_ = body.Close()
			t.Error("a package of a different source was opened")
		}
	}
}

// testVerified opens a package with another package's digest, and a package with a
// wrong size. In both cases, the source must not return the last bytes.
func testVerified(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		source := f.New(t)
		r, err := source.Release(t.Context(), f.Address, f.Versions[0])
		if err != nil {
			t.Fatal(err)
		}
		wrongDigest := r.Packages[0]
		wrongDigest.Digest = digest.FromString("something else")
		wrongSize := r.Packages[0]
		wrongSize.Size = int64(len(f.Zips[wrongSize.Platform])) + 1
		for name, p := range map[string]provider.Package{"digest": wrongDigest, "size": wrongSize} {
			body, _, err := source.Open(t.Context(), p)
			if err != nil {
				continue // the source rejected the package before reading
			}
			got, err := io.ReadAll(body)
			_ = body.Close()
			if err == nil {
				t.Errorf("wrong %s: no error", name)
			}
			if len(got) >= len(f.Zips[p.Platform]) {
				t.Errorf("wrong %s: all %d bytes were returned", name, len(got))
			}
		}
	}
}

func testCanceled(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		source := f.New(t)
		r, err := source.Release(t.Context(), f.Address, f.Versions[0])
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		fresh := f.New(t)
		if _, err := fresh.Versions(ctx, f.Address); !errors.Is(err, context.Canceled) {
			t.Errorf("Versions: got %v", err)
		}
		if _, err := fresh.Release(ctx, f.Address, f.Versions[0]); !errors.Is(err, context.Canceled) {
			t.Errorf("Release: got %v", err)
		}
		body, _, err := source.Open(ctx, r.Packages[0])
		if err == nil {
			_, err = io.ReadAll(body)
			_ = body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Open: got %v", err)
		}
		// A canceled call must not break the source for later calls.
		if _, err := fresh.Release(t.Context(), f.Address, f.Versions[0]); err != nil {
			t.Errorf("after a canceled call: %v", err)
		}
	}
}

func testConcurrent(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		source := f.New(t)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if _, err := source.Versions(t.Context(), f.Address); err != nil {
					t.Error(err)
				}
				r, err := source.Release(t.Context(), f.Address, f.Versions[0])
				if err != nil || len(r.Packages) != len(f.Zips) {
					t.Errorf("%d packages, %v", len(r.Packages), err)
				}
			})
		}
		group.Wait()
	}
}

func (f Fixture) platforms() []provider.Platform {
	var ps []provider.Platform
	for p := range f.Zips {
		ps = append(ps, p)
	}
	return provider.SortPlatforms(ps)
}

func texts(vs []provider.Version) []string {
	var out []string
	for _, v := range vs {
		out = append(out, v.String())
	}
	return out
}
