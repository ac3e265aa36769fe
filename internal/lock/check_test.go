package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// TestCheck covers each kind of finding. Findings are written as "CODE PLATFORM".
func TestCheck(t *testing.T) {
	t.Parallel()
	fakeSource := newFakeSource(t, thing, "1.0.0", "1.1.0")
	r := fakeSource.releases[0]
	haiku, plan9 := r.Packages[0], r.Packages[1]
	if haiku.Platform != nouns.Haiku {
		t.Fatal("packages are not sorted")
	}
	zhOf := func(p provider.Package) string { return string(zh(p.Digest)) }
	for name, test := range map[string]struct {
		address, version string
		hashes           []string
		change           func(r *provider.Release)
		found            []string
		unknown          int
		problem          string
	}{
		"valid":                              {thing, "1.0.0", []string{zhOf(haiku), zhOf(plan9), haiku.H1}, nil, nil, 0, ""},
		"additional hashes":                  {thing, "1.0.0", []string{zhOf(haiku), zhOf(plan9), "h1:x", "zh:y", "h3:z"}, nil, nil, 3, ""},
		"hash of another file in SHA256SUMS": {thing, "1.0.0", []string{zhOf(haiku), zhOf(plan9), string(zhOfManifest)}, nil, nil, 0, ""},
		"no such provider":                   {"registry.example.org/acme/none", "1.0.0", nil, nil, []string{"lock-provider-missing"}, 0, "registry.example.org/acme/none does not exist in the source"},
		"no such version":                    {thing, "9.0.0", nil, nil, []string{"lock-version-missing"}, 0, "registry.example.org/acme/thing 9.0.0 does not exist in the source; existing versions: 1.1.0, 1.0.0."},
		"no such platform": {thing, "1.0.0", []string{zhOf(haiku), zhOf(plan9)}, func(r *provider.Release) { r.Packages = r.Packages[:1] },
			[]string{"lock-platform-missing plan9_mips"}, 0, "has no package for plan9_mips"},
		"a platform that was never released": {thing, "1.0.0", []string{zhOf(haiku)}, func(r *provider.Release) {
			r.Packages = r.Packages[:1]
			r.Documents = []provider.Document{sumsOf(*r, sums.New(map[string]digest.Digest{haiku.Filename: haiku.Digest}).Bytes())}
		}, []string{"lock-platform-missing plan9_mips"}, 0, "has no package for plan9_mips"},
		"only h1": {thing, "1.0.0", []string{haiku.H1, zhOf(plan9)}, nil, []string{"lock-h1-only haiku_riscv64"}, 0, "OpenTofu requires " + zhOf(haiku)},
		"tampered zh": {thing, "1.0.0", []string{haiku.H1, zhOf(plan9), string(wrongZH)}, nil, []string{"lock-hash-disagrees haiku_riscv64"}, 1,
			"None of the zh hashes in the lock file is " + zhOf(haiku) + ", the hash of the package of registry.example.org/acme/thing 1.0.0 for haiku_riscv64, although the h1 hash matches. These zh hashes match no package: " + string(wrongZH)},
		"one missing hash":   {thing, "1.0.0", []string{zhOf(plan9)}, nil, []string{"lock-hash-missing haiku_riscv64"}, 0, "has no hash for registry.example.org/acme/thing 1.0.0 for haiku_riscv64; the hash is " + zhOf(haiku)},
		"no hashes":          {thing, "1.0.0", nil, nil, []string{"lock-hash-missing haiku_riscv64", "lock-hash-missing plan9_mips"}, 0, ""},
		"different zip":      {thing, "1.0.0", []string{zhOf(plan9), string(wrongZH)}, nil, []string{"lock-hash-disagrees haiku_riscv64"}, 1, "contains hashes that match no package: " + string(wrongZH)},
		"different contents": {thing, "1.0.0", []string{string(wrongH1)}, nil, []string{"lock-hash-disagrees haiku_riscv64", "lock-hash-disagrees plan9_mips"}, 1, ""},
		"no h1 in the metadata": {thing, "1.0.0", []string{haiku.H1}, func(r *provider.Release) { r.Packages[0].H1, r.Packages[1].H1 = "", "" },
			[]string{"lock-hash-missing haiku_riscv64", "lock-hash-missing plan9_mips"}, 1, ""},
		"unpacked": {thing, "1.0.0", []string{haiku.H1}, func(r *provider.Release) {
			for i := range r.Packages {
				r.Packages[i].Digest = ""
			}
		}, []string{"lock-hash-missing plan9_mips"}, 0, "the hash is " + plan9.H1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFakeSource(t, thing, "1.0.0", "1.1.0")
			if test.change != nil {
				test.change(s.first())
			}
			if name == "unpacked" {
				s.first().Documents = nil
			}
			f := file(t, append([]string{test.address, test.version}, test.hashes...))
			all := lock.Check(t.Context(), s, "some/file", f, lock.Options{Platforms: []provider.Platform{nouns.Haiku, nouns.Plan9}})
			if len(all) != 1 || all[0].Err != nil || all[0].File != "some/file" {
				t.Fatalf("got %+v", all)
			}
			var found []string
			for _, f := range all[0].Findings {
				found = append(found, strings.TrimSpace(f.Code+" "+f.Subject.Platform))
				if f.Subject.Provider != test.address || f.Subject.Version != test.version || f.Subject.File != "some/file" || f.Hint+f.Command == "" {
					t.Errorf("got %+v", f)
				}
				if f.IsMissing() != strings.HasSuffix(f.Code, "-missing") {
					t.Errorf("%s is missing: %v", f.Code, f.IsMissing())
				}
				if !slices.ContainsFunc(lock.Rules(), func(r finding.Rule) bool { return r.Code == f.Code && r.Means != "" }) {
					t.Errorf("%s is not in Rules", f.Code)
				}
			}
			if diff := cmp.Diff(test.found, found); diff != "" {
				t.Error(diff)
			}
			if mirrors := len(all[0].Findings) > 0 && strings.Contains(all[0].Findings[0].Command, "--platform"); mirrors != (name == "no such platform") {
				t.Errorf("the remedy is %+v", all[0].Findings[0].Remedy)
			}
			if all[0].Unknown != test.unknown {
				t.Errorf("%d hashes are unknown, want %d", all[0].Unknown, test.unknown)
			}
			if test.problem != "" && !strings.Contains(all[0].Findings[0].Message, test.problem) {
				t.Errorf("the problem is %s", all[0].Findings[0].Message)
			}
			if n := s.opened.Load(); n != 0 {
				t.Errorf("%d zips were opened", n)
			}
		})
	}
}

// withStat is a source that can check which zips exist.
type withStat struct {
	*fakeSource
	stat func(provider.Package) (bool, error)
}

func (s withStat) Capabilities() provider.Capabilities {
	return provider.Capabilities{Stat: func(_ context.Context, p provider.Package) (bool, error) { return s.stat(p) }}
}

// TestCheckZips checks that missing zips are found even if the release is listed.
func TestCheckZips(t *testing.T) {
	t.Parallel()
	fakeSource := newFakeSource(t, thing, "1.0.0")
	r := fakeSource.releases[0]
	f := file(t, []string{thing, "1.0.0", string(zh(r.Packages[0].Digest)), string(zh(r.Packages[1].Digest))})
	refused := errors.New("refused on purpose")
	for name, test := range map[string]struct {
		checked   bool
		err       error
		found     []string
		unchecked int
		failed    error
	}{
		"all exist":    {checked: true},
		"unknown":      {unchecked: 2},
		"lost":         {true, fmt.Errorf("wrapped: %w", repository.ErrNotFound), []string{"lock-package-missing haiku_riscv64", "lock-package-missing plan9_mips"}, 0, nil},
		"another size": {true, &sums.SizeError{Got: 1, Want: 2}, []string{"lock-package-missing haiku_riscv64", "lock-package-missing plan9_mips"}, 0, nil},
		"unreadable":   {true, refused, nil, 0, refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := withStat{fakeSource, func(provider.Package) (bool, error) { return test.checked, test.err }}
			all := lock.Check(t.Context(), src, "f", f, lock.Options{Platforms: []provider.Platform{nouns.Haiku, nouns.Plan9}})
			var found []string
			for _, f := range all[0].Findings {
				found = append(found, f.Code+" "+f.Subject.Platform)
			}
			if diff := cmp.Diff(test.found, found); diff != "" {
				t.Error(diff)
			}
			if all[0].Unchecked != test.unchecked || !errors.Is(all[0].Err, test.failed) {
				t.Errorf("got %d, %v", all[0].Unchecked, all[0].Err)
			}
		})
	}
}

// TestCheckContinues checks that the other selections are checked even if one selection
// can't be checked. Results are in the order of the file.
func TestCheckContinues(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, thing, "1.0.0")
	s.add(t, other, "1.0.0")
	refused := errors.New("refused on purpose")
	f := file(t, []string{thing, "1.0.0"}, []string{other, "1.0.0"})
	all := lock.Check(t.Context(), s, "f", f, lock.Options{Verify: func(_ context.Context, r provider.Release) (provider.Verdict, error) {
		if r.Address == nouns.Address(t, other) {
			return provider.Verdict{}, refused
		}
		return provider.Verdict{}, nil
	}})
	if len(all) != 2 || !errors.Is(all[0].Err, refused) || all[0].Findings != nil {
		t.Fatalf("got %+v", all)
	}
	// Without platforms, Check checks this machine's platform.
	if got := fmt.Sprint(all[1].Findings); all[1].Err != nil || !strings.Contains(got, provider.CurrentPlatform().String()) {
		t.Errorf("got %s, %v", got, all[1].Err)
	}
	s.err = refused
	if all := lock.Check(t.Context(), s, "f", f, lock.Options{}); !errors.Is(all[1].Err, refused) {
		t.Errorf("got %+v", all)
	}
}
