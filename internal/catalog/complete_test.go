package catalog_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// tagList is a repository that can only list tags.
type tagList struct {
	repository.Reader
	tags []string
}

func (l tagList) Tags(context.Context) ([]string, error) { return l.tags, nil }

// TestCompleteVersions checks that released versions are completed from the list of tags,
// and how many.
func TestCompleteVersions(t *testing.T) {
	t.Parallel()
	repo := tagList{tags: []string{"1.9.0", "latest", "1.10.0", "pending-3.0.0", "1.2.0", "denied-1.2.0", "pruned-0.1.0", "denied-4.0.0"}}
	for word, want := range map[string][]string{
		"acme/rocket@":      {"acme/rocket@1.10.0", "acme/rocket@1.9.0"},
		"acme/rocket@1.1":   {"acme/rocket@1.10.0"},
		"oci://r.io/vpc@1.": {"oci://r.io/vpc@1.10.0", "oci://r.io/vpc@1.9.0"},
		"acme/rocket@3":     {},
	} {
		got, err := catalog.CompleteVersions(t.Context(), repo, word, false)
		if diff := cmp.Diff(want, append([]string{}, got...)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", word, err, diff)
		}
	}
	got, err := catalog.CompleteVersions(t.Context(), repo, "acme/rocket@", true)
	if diff := cmp.Diff([]string{"acme/rocket@3.0.0", "acme/rocket@1.10.0", "acme/rocket@1.9.0"}, got); diff != "" || err != nil {
		t.Errorf("pending: %v (-want +got)\n%s", err, diff)
	}
	var many tagList
	for i := range 80 {
		many.tags = append(many.tags, fmt.Sprintf("1.0.%d", i), fmt.Sprintf("0.1.%d", i))
	}
	for word, first := range map[string]string{"a/b@": "a/b@1.0.79", "a/b@0.": "a/b@0.1.79"} {
		if got, err := catalog.CompleteVersions(t.Context(), many, word, false); err != nil || len(got) != 50 || got[0] != first {
			t.Errorf("%s: %d versions: %s, %v", word, len(got), got, err)
		}
	}
}
