package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// content contains manifests by name. Blobs have only a name.
type content map[string]artifact.Blob

// add adds a manifest that refers to other content by name.
func (c content) add(t *testing.T, name string, refersTo ...string) {
	t.Helper()
	var m struct {
		Name      string               `json:"name"`
		Manifests []ocispec.Descriptor `json:"manifests"`
		Layers    []ocispec.Descriptor `json:"layers"`
	}
	m.Name = name
	for _, other := range refersTo {
		if manifest, ok := c[other]; ok {
			m.Manifests = append(m.Manifests, manifest.Descriptor)
		} else {
			m.Layers = append(m.Layers, ocispec.Descriptor{Digest: digest.FromString(other), Size: 1})
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	c[name] = artifact.Blob{Descriptor: ocispec.Descriptor{Digest: digest.FromBytes(data), Size: int64(len(data))}, Bytes: data}
}

// walker returns a walker that appends the names of visited content to visited.
func (c content) walker(visited *[]string, blobs ...string) *walker {
	names := map[digest.Digest]string{}
	for name, m := range c {
		names[m.Descriptor.Digest] = name
	}
	for _, name := range blobs {
		names[digest.FromString(name)] = name
	}
	visit := func(d digest.Digest) error {
		*visited = append(*visited, names[d])
		return nil
	}
	return &walker{
		concurrency: 1,
		read: func(_ context.Context, d ocispec.Descriptor, _ bool) (node, error) {
			if strings.HasPrefix(names[d.Digest], "lost") {
				return node{}, fmt.Errorf("%s: %w", names[d.Digest], ErrNotFound)
			}
			return newNode(c[names[d.Digest]])
		},
		manifest: func(_ context.Context, m artifact.Blob) error { return visit(m.Descriptor.Digest) },
		blob:     func(_ context.Context, d ocispec.Descriptor) error { return visit(d.Digest) },
	}
}

// TestWalk checks that a walk visits everything once, and a manifest after everything that
// it refers to.
func TestWalk(t *testing.T) {
	t.Parallel()
	c := content{}
	c.add(t, "shared", "x", "y")
	c.add(t, "one", "shared", "z")
	c.add(t, "two", "x")
	c.add(t, "root", "one", "two", "shared", "one", "config")
	var visited []string
	w := c.walker(&visited, "x", "y", "z", "config")
	if err := w.visitAll(t.Context(), []ocispec.Descriptor{c["root"].Descriptor, c["two"].Descriptor}, maxIndexDepth); err != nil {
		t.Fatal(err)
	}
	want := []string{"x", "y", "shared", "z", "one", "two", "config", "root"}
	if diff := cmp.Diff(want, visited); diff != "" {
		t.Errorf("visited (-want +got):\n%s", diff)
	}
	if len(w.subjects) != 4 {
		t.Errorf("subjects: %v", w.subjects)
	}
}

// TestWalkLimits checks the limits of a walk.
func TestWalkLimits(t *testing.T) {
	t.Parallel()
	c := content{}
	c.add(t, "a")
	c.add(t, "b", "a")
	c.add(t, "c", "b")
	c.add(t, "d", "c")
	c.add(t, "e", "d")
	for name, test := range map[string]struct {
		root string
		most int64
		want string
	}{
		"depth":             {"d", 0, ""},
		"too deep":          {"e", 0, "nested too deeply"},
		"manifests":         {"d", 4, ""},
		"too many":          {"d", 3, "more than 3 manifests"},
		"only one manifest": {"a", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := c.walker(new([]string))
			w.maxManifests = test.most
			err := w.visit(t.Context(), c[test.root].Descriptor, maxIndexDepth, false)
			if test.want == "" && err != nil || test.want != "" && (!isFormat(err) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestWalkMissing checks that a missing referrer is skipped, but not a missing manifest that
// an index refers to.
func TestWalkMissing(t *testing.T) {
	t.Parallel()
	c := content{}
	c.add(t, "lost")
	c.add(t, "whole", "x")
	c.add(t, "broken", "lost")
	var visited []string
	w := c.walker(&visited, "x")
	invalid := ocispec.Descriptor{Digest: "sha256:x"}
	entries, err := w.visitEntries(t.Context(), []ocispec.Descriptor{c["lost"].Descriptor, invalid, c["whole"].Descriptor})
	if err != nil || len(entries) != 1 || entries[0].Digest != c["whole"].Descriptor.Digest {
		t.Errorf("got %v, %v", entries, err)
	}
	if diff := cmp.Diff([]string{"x", "whole"}, visited); diff != "" {
		t.Errorf("visited (-want +got):\n%s", diff)
	}
	_, err = w.visitEntries(t.Context(), []ocispec.Descriptor{c["broken"].Descriptor})
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "reading the referrer "+c["broken"].Descriptor.Digest.String()) {
		t.Errorf("got %v", err)
	}
}
