package pull_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
)

const documentStem = "terraform-provider-x_1.2.0"

// documented is a source with one package and documents.
type documented struct {
	release   provider.Release
	zip       []byte
	referrers []provider.Document
	loadErr   error
}

func newDocumented(t *testing.T) *documented {
	t.Helper()
	s := &documented{zip: sinkZip(t, "one", "terraform-provider-x_v1.2.0")}
	p := sinkPackage(t, s.zip)
	p.Documents = []provider.Document{{Name: documentStem + "_plan9_riscv64.spdx.json", Size: 6, Content: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("loaded")), s.loadErr
	}}} // documents without content are fetched
	s.release = provider.Release{
		Address: p.Address, Version: p.Version, Packages: []provider.Package{p},
		Documents: []provider.Document{
			provider.Document{Name: documentStem + "_SHA256SUMS"}.WithBytes([]byte("sums")),
			provider.Document{Name: documentStem + "_SHA256SUMS.sig"}.WithBytes([]byte("sig")),
		},
	}
	s.referrers = []provider.Document{provider.Document{Name: "terraform-provider-x.intoto.jsonl"}.WithBytes([]byte("{}\n"))}
	return s
}

func (s *documented) Versions(context.Context, provider.Address) ([]provider.Version, error) {
	return []provider.Version{s.release.Version}, nil
}

func (s *documented) Release(context.Context, provider.Address, provider.Version, ...provider.Platform) (provider.Release, error) {
	return s.release, nil
}

func (s *documented) Open(context.Context, provider.Package) (io.ReadCloser, int64, error) {
	return io.NopCloser(bytes.NewReader(s.zip)), int64(len(s.zip)), nil
}

func (s *documented) Capabilities() provider.Capabilities {
	return provider.Capabilities{Documents: func(context.Context, provider.Release) ([]provider.Document, error) { return s.referrers, nil }}
}

// pull pulls the package with its documents.
func (s *documented) pull(t *testing.T, layout pull.Layout, dir string) ([]pull.Result, error) {
	t.Helper()
	sink, err := pull.NewSink(layout, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pull.Release(t.Context(), s, sink, s.release.Address, s.release.Version, pull.Options{
		Platforms: []provider.Platform{s.release.Packages[0].Platform}, Documents: true,
	})
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for layout, parent := range map[pull.Layout]string{pull.LayoutZip: "", pull.LayoutPacked: sinkParent} {
		t.Run(string(layout), func(t *testing.T) {
			t.Parallel()
			s, dir := newDocumented(t), t.TempDir()
			stem := parent + documentStem
			want := map[string]string{
				parent + sinkZipName: string(s.zip), stem + "_SHA256SUMS": "sums", stem + "_SHA256SUMS.sig": "sig",
				stem + "_plan9_riscv64.spdx.json": "loaded", parent + "terraform-provider-x.intoto.jsonl": "{}\n",
			}
			results, err := s.pull(t, layout, dir)
			if err != nil {
				t.Fatal(err)
			}
			checkSinkFiles(t, dir, want)
			var paths []string
			for _, name := range []string{documentStem + "_plan9_riscv64.spdx.json", documentStem + "_SHA256SUMS", documentStem + "_SHA256SUMS.sig", "terraform-provider-x.intoto.jsonl"} {
				paths = append(paths, filepath.Join(dir, filepath.FromSlash(parent), name))
			}
			if diff := cmp.Diff(paths, results[0].Documents); diff != "" || len(results[0].Skipped) != 0 {
				t.Errorf("skipped %v, documents (-want +got):\n%s", results[0].Skipped, diff)
			}
			// An existing file with the same content is kept.
			path := paths[1]
			before, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.pull(t, layout, dir); err != nil {
				t.Fatal(err)
			}
			after, err := os.Stat(path)
			if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
				t.Errorf("the file was written again, %v", err)
			}
			checkSinkFiles(t, dir, want)
		})
	}
}

// TestDocumentsNeverOverwrite checks that existing files with different content are
// kept, whether they are shorter or longer.
func TestDocumentsNeverOverwrite(t *testing.T) {
	t.Parallel()
	for _, mine := range []string{"mine", "sum", "sums and more", ""} {
		s, dir := newDocumented(t), t.TempDir()
		path := filepath.Join(dir, documentStem+"_SHA256SUMS")
		if err := os.WriteFile(path, []byte(mine), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.pull(t, pull.LayoutZip, dir)
		if !errors.Is(err, pull.ErrExists) || !strings.Contains(err.Error(), "writing documents: "+path+" has different content; move it or choose another directory") {
			t.Errorf("%q: %v", mine, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != mine {
			t.Errorf("got %q afterwards, %v", got, err)
		}
	}
}

// TestDocumentsOfOtherNames checks that documents with unconventional names are not
// written. The names are not verified, so they must not refer to a different directory,
// a package, or a configuration.
func TestDocumentsOfOtherNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"../outside", "a/b", `a\b`, "", ".", "..", ".tofurc", "-rf", "NUL", "a:b", "SHA256SUMS", "terraform-provider-y_1.2.0_SHA256SUMS",
		sinkZipName, "terraform-provider-x_9.9.9_plan9_riscv64.ZIP", "terraform-provider-x/../../outside",
	} {
		parent := t.TempDir()
		s, dir := newDocumented(t), filepath.Join(parent, "dir")
		s.release.Packages[0].Documents, s.referrers = nil, nil
		s.release.Documents = []provider.Document{provider.Document{Name: name}.WithBytes([]byte("x"))}
		results, err := s.pull(t, pull.LayoutZip, dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{name}, results[0].Skipped); diff != "" || len(results[0].Documents) != 0 {
			t.Errorf("%q: written %v, skipped (-want +got):\n%s", name, results[0].Documents, diff)
		}
		checkSinkFiles(t, parent, map[string]string{"dir/" + sinkZipName: string(s.zip)})
	}
}

func TestUnreadableDocuments(t *testing.T) {
	t.Parallel()
	s := newDocumented(t)
	s.loadErr = errors.New("fetching x.spdx.json: gone")
	if _, err := s.pull(t, pull.LayoutZip, t.TempDir()); err == nil || err.Error() != "pulling "+s.release.Address.String()+" 1.2.0: fetching x.spdx.json: gone" {
		t.Errorf("got %v", err)
	}
}
