package repository_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// twice duplicates the first platform's entry of an index.
func twice(index string) string {
	var x ocispec.Index
	if err := json.Unmarshal([]byte(index), &x); err != nil {
		return index
	}
	x.Manifests = append(x.Manifests, x.Manifests[0])
	data, err := json.Marshal(x)
	if err != nil {
		return index
	}
	return string(data)
}

// TestCopyDuplicatePlatform checks that Copy rejects a source index with two entries for one
// platform, and replaces such an index only with Force.
func TestCopyDuplicatePlatform(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		from.fill(t)
		to.edited(t, tag, twice)
		before := to.state(t)
		_, err := from.copyTo(t, to, repository.CopyOptions{})
		conflict, ok := errors.AsType[*repository.ConflictError](err)
		if !ok || len(conflict.Reasons) != 1 || !strings.Contains(conflict.Reasons[0], "more than one manifest for "+haiku.String()) || to.state(t) != before {
			t.Fatalf("got %v", err)
		}
		from.wantCopied(t, to, repository.CopyOptions{Force: true})

		odd := newEnd(t, nil)
		odd.edited(t, tag, twice)
		_, err = odd.copyTo(t, to, repository.CopyOptions{Force: true})
		if format, ok := errors.AsType[*artifact.FormatError](err); !ok || !strings.Contains(format.Problem, "more than one manifest") {
			t.Errorf("got %v", err)
		}
	})
}
