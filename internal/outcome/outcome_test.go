package outcome_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// result writes the result of a shard and returns the path of the file.
func result(t *testing.T, p sync.Plan, results ...sync.Result) string {
	t.Helper()
	d := outcome.New(&p)
	for _, r := range results {
		d.Items = append(d.Items, outcome.Done(r))
	}
	d.Finish(nil)
	path := filepath.Join(t.TempDir(), "result.json")
	if err := d.Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func action(t *testing.T, kind sync.Kind, name string) sync.Action {
	t.Helper()
	return sync.Action{Kind: kind, Target: "main", Provider: nouns.Address(t, name), Version: nouns.Version(t, "1.2.3"), Reason: "selected"}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	failure := errors.New("no reply")
	first := result(t, sync.Plan{Shard: sync.Shard{Index: 1, Count: 2}, Summary: sync.Summary{Unchanged: 3}},
		sync.Result{Action: action(t, sync.PruneTag, "acme/rocket"), Bytes: 5}, sync.Result{Action: action(t, sync.Mirror, "acme/sled"), Err: failure})
	second := result(t, sync.Plan{Shard: sync.Shard{Index: 2, Count: 2}, Summary: sync.Summary{Unchanged: 4}}, sync.Result{Action: action(t, sync.Deny, "acme/anvil"), Bytes: 6})
	all, problems, err := outcome.Merge([]string{second, first}, patience.Limit)
	if err != nil || problems != nil {
		t.Fatal(problems, err)
	}
	all.Finish(nil)
	if got, want := all.Line(), "1 denied, 1 pruned, 1 failed, 7 unchanged"; got != want || all.Summary.Bytes != 11 || all.Items[0].Provider != "registry.opentofu.org/acme/anvil" {
		t.Errorf("got %q, want %q: %+v", got, want, all)
	}
	if got, want := strings.Join(all.Message(nil), "\n"), "registry.opentofu.org/acme/sled 1.2.3 failed main: selected; no reply\n"; !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 2 {
		t.Errorf("got %q, want %q and two lines", got, want)
	}

	_, problems, err = outcome.Merge([]string{first, "none.json"}, 0)
	if err != nil || len(problems) != 2 || !errors.Is(problems[0], fs.ErrNotExist) || problems[1].Error() != "the result of shard 2/2 is missing" {
		t.Errorf("a missing shard: %v, %v", problems, err)
	}
}

func TestMergeErrors(t *testing.T) {
	t.Parallel()
	first := result(t, sync.Plan{Shard: sync.Shard{Index: 1, Count: 2}})
	whole := result(t, sync.Plan{})
	other := result(t, sync.Plan{Shard: sync.Shard{Index: 2, Count: 2}, Trust: "sha256:0"})
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if all, problems, err := outcome.Merge([]string{broken}, 0); err != nil || len(problems) != 1 || len(all.Items) > 0 || !strings.Contains(problems[0].Error(), "not written by sync apply") {
		t.Errorf("no result: %v, %v", problems, err)
	}
	for _, test := range []struct {
		paths []string
		kind  provider.ErrorKind
		want  string
	}{
		{[]string{first, first}, provider.Misuse, "is specified twice"},
		{[]string{first, whole}, provider.Misuse, "are results for the same shard or from different runs"},
		{[]string{first, other}, provider.Conflict, "different declaration or trust file"},
	} {
		if _, _, err := outcome.Merge(test.paths, 0); provider.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: got %v, want %s", test.paths, err, test.want)
		}
	}
}

// TestPlanned checks the text that describes a plan.
func TestPlanned(t *testing.T) {
	t.Parallel()
	d := outcome.New(&sync.Plan{})
	d.Planned = true
	hold, deny := action(t, sync.Hold, "acme/rocket"), action(t, sync.Deny, "acme/rocket")
	hold.Eligible, deny.Locked = time.Unix(0, 0), []string{"a", "b"}
	for range 30 {
		d.Items = append(d.Items, outcome.Planned(hold), outcome.Planned(deny))
	}
	d.Finish([]error{errors.New("unreadable")})
	if got := d.Line(); got != "30 to deny, 30 held back" {
		t.Error(got)
	}
	if got := d.Items[0].Details() + ". " + d.Items[1].Details(); got != "selected; eligible from 1970-01-01T00:00:00Z. selected; locked in a, b" {
		t.Error(got)
	}
	if lines := d.Message(errors.New("broken")); len(lines) != 21 || lines[0] != "unreadable" || lines[1] != "broken" || lines[20] != "and 12 more" {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}
