package lock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/sourcetest"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// selected locks the zips of releases.
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
	s := newShelf(t, thing, "1.0.0", "1.2.3")
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

func TestSourceHandsCapabilitiesOn(t *testing.T) {
	t.Parallel()
	sourcetest.RunDecorator(t, newShelf(t, thing, "1.0.0"), func(inner provider.Source) provider.Source {
		return lock.NewSource(inner, lock.Selections{{}}, lock.Options{}, nil) // of the provider that is asked for there
	})
}

// TestSourceRefuses: what no hash matches does not come. An h1 that somebody states
// proves nothing: the zip is read.
func TestSourceRefuses(t *testing.T) {
	t.Parallel()
	dirs := stored(t)
	for name, test := range map[string]struct {
		change func(t *testing.T, s *shelf, p *provider.Package)
		hashes func(p provider.Package) []lockfile.Hash
		// opened is how often, told whether it is told that the h1 was the reason.
		opened int32
		told   bool
		// refused knows the error; nil is none.
		refused func(error) bool
	}{
		"the zh":                   {hashes: func(p provider.Package) []lockfile.Hash { return []lockfile.Hash{wrongH1, wrongZH, zh(p.Digest)} }},
		"the h1":                   {hashes: func(p provider.Package) []lockfile.Hash { return []lockfile.Hash{lockfile.Hash(p.H1), wrongZH} }, opened: 1, told: true},
		"an h1 that nobody states": {stating(""), trueH1, 1, true, nil},
		"an h1 that is denied":     {stating(string(wrongH1)), trueH1, 2, false, isA[*sums.MismatchError]},
		"an h1 that a liar states": {stating(string(wrongH1)), func(provider.Package) []lockfile.Hash { return []lockfile.Hash{wrongH1} }, 2, false, isA[*sums.MismatchError]},
		"other hashes":             {hashes: func(provider.Package) []lockfile.Hash { return []lockfile.Hash{wrongH1, wrongZH} }, opened: 1, refused: isA[*lock.HashError]},
		"another zh":               {hashes: func(provider.Package) []lockfile.Hash { return []lockfile.Hash{wrongZH} }, refused: isA[*lock.HashError]},
		"a scheme of tomorrow":     {hashes: func(provider.Package) []lockfile.Hash { return []lockfile.Hash{"h2:x"} }, refused: isA[*lock.HashError]},
		"nothing":                  {hashes: func(provider.Package) []lockfile.Hash { return nil }, refused: isA[*lock.HashError]},
		"a directory":              {unpacked, trueH1, 0, false, nil},
		"another directory":        {unpacked, func(provider.Package) []lockfile.Hash { return []lockfile.Hash{wrongH1, wrongZH} }, 0, false, isA[*lock.HashError]},
		"the h1 of what it becomes": {func(t *testing.T, s *shelf, p *provider.Package) { *p = s.hold(t, *p, dirs) }, func(provider.Package) []lockfile.Hash {
			return []lockfile.Hash{lockfile.Hash(hashOf(t, dirs).H1Unpacked)}
		}, 2, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t, thing, "1.0.0")
			r := s.first()
			r.Packages, r.Documents = r.Packages[:1], nil
			honest := r.Packages[0]
			if test.change != nil {
				test.change(t, s, &r.Packages[0])
			}
			var told []provider.Platform
			src := lock.NewSource(s, lock.Selections{{Address: r.Address, Version: r.Version, Hashes: test.hashes(honest)}}, lock.Options{TempDir: t.TempDir()},
				func(p provider.Package) { told = append(told, p.Platform) })
			var err error
			for range 2 { // the second time all is known, but for failures
				_, err = src.Release(t.Context(), r.Address, r.Version)
			}
			if (err != nil) != (test.refused != nil) || err != nil && !test.refused(err) || (len(told) == 1) != test.told {
				t.Errorf("told of %v, %v", told, err)
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

// stating lets the source state an h1.
func stating(h1 string) func(*testing.T, *shelf, *provider.Package) {
	return func(_ *testing.T, _ *shelf, p *provider.Package) { p.H1 = h1 }
}

func unpacked(_ *testing.T, _ *shelf, p *provider.Package) { p.Digest, p.Size = "", -1 }

// TestSourceNamesAllThatIsWrong: each package has an error of its own, with both
// sides' hashes.
func TestSourceNamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	s := newShelf(t, thing, "1.0.0")
	r := s.first()
	src := lock.NewSource(s, lock.Selections{{Address: r.Address, Version: r.Version, Hashes: []lockfile.Hash{wrongZH}}}, lock.Options{}, nil)
	_, err := src.Release(t.Context(), r.Address, r.Version)
	for _, p := range r.Packages {
		want := "registry.example.org/acme/thing 1.0.0 for " + p.Platform.String() + " is not what the lock file has: it is " + string(zh(p.Digest)) + ", " + p.H1 + ", locked are " + string(wrongZH)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	// A platform that is not asked for does not matter.
	src = lock.NewSource(s, lock.Selections{{Address: r.Address, Version: r.Version, Hashes: []lockfile.Hash{zh(r.Packages[0].Digest)}}}, lock.Options{}, nil)
	if got, err := src.Release(t.Context(), r.Address, r.Version, r.Packages[0].Platform); err != nil || len(got.Packages) != 1 {
		t.Errorf("got %v, %v", got.Packages, err)
	}
}

// TestSourceHasOnlyWhatIsLocked: other providers and versions are not there, and
// the other source is not asked.
func TestSourceHasOnlyWhatIsLocked(t *testing.T) {
	t.Parallel()
	s := newShelf(t, thing, "1.0.0", "1.1.0")
	s.add(t, other, "1.0.0")
	src := lock.NewSource(s, selected(s.releases[0]), lock.Options{}, nil)
	a := nouns.Address(t, thing)
	if got, err := src.Versions(t.Context(), a); err != nil || len(got) != 1 || got[0] != nouns.Version(t, "1.0.0") {
		t.Errorf("got %v, %v", got, err)
	}
	for want, ask := range map[string]func() error{
		thing + " 1.1.0: version not found: not in the lock file, which selects 1.0.0": func() error {
			_, err := src.Release(t.Context(), a, nouns.Version(t, "1.1.0"))
			return err
		},
		other + ": provider not found: not in the lock file": func() error {
			_, err := src.Versions(t.Context(), nouns.Address(t, other))
			return err
		},
	} {
		if err := ask(); !errors.Is(err, lock.ErrNotLocked) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if n := s.asked.Load(); n != 0 {
		t.Errorf("%d releases were asked for", n)
	}
}

// TestSourceReadsOnce: however many ask at the same time.
func TestSourceReadsOnce(t *testing.T) {
	t.Parallel()
	s := newShelf(t, thing, "1.0.0")
	r := s.first()
	var told sync.Map
	src := lock.NewSource(s, lock.Selections{{Address: r.Address, Version: r.Version, Hashes: []lockfile.Hash{lockfile.Hash(r.Packages[0].H1), lockfile.Hash(r.Packages[1].H1)}}}, lock.Options{}, func(p provider.Package) {
		if _, again := told.LoadOrStore(p.Platform, true); again {
			t.Errorf("%s was told of twice", p.Platform)
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

// TestSourceDigests: what is said of digests must not let one go by that the lock
// file does not have.
func TestSourceDigests(t *testing.T) {
	t.Parallel()
	s := newShelf(t, thing, "1.0.0")
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
		t.Errorf("of another version: %v", err)
	}
	locked[0].Hashes = locked[0].Hashes[:1]
	if got, err := digests(locked, "1.0.0"); err != nil || got != nil {
		t.Errorf("one is not locked: %v, %v", got, err)
	}
}

// knowing is a source that tells digests.
type knowing struct {
	provider.Source
	digests map[provider.Platform]digest.Digest
}

func (k knowing) Capabilities() provider.Capabilities {
	return provider.Capabilities{Digests: func(context.Context, provider.Address, provider.Version) (map[provider.Platform]digest.Digest, error) {
		return k.digests, nil
	}}
}
