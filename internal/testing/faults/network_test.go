package faults_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// checkNetwork verifies that a network mirror lists only files that exist.
func checkNetwork(t *testing.T, w *world, all bool) {
	t.Helper()
	files := filesIn(t, w.output)
	dir := filepath.Join("localhost", "acme", "thing")
	for path, content := range files {
		g, known := w.goods.find(func(g good) bool { return filepath.Join(dir, g.filename()) == path })
		if filepath.Ext(path) == ".zip" && (!known || !bytes.Equal(g.zip, content)) {
			t.Errorf("%s has %d wrong bytes", path, len(content))
		}
	}
	var index struct{ Versions map[string]struct{} }
	decodeFile(t, files, filepath.Join(dir, "index.json"), all, &index)
	listed := 0
	for version := range index.Versions {
		var list struct {
			Archives map[string]struct {
				URL    string
				Hashes []string
			}
		}
		decodeFile(t, files, filepath.Join(dir, version+".json"), true, &list)
		for platform, archive := range list.Archives {
			zip := files[filepath.Join(dir, archive.URL)]
			h1, err := origintest.H1(bytes.NewReader(zip), int64(len(zip)))
			if want := []string{h1, sums.ZH(digest.FromBytes(zip))}; err != nil || !slices.Equal(archive.Hashes, want) {
				t.Errorf("%s.json has %v for %s, want %v (%v)", version, archive.Hashes, platform, want, err)
			}
			listed++
		}
		if len(list.Archives) == 0 {
			t.Errorf("%s has no archives", version)
		}
	}
	if all && listed != len(w.goods) {
		t.Errorf("%d zips are listed, want %d", listed, len(w.goods))
	}
}

// decodeFile decodes a document. If must is not set, the document can be missing.
func decodeFile(t *testing.T, files map[string][]byte, name string, must bool, into any) {
	t.Helper()
	content, there := files[name]
	if !there && !must {
		return
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
