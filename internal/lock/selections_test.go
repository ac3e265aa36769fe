package lock_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
)

// file creates a lock file. Each entry consists of ADDRESS, VERSION, and HASH....
func file(t *testing.T, entries ...[]string) *lockfile.File {
	t.Helper()
	f, err := lockfile.Parse(lock.Filename, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		s := lockfile.Selection{Address: nouns.Address(t, entry[0]), Version: nouns.Version(t, entry[1])}
		for _, h := range entry[2:] {
			s.Hashes = append(s.Hashes, lockfile.Hash(h))
		}
		f.Set(s)
	}
	return f
}

func TestUnion(t *testing.T) {
	t.Parallel()
	all := lock.Union(
		file(t, []string{thing, "1.10.0", "zh:b"}, []string{other, "2.0.0", "zh:o"}).Selections(),
		file(t, []string{thing, "1.9.0", "zh:c"}).Selections(),
		file(t).Selections(),
		file(t, []string{thing, "1.10.0", "h1:a", "zh:b"}).Selections(),
	)
	describe := func(all lock.Selections) (lines []string) {
		for _, s := range all {
			lines = append(lines, fmt.Sprint(s.Address, " ", s.Version, " ", s.Hashes))
		}
		return lines
	}
	want := []string{other + " 2.0.0 [zh:o]", thing + " 1.9.0 [zh:c]", thing + " 1.10.0 [h1:a zh:b]"}
	if diff := cmp.Diff(want, describe(all)); diff != "" {
		t.Error(diff)
	}
	wanted := fmt.Sprint(all.Requirements())
	if want := fmt.Sprintf("[%s@2.0.0 %s@1.9.0 %s@1.10.0]", other, thing, thing); wanted != want {
		t.Errorf("got %s, want %s", wanted, want)
	}

	some, err := all.Of(nouns.Address(t, thing))
	if diff := cmp.Diff(want[1:], describe(some)); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
	if _, err := all.Of(nouns.Address(t, thing), nouns.Address(t, "acme/none")); !errors.Is(err, lock.ErrNotLocked) {
		t.Errorf("got %v", err)
	}
}
