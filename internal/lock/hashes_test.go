package lock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// TestHashes checks the hashes of releases, and how many zips are read.
func TestHashes(t *testing.T) {
	t.Parallel()
	manifest := zh(digest.FromString("manifest"))
	for name, test := range map[string]struct {
		change  func(t *testing.T, s *fakeSource, r *provider.Release)
		options lock.Options
		// sums lists additional hashes in SHA256SUMS.
		sums   []lockfile.Hash
		opened int32
	}{
		"all lines of the sums": {sums: []lockfile.Hash{manifest}},
		"capitals and odd spaces": {change: func(_ *testing.T, _ *fakeSource, r *provider.Release) {
			*document(r) = sumsOf(*r, []byte("\n"+strings.ReplaceAll(strings.ToUpper(firstWord(document(r).Bytes)), "\n", "")+"\tx y z\n"+string(document(r).Bytes)))
		}, sums: []lockfile.Hash{manifest}},
		"an invalid line": {change: func(_ *testing.T, _ *fakeSource, r *provider.Release) {
			*document(r) = sumsOf(*r, append([]byte("# the sums of\n"), document(r).Bytes...))
		}},
		"a line without a name": {change: func(_ *testing.T, _ *fakeSource, r *provider.Release) {
			*document(r) = sumsOf(*r, append(document(r).Bytes, digest.FromString("x").Encoded()...))
		}},
		"no sums":        {change: func(_ *testing.T, _ *fakeSource, r *provider.Release) { r.Documents = nil }},
		"generated sums": {change: func(_ *testing.T, _ *fakeSource, r *provider.Release) { *document(r) = source.GeneratedSums(*r) }},
		"one missing h1": {change: func(_ *testing.T, _ *fakeSource, r *provider.Release) { r.Packages[1].H1 = "" },
			sums: []lockfile.Hash{manifest}, opened: 1},
		"ComputeH1": {options: lock.Options{ComputeH1: true}, sums: []lockfile.Hash{manifest}, opened: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFakeSource(t, thing, "1.0.0")
			r := s.first()
			want := slices.Clone(test.sums)
			for _, p := range r.Packages {
				want = append(want, zh(p.Digest), lockfile.Hash(p.H1))
			}
			if test.change != nil {
				test.change(t, s, r)
			}
			got, err := lock.Hashes(t.Context(), s, r.Address, r.Version, test.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sorted(want), got); diff != "" {
				t.Error(diff)
			}
			if n := s.opened.Load(); n != test.opened {
				t.Errorf("%d zips were opened, want %d", n, test.opened)
			}
		})
	}
}

func document(r *provider.Release) *provider.Document { return &r.Documents[0] }

func firstWord(text []byte) string { return strings.Fields(string(text))[0] }

// sorted returns the hashes in sorted order, without duplicates.
func sorted(hashes []lockfile.Hash) []lockfile.Hash {
	return slices.Compact(slices.Sorted(slices.Values(hashes)))
}

// TestHashesOfPlatforms checks that the result contains all zh: hashes, but only the
// h1: hashes of the selected platforms.
func TestHashesOfPlatforms(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0")
	r := s.first()
	got, err := lock.Hashes(t.Context(), s, r.Address, r.Version, lock.Options{Platforms: []provider.Platform{nouns.Plan9}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Packages {
		if !slices.Contains(got, zh(p.Digest)) || slices.Contains(got, lockfile.Hash(p.H1)) != (p.Platform == nouns.Plan9) {
			t.Errorf("%s is %s and %s in %v", p.Platform, p.Digest, p.H1, got)
		}
	}
	wanted := provider.Platform{OS: "hurd", Arch: "ia64"}
	_, err = lock.Hashes(t.Context(), s, r.Address, r.Version, lock.Options{Platforms: []provider.Platform{wanted}})
	if missing, ok := errors.AsType[*provider.PlatformError](err); !ok || missing.Wanted != wanted {
		t.Errorf("got %v", err)
	}
}

// TestHashesRejects checks that incorrect metadata causes an error.
func TestHashesRejects(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused on purpose")
	for name, test := range map[string]struct {
		change  func(s *fakeSource, r *provider.Release)
		options lock.Options
		fits    func(error) bool
		opened  int32
	}{
		"a wrong h1": {func(_ *fakeSource, r *provider.Release) { r.Packages[0].H1 = string(wrongH1) }, lock.Options{ComputeH1: true}, isA[*sums.MismatchError], 1},
		"sums of other zips": {func(_ *fakeSource, r *provider.Release) {
			*document(r) = sumsOf(*r, sums.New(map[string]digest.Digest{r.Packages[0].Filename: digest.FromString("x"), r.Packages[1].Filename: r.Packages[1].Digest}).Bytes())
		}, lock.Options{}, isA[*sums.MismatchError], 0},
		"sums without a zip": {func(_ *fakeSource, r *provider.Release) {
			*document(r) = sumsOf(*r, sums.New(map[string]digest.Digest{r.Packages[0].Filename: r.Packages[0].Digest}).Bytes())
		}, lock.Options{}, isA[*sums.FileError], 0},
		"a corrupt zip": {func(s *fakeSource, r *provider.Release) {
			p := &r.Packages[0]
			s.zips[p.Digest], p.H1 = nouns.Zip(t, "rotten"), ""
			p.Size = int64(len(s.zips[p.Digest]))
		}, lock.Options{}, isA[*sums.MismatchError], 1},
		"a signature": {nil, lock.Options{ComputeH1: true, Verify: func(context.Context, provider.Release) (provider.Verdict, error) {
			return provider.Verdict{}, refused
		}}, func(err error) bool { return errors.Is(err, refused) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFakeSource(t, thing, "1.0.0")
			r := s.first()
			if test.change != nil {
				test.change(s, r)
			}
			if test.opened > 0 {
				r.Packages = r.Packages[:1]
			}
			got, err := lock.Hashes(t.Context(), s, r.Address, r.Version, test.options)
			if got != nil || !test.fits(err) || !strings.HasPrefix(err.Error(), "locking registry.example.org/acme/thing 1.0.0: ") {
				t.Errorf("got %v, %v", got, err)
			}
			if n := s.opened.Load(); n != test.opened {
				t.Errorf("%d zips were opened, want %d", n, test.opened)
			}
		})
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// TestHashesOfUnusualZips checks that a zip that can't be hashed as a stream is read again. A
// zip with directory entries has two h1: hashes, because OpenTofu records the hash of the
// unpacked directory.
func TestHashesOfUnusualZips(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0")
	r := s.first()
	data := stored(t)
	p := s.hold(t, r.Packages[0], data)
	want := []lockfile.Hash{zh(p.Digest), lockfile.Hash(p.H1), lockfile.Hash(hashOf(t, data).H1Unpacked)}
	p.H1Unpacked = string(want[2])
	r.Packages, r.Documents = []provider.Package{p}, nil
	got, err := lock.Hashes(t.Context(), s, r.Address, r.Version, lock.Options{})
	if diff := cmp.Diff(sorted(want), got); diff != "" || err != nil || s.opened.Load() != 0 {
		t.Errorf("from metadata: %v, %s", err, diff)
	}
	p.H1, p.H1Unpacked = "", ""
	r.Packages, r.Documents = []provider.Package{p}, nil
	got, err = lock.Hashes(t.Context(), s, r.Address, r.Version, lock.Options{TempDir: t.TempDir()})
	if diff := cmp.Diff(sorted(want), got); diff != "" || err != nil || len(sorted(want)) != 3 {
		t.Errorf("%v, %s", err, diff)
	}
	if n := s.opened.Load(); n != 2 {
		t.Errorf("the zip was opened %d times", n)
	}
}

// TestHashesInterrupted checks that interrupted reads are repeated and reported.
func TestHashesInterrupted(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0")
	r := s.first()
	r.Packages[0].H1 = ""
	s.cutOff.Store(1)
	var retried []string
	o := lock.Options{
		Backoff:  func(int) time.Duration { return 0 },
		Progress: provider.Progress{Retry: func(what string, _ error) { retried = append(retried, what) }},
	}
	if _, err := lock.Hashes(t.Context(), s, r.Address, r.Version, o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"reading " + r.Packages[0].Filename}, retried); diff != "" || s.opened.Load() != 2 {
		t.Errorf("%d zips were opened, %s", s.opened.Load(), diff)
	}
}

// TestWithCache checks that concurrent calls read each zip and verify the signature
// only once, and that callers can modify their results.
func TestWithCache(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0")
	r := s.first()
	verified := 0
	o := lock.Options{ComputeH1: true, Verify: func(context.Context, provider.Release) (provider.Verdict, error) {
		verified++
		return provider.Verdict{}, nil
	}}.WithCache()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got, err := lock.Hashes(t.Context(), s, r.Address, r.Version, o)
			if err != nil || len(got) != 5 || slices.Contains(got, "") {
				t.Errorf("got %v, %v", got, err)
				return
			}
			clear(got)
		})
	}
	group.Wait()
	if s.opened.Load() != 2 || verified != 1 {
		t.Errorf("%d zips were opened, and Verify was called %d times", s.opened.Load(), verified)
	}
	o.Platforms = []provider.Platform{nouns.Plan9}
	if got, err := lock.Hashes(t.Context(), s, r.Address, r.Version, o); err != nil || len(got) != 4 {
		t.Errorf("for one platform: %v, %v", got, err)
	}
}
