package faults_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// graph reads a repository without using the program. It returns the content for a tag
// or digest, or nil if the content does not exist.
type graph func(reference string) []byte

func checkRegistry(t *testing.T, w *world, all bool) {
	t.Helper()
	w.checkTags(t, w.registry.Tags(t, repositoryName), all, func(reference string) []byte {
		if manifest := w.registry.Manifest(t, repositoryName, reference); manifest != nil {
			return manifest
		}
		return w.registry.Blob(repositoryName, reference)
	})
}

func checkLayout(t *testing.T, w *world, all bool) {
	t.Helper()
	var index ocispec.Index
	text, err := os.ReadFile(filepath.Join(w.layout, "index.json"))
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil && (!os.IsNotExist(err) || all) {
		t.Fatal(err)
	}
	named := map[string]string{}
	var tags []string
	for _, d := range index.Manifests {
		tag := d.Annotations[ocispec.AnnotationRefName]
		tags, named[tag] = append(tags, tag), d.Digest.Encoded()
	}
	file := func(hex string) []byte {
		content, err := os.ReadFile(filepath.Join(w.layout, "blobs", "sha256", hex))
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
		return content
	}
	w.checkTags(t, tags, all, func(reference string) []byte {
		if hex, isTag := named[reference]; isTag {
			return file(hex)
		}
		return file(strings.TrimPrefix(reference, "sha256:"))
	})
	// Clients could read a blob with wrong content even if no tag refers to it.
	entries, _ := os.ReadDir(filepath.Join(w.layout, "blobs", "sha256"))
	for _, entry := range entries {
		if got := digest.FromBytes(file(entry.Name())).Encoded(); got != entry.Name() && !isTemporary(entry.Name()) {
			t.Errorf("blob %s has the bytes of %s", entry.Name(), got)
		}
	}
}

// checkTags verifies that every tag's graph is complete. If all is set, it also
// verifies that all tags exist.
func (w *world) checkTags(t *testing.T, tags []string, all bool, g graph) {
	t.Helper()
	for _, tag := range tags {
		if !slices.Contains(w.goods.versions(), tag) {
			t.Errorf("unexpected tag %q", tag)
		}
		w.checkTag(t, tag, all, g)
	}
	if all && len(tags) != len(w.goods.versions()) {
		t.Errorf("the tags are %q", tags)
	}
}

func (w *world) checkTag(t *testing.T, tag string, all bool, g graph) {
	t.Helper()
	var index ocispec.Index
	if err := json.Unmarshal(g(tag), &index); err != nil {
		t.Errorf("the index of %s: %v", tag, err)
	}
	if len(index.Manifests) == 0 || all && len(index.Manifests) != len(platforms) {
		t.Errorf("%s has %d manifests", tag, len(index.Manifests))
	}
	for _, d := range index.Manifests {
		var manifest ocispec.Manifest
		if err := json.Unmarshal(g.content(t, tag, d), &manifest); err != nil {
			t.Errorf("%s: a manifest: %v", tag, err)
			continue
		}
		p := provider.Platform{OS: d.Platform.OS, Arch: d.Platform.Architecture}
		wanted, known := w.goods.find(func(x good) bool { return x.version == tag && x.platform == p })
		for i, layer := range append(manifest.Layers, manifest.Config) {
			if content := g.content(t, tag, layer); i == 0 && (!known || !bytes.Equal(content, wanted.zip)) {
				t.Errorf("%s for %s has another zip", tag, p)
			}
		}
	}
}

// content verifies and returns a descriptor's content.
func (g graph) content(t *testing.T, tag string, d ocispec.Descriptor) []byte {
	t.Helper()
	content := g(d.Digest.String())
	if digest.FromBytes(content) != d.Digest || int64(len(content)) != d.Size {
		t.Errorf("%s lacks %s, or has it with other bytes", tag, d.Digest)
	}
	return content
}

func checkZips(t *testing.T, w *world, all bool) {
	t.Helper()
	found := 0
	for path, content := range filesIn(t, w.output) {
		g, known := w.goods.find(func(g good) bool { return g.filename() == path })
		if !known || !bytes.Equal(g.zip, content) {
			t.Errorf("%s has %d wrong bytes", path, len(content))
		}
		found++
	}
	if all && found != len(w.goods) {
		t.Errorf("%d zips are there", found)
	}
}

func checkUnpacked(t *testing.T, w *world, all bool) {
	t.Helper()
	found := map[string]bool{}
	for path, content := range filesIn(t, w.output) {
		if !strings.Contains(path, string(filepath.Separator)) && strings.HasPrefix(path, ".tofu-oci") {
			continue // cached facts about zips
		}
		g, known := w.goods.find(func(g good) bool { return filepath.Join(g.unpacked(""), g.binary()) == path })
		if !known || !bytes.Equal(g.executable, content) {
			t.Errorf("%s has %d wrong bytes", path, len(content))
		}
		found[path] = true
	}
	// A directory that has its final name must contain the executable.
	for _, g := range w.goods {
		_, err := os.Stat(g.unpacked(w.output))
		there := found[filepath.Join(g.unpacked(""), g.binary())]
		if there != (err == nil) || all && !there {
			t.Errorf("%s: %v, its executable is there: %v", g.unpacked(""), err, there)
		}
	}
}

// filesIn returns all files below a directory, except temporary files.
func filesIn(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case isTemporary(entry.Name()) && entry.IsDir():
			return fs.SkipDir
		case isTemporary(entry.Name()) || entry.IsDir():
			return nil
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = content
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	return files
}

// checkTemporary verifies that no temporary files remain.
func (w *world) checkTemporary(t *testing.T) {
	t.Helper()
	_ = filepath.WalkDir(filepath.Dir(w.temp), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && (isTemporary(entry.Name()) || filepath.Dir(path) == w.temp) {
			t.Errorf("%s was left", path)
		}
		return nil
	})
}

func isTemporary(name string) bool { return strings.HasSuffix(name, ".tmp") }
