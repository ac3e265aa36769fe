package sync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func TestParseShard(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, env string
		want      sync.Shard
	}{
		{"", "", sync.Shard{}},
		{"", "CI_NODE_INDEX=1 CI_NODE_TOTAL=2", sync.Shard{}},
		{"1/1", "", sync.Shard{Index: 1, Count: 1}},
		{"2/8", "", sync.Shard{Index: 2, Count: 8}},
		{"1000/1000", "", sync.Shard{Index: 1000, Count: 1000}},
		{"auto/3", "JOB_COMPLETION_INDEX=0", sync.Shard{Index: 1, Count: 3}},
		{"auto/3", "JOB_COMPLETION_INDEX=2", sync.Shard{Index: 3, Count: 3}},
		{"auto", "CI_NODE_INDEX=4 CI_NODE_TOTAL=5", sync.Shard{Index: 4, Count: 5}},
	} {
		got, err := sync.ParseShard(test.text, environment(test.env))
		if got != test.want || err != nil {
			t.Errorf("%q with %s: got %v, %v", test.text, test.env, got, err)
		}
		if again, err := sync.ParseShard(got.String(), environment("")); again != got || err != nil {
			t.Errorf("%q parses as %v, %v", got, again, err)
		}
	}
}

func TestParseShardErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, env, want string }{
		{"0/8", "", "1 <= I <= N"},
		{"9/8", "", "1 <= I <= N"},
		{"-1/8", "", "1 <= I <= N"},
		{"1/0", "", "1 <= I <= N"},
		{"1/1001", "", "N <= 1000"},
		{"8", "", "I/N"},
		{"1/8/8", "", "I/N"},
		{" 1/8", "", "I/N"},
		{"/", "", "I/N"},
		{"auto/", "JOB_COMPLETION_INDEX=0", "I/N"},
		{"auto/3", "JOB_COMPLETION_INDEX=3", "selects shard 4"},
		{"auto/3", "", "JOB_COMPLETION_INDEX"},
		{"auto/3", "JOB_COMPLETION_INDEX=-1", "JOB_COMPLETION_INDEX"},
		{"auto", "", "CI_NODE_TOTAL"},
		{"auto", "CI_NODE_INDEX=1", "CI_NODE_TOTAL"},
		{"auto", "CI_NODE_INDEX=0 CI_NODE_TOTAL=2", "CI_NODE_INDEX"},
	} {
		got, err := sync.ParseShard(test.text, environment(test.env))
		if got != (sync.Shard{}) || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q with %s: got %v, %v", test.text, test.env, got, err)
		}
		if e, ok := errors.AsType[*provider.SyntaxError](err); !ok && provider.KindOf(err) != provider.Misuse || ok && e.Input != test.text {
			t.Errorf("%q: the error has the wrong type: %v", test.text, err)
		}
	}
}

// environment returns a function like os.Getenv. variables has the form "A=1 B=2".
func environment(variables string) func(string) string {
	return func(name string) string {
		for variable := range strings.FieldsSeq(variables) {
			if key, value, _ := strings.Cut(variable, "="); key == name {
				return value
			}
		}
		return ""
	}
}

// TestShards checks that shards are disjoint, complete, and of similar size, and that few
// addresses move if a shard is added.
func TestShards(t *testing.T) {
	t.Parallel()
	const addresses = 4000
	previous := map[provider.Address]int{}
	for count := 1; count <= 16; count++ {
		sizes := make([]int, count+1)
		moved := 0
		for n := range addresses {
			a := nouns.Address(t, fmt.Sprintf("acme/p%d", n))
			owner := 0
			for i := 1; i <= count; i++ {
				if !(sync.Shard{Index: i, Count: count}).Has(a) {
					continue
				}
				if owner != 0 {
					t.Fatalf("%s is in the shards %d and %d of %d", a, owner, i, count)
				}
				owner = i
			}
			if owner == 0 {
				t.Fatalf("%s is in no shard of %d", a, count)
			}
			if previous[a] != owner && previous[a] != 0 {
				if moved++; owner != count {
					t.Fatalf("%s moved from shard %d to the existing shard %d of %d", a, previous[a], owner, count)
				}
			}
			previous[a] = owner
			sizes[owner]++
		}
		for i, size := range sizes[1:] {
			if fair := addresses / count; size < fair*7/10 || size > fair*13/10 {
				t.Errorf("shard %d/%d has %d of %d addresses", i+1, count, size, addresses)
			}
		}
		if fair := addresses / count; moved > fair*13/10 {
			t.Errorf("%d of %d addresses moved to shard %d", moved, addresses, count)
		}
	}
	if a := nouns.Address(t, "acme/p1"); !(sync.Shard{}).Has(a) {
		t.Error("the zero value does not contain all addresses")
	}
}

// TestShardsDeny checks that deny blocks apply in all shards, even if there are more
// shards than max_delete permits removals.
func TestShardsDeny(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	types := []string{"rocket", "comet", "moon", "star"}
	for _, typ := range types {
		m.publish(t, typ, "1.0.0")
		m.want(t, typ, sync.Settings{})
	}
	m.apply(t)
	m.deny(t, "1.0.0")
	m.declaration.Prune = &sync.Prune{MaxDelete: 1}
	for range types { // because a shard can contain all providers
		for i := 1; i <= 4; i++ {
			o := m.options()
			o.Shard = sync.Shard{Index: i, Count: 4}
			p, err := sync.NewPlan(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			applied(t, p, o)
		}
	}
	for _, typ := range types {
		if got := m.tags(t, "main/"+typ); got != "denied-1.0.0" {
			t.Errorf("%s has the tags %s", typ, got)
		}
	}
}

// TestShardGolden checks that later versions of tofu-oci select the same shards,
// because the shards of one run can use different versions of tofu-oci.
func TestShardGolden(t *testing.T) {
	t.Parallel()
	var got []int
	for _, name := range []string{"hashicorp/aws", "hashicorp/null", "hashicorp/random", "registry.terraform.io/hashicorp/aws", "acme/bücher", "bücher.example/acme/rocket"} {
		for i := 1; i <= 8; i++ {
			if (sync.Shard{Index: i, Count: 8}).Has(nouns.Address(t, name)) {
				got = append(got, i)
			}
		}
	}
	if want := []int{6, 8, 1, 3, 8, 7}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
