package sync

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxShards is the maximum number of shards.
const maxShards = 1000

// Shard is one of several disjoint sets that together contain all providers. Each
// address is in exactly one of the shards 1/N to N/N, regardless of which other
// providers exist. If N changes by one, only about 1/N of the addresses move to a
// different shard. The zero value contains all providers.
type Shard struct {
	// Index is the number of the shard, from 1 to Count.
	Index int
	// Count is the number of shards.
	Count int
}

// ParseShard parses "I/N" for shard I of N. For the empty string, it returns the zero
// value. "auto/N" reads I from the environment of a Kubernetes Indexed Job. "auto"
// reads I and N from the environment of a GitLab job with parallel. env is a function
// such as [os.Getenv]. Errors are of type *[provider.SyntaxError], or of kind
// [provider.Misuse] if a variable is missing or invalid.
func ParseShard(text string, env func(string) string) (Shard, error) {
	index, count, hasCount := strings.Cut(text, "/")
	switch {
	case text == "":
		return Shard{}, nil
	case text == "auto":
		s, ok := newShard(env("CI_NODE_INDEX"), env("CI_NODE_TOTAL"))
		if !ok {
			return s, provider.Errorf(provider.Misuse, "shard auto requires the variables CI_NODE_INDEX and CI_NODE_TOTAL, with 1 <= CI_NODE_INDEX <= CI_NODE_TOTAL <= %d; got %q and %q", maxShards, env("CI_NODE_INDEX"), env("CI_NODE_TOTAL"))
		}
		return s, nil
	case index == "auto" && hasCount:
		i, err := strconv.ParseUint(env("JOB_COMPLETION_INDEX"), 10, 31)
		if err != nil {
			return Shard{}, provider.Errorf(provider.Misuse, "shard auto/%s requires the variable JOB_COMPLETION_INDEX of a Kubernetes Indexed Job; got %q", count, env("JOB_COMPLETION_INDEX"))
		}
		index = strconv.FormatUint(i+1, 10)
	}
	s, ok := newShard(index, count)
	if !ok {
		problem := fmt.Sprintf("must be I/N with 1 <= I <= N <= %d, auto/N, or auto", maxShards)
		if index != "auto" && strings.HasPrefix(text, "auto/") {
			problem += "; JOB_COMPLETION_INDEX selects shard " + index
		}
		return Shard{}, &provider.SyntaxError{What: "shard", Input: text, Problem: problem}
	}
	return s, nil
}

func newShard(index, count string) (Shard, bool) {
	i, wrongIndex := strconv.ParseUint(index, 10, 31)
	n, wrongCount := strconv.ParseUint(count, 10, 31)
	if wrongIndex != nil || wrongCount != nil || i < 1 || i > n || n > maxShards {
		return Shard{}, false
	}
	return Shard{Index: int(i), Count: int(n)}, true
}

// Has reports whether the shard contains a provider.
func (s Shard) Has(a provider.Address) bool {
	if s.Count <= 1 {
		return true
	}
	// Rendezvous hashing: an address belongs to the shard with the highest score.
	sum := sha256.Sum256([]byte(a.ASCII()))
	seed := binary.BigEndian.Uint64(sum[:])
	best, most := 0, uint64(0)
	for i := 1; i <= s.Count; i++ {
		if score := mix(seed + uint64(i)*increment); best == 0 || score > most {
			best, most = i, score
		}
	}
	return best == s.Index
}

// increment and mix implement SplitMix64. For multiples of increment, mix returns
// uniformly distributed numbers. See https://prng.di.unimi.it/splitmix64.c.
const increment = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// String returns "I/N", or "" for the zero value.
func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return strconv.Itoa(s.Index) + "/" + strconv.Itoa(s.Count)
}

// MarshalText returns the output of String.
func (s Shard) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
