package lock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/sourcetest"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// selected returns selections with the zh: hashes of releases.
func selected(releases ...provider.Release) lock.Selections {
	var all lock.Selections
	for _, r := range releases {
		s := lockfile.Selection{Address: r.Address, Version: r.Version}
		for _, p := range r.Packages {
			s.Hashes = append(s.Hashes, zh(p.Digest))
		}
		all = append(all, s)
	}
	return all
}

func TestSourceConforms(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0", "1.2.3")
	zips := map[provider.Platform][]byte{}
	for _, p := range s.releases[1].Packages {
		zips[p.Platform] = s.zips[p.Digest]
	}
	locked := selected(s.releases...)
	byContents := lock.Selections{locked[0], {Address: locked[1].Address, Version: locked[1].Version}}
	for _, p := range s.releases[1].Packages {
		byContents[1].Hashes = append(byContents[1].Hashes, lockfile.Hash(p.H1))
	}
	for name, locked := range map[string]lock.Selections{"zh": locked, "h1": byContents} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sourcetest.Run(t, sourcetest.Fixture{
				New:     func(*testing.T) provider.Source { return lock.NewSource(s, locked, lock.Options{}, nil) },
				Address: nouns.Address(t, thing), Versions: []provider.Version{nouns.Version(t, "1.2.3"), nouns.Version(t, "1.0.0")}, Zips: zips,
			})
		})
	}
}

func TestSourceForwardsCapabilities(t *testing.T) {
	t.Parallel()
	sourcetest.RunDecorator(t, newFakeSource(t, thing, "1.0.0"), func(inner provider.Source) provider.Source {
		return lock.NewSource(inner, lock.Selections{{}}, lock.Options{}, nil) // matches the provider of the suite
	})
}

// TestSourceRejects checks that packages that match no hash are rejected. Zips are read
// even if the metadata contains an h1: hash.
func TestSourceRejects(t *testing.T) {
	t.Parallel()
	dirs := stored(t)
	for name, test := range map[string]struct {
		change func(t *testing.T, s *fakeSource, p *provider.Package)
		hashes func(p provider.Package) []lockfile.Hash
		// opened is the expected number of reads. reported specifies whether byH1 is
		// called.
		opened   int32
		reported bool
		// refused matches the expected error. If nil, no error is expected.
		refused func(error) bool
	}{
		"the zh":                            {hashes: func(p provider.Package) []lockfile.Hash { return []lockfile.Hash{wrongH1, wrongZH, zh(p.Digest)} }},
		"the h1":                            {hashes: func(p provider.Package) []lockfile.Hash { return []lockfile.Hash{lockfile.Hash(p.H1), wrongZH} }, opened: 1, reported: true},
		"an h1 that is not in the metadata": {stating(""), trueH1, 1, true, nil},
		"an h1 that is denied":              {stating(string(wrongH1)), trueH1, 2, false, isA[*sums.MismatchError]},
		"a false h1 in the metadata":        {stating(string(wrongH1)), func(provider.Package) []lockfile.Hash { return []lockfile.Hash{wrongH1} }, 2, false, isA[*sums.MismatchError]},
		"other hashes":                      {hashes: func(provider.Package) []lockfile.Hash { return []lockfile.Hash{wrongH1, wrongZH} }, opened: 1, refused: isA[*lock.HashError]},
		"another zh":                        {hashes: func(provider.Package) []lockfile.Hash { return []lockfile.Hash{wrongZH} }, refused: isA[*lock.HashError]},
		"an unknown scheme":                 {hashes: func(provider.Package) []lockfile.Hash { return []lockfile.Hash{"h2:x"} }, refused: isA[*lock.HashError]},
		"nothing":                           {hashes: func(provider.Package) []lockfile.Hash { return nil }, refused: isA[*lock.HashError]},
		"a directory":                       {unpacked, trueH1, 0, false, nil},
		"another directory":                 {unpacked, func(provider.Package) []lockfile.Hash { return []lockfile.Hash{wrongH1, wrongZH} }, 0, false, isA[*lock.HashError]},
		"the h1 of the unpacked directory": {func(t *testing.T, s *fakeSource, p *provider.Package) { *p = s.hold(t, *p, dirs) }, func(provider.Package) []lockfile.Hash {
			return []lockfile.Hash{lockfile.Hash(hashOf(t, dirs).H1Unpacked)}
		}, 2, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFakeSource(t, thing, "1.0.0")
			r := s.first()
			r.Packages, r.Documents = r.Packages[:1], nil
			honest := r.Packages[0]
			if test.change != nil {
				test.change(t, s, &r.Packages[0])
			}
			var reported []provider.Platform
			src := lock.NewSource(s, lock.Selections{{Address: r.Address, Version: r.Version, Hashes: test.hashes(honest)}}, lock.Options{TempDir: t.TempDir()},
				func(p provider.Package) { reported = append(reported, p.Platform) })
			var err error
			for range 2 { // in the second round, only failed reads are repeated
				_, err = src.Release(t.Context(), r.Address, r.Version)
			}
			if (err != nil) != (test.refused != nil) || err != nil && !test.refused(err) || (len(reported) == 1) != test.reported {
				t.Errorf("reported %v, %v", reported, err)
			}
			if wrong, is := errors.AsType[*lock.HashError](err); is && wrong.Platform != honest.Platform {
				t.Errorf("the error is about %s", wrong.Platform)
			}
			if n := s.opened.Load(); n != test.opened {
				t.Errorf("%d zips were opened, want %d", n, test.opened)
			}
		})
	}
}

func trueH1(p provider.Package) []lockfile.Hash { return []lockfile.Hash{lockfile.Hash(p.H1)} }

// stating sets the h1: hash in the metadata.
func stating(h1 string) func(*testing.T, *fakeSource, *provider.Package) {
	return func(_ *testing.T, _ *fakeSource, p *provider.Package) { p.H1 = h1 }
}

func unpacked(_ *testing.T, _ *fakeSource, p *provider.Package) { p.Digest, p.Size = "", -1 }

// TestSourceReportsAllPackages checks that each package has a separate error, which
// contains the locked and the actual hashes.
func TestSourceReportsAllPackages(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0")
	r := s.first()
	src := lock.NewSource(s, lock.Selections{{Address: r.Address, Version: r.Version, Hashes: []lockfile.Hash{wrongZH}}}, lock.Options{}, nil)
	_, err := src.Release(t.Context(), r.Address, r.Version)
	for _, p := range r.Packages {
		want := "registry.example.org/acme/thing 1.0.0 for " + p.Platform.String() + " does not match the lock file: got " + string(zh(p.Digest)) + ", " + p.H1 + ", want " + string(wrongZH)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	// Platforms that are not requested are ignored.
	src = lock.NewSource(s, lock.Selections{{Address: r.Address, Version: r.Version, Hashes: []lockfile.Hash{zh(r.Packages[0].Digest)}}}, lock.Options{}, nil)
	if got, err := src.Release(t.Context(), r.Address, r.Version, r.Packages[0].Platform); err != nil || len(got.Packages) != 1 {
		t.Errorf("got %v, %v", got.Packages, err)
	}
}

// TestSourceIsRestricted checks that no other providers and versions exist, and that
// the inner source is not called for them.
func TestSourceIsRestricted(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0", "1.1.0")
	s.add(t, other, "1.0.0")
	src := lock.NewSource(s, selected(s.releases[0]), lock.Options{}, nil)
	a := nouns.Address(t, thing)
	if got, err := src.Versions(t.Context(), a); err != nil || len(got) != 1 || got[0] != nouns.Version(t, "1.0.0") {
		t.Errorf("got %v, %v", got, err)
	}
	for want, call := range map[string]func() error{
		thing + " 1.1.0: version not found: not in the lock file, which selects 1.0.0": func() error {
			_, err := src.Release(t.Context(), a, nouns.Version(t, "1.1.0"))
			return err
		},
		other + ": provider not found: not in the lock file": func() error {
			_, err := src.Versions(t.Context(), nouns.Address(t, other))
			return err
		},
	} {
		if err := call(); !errors.Is(err, lock.ErrNotLocked) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if n := s.requested.Load(); n != 0 {
		t.Errorf("%d releases were requested", n)
	}
}

// TestSourceReadsOnce checks that concurrent calls share one read per zip.
func TestSourceReadsOnce(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0")
	r := s.first()
	var reported sync.Map
	src := lock.NewSource(s, lock.Selections{{Address: r.Address, Version: r.Version, Hashes: []lockfile.Hash{lockfile.Hash(r.Packages[0].H1), lockfile.Hash(r.Packages[1].H1)}}}, lock.Options{}, func(p provider.Package) {
		if _, again := reported.LoadOrStore(p.Platform, true); again {
			t.Errorf("%s was reported twice", p.Platform)
		}
	})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := src.Release(t.Context(), r.Address, r.Version); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := s.opened.Load(); n != 2 {
		t.Errorf("%d zips were opened", n)
	}
}

// TestSourceDigests checks that digests that are not locked are hidden.
func TestSourceDigests(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0")
	r := s.first()
	all := map[provider.Platform]digest.Digest{}
	for _, p := range r.Packages {
		all[p.Platform] = p.Digest
	}
	locked := selected(*r)
	digests := func(locked lock.Selections, v string) (map[provider.Platform]digest.Digest, error) {
		return provider.CapabilitiesOf(lock.NewSource(knowing{s, all}, locked, lock.Options{}, nil)).Digests(t.Context(), r.Address, nouns.Version(t, v))
	}
	if got, err := digests(locked, "1.0.0"); err != nil || !cmp.Equal(all, got) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := digests(locked, "1.1.0"); !errors.Is(err, lock.ErrNotLocked) {
		t.Errorf("another version: %v", err)
	}
	locked[0].Hashes = locked[0].Hashes[:1]
	if got, err := digests(locked, "1.0.0"); err != nil || got != nil {
		t.Errorf("one is not locked: %v, %v", got, err)
	}
}

// knowing is a source with digests.
type knowing struct {
	provider.Source
	digests map[provider.Platform]digest.Digest
}

func (k knowing) Capabilities() provider.Capabilities {
	return provider.Capabilities{Digests: func(context.Context, provider.Address, provider.Version) (map[provider.Platform]digest.Digest, error) {
		return k.digests, nil
	}}
}
