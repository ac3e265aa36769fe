package git_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/git"
	"github.com/tofu-oci/tofu-oci/internal/testing/gittest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var ca *testca.CA

// TestMain makes git trust the test CA, and hides the user's configuration.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if ca, err = testca.New(); err != nil {
			panic(err)
		}
		dir, err := os.MkdirTemp("", "git-test")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		if err := errors.Join(gittest.Environment(dir, ca.PEM()), os.Setenv("TMPDIR", dir)); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// world is a repository that is served over HTTPS.
type world struct {
	repo gittest.Repository
	url  *url.URL
}

// newWorld serves an empty repository. wrap, if not nil, decorates the server.
func newWorld(t *testing.T, wrap func(http.Handler) http.Handler) world {
	t.Helper()
	patience.SkipIfShort(t)
	dir := t.TempDir()
	repo, err := gittest.New(t.Context(), filepath.Join(dir, "vpc.git"))
	if err != nil {
		t.Fatal(err)
	}
	handler, err := gittest.Handler(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if wrap != nil {
		handler = wrap(handler)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	if server.TLS, err = ca.ServerConfig("127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL + "/vpc.git")
	if err != nil {
		t.Fatal(err)
	}
	return world{repo, at}
}

// commit commits entries under the tag v1.
func (w world) commit(t *testing.T, entries ...gittest.Entry) (id string) {
	t.Helper()
	id, err := w.repo.Commit(t.Context(), entries, "v1")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// fetch downloads a commit and returns the contents of its files. It marks executables
// with a star.
func (w world) fetch(t *testing.T, ref string, o git.Options) (id string, contents map[string]string, err error) {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = patience.Limit
	}
	c, err := git.Fetch(t.Context(), w.url, ref, o)
	if err != nil {
		return "", nil, err
	}
	defer c.Close()
	contents = map[string]string{}
	for _, f := range c.Files {
		text, err := read(t.Context(), f)
		if err != nil {
			return c.ID, nil, err
		}
		if f.Executable {
			f.Path += "*"
		}
		contents[f.Path] = text
	}
	return c.ID, contents, nil
}

func read(ctx context.Context, f git.File) (string, error) {
	r, err := f.Open(ctx)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err == nil && int64(len(text)) != f.Size {
		err = fmt.Errorf("%s has %d bytes, want %d", f.Path, len(text), f.Size)
	}
	return string(text), err
}

func TestFetch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	old := w.commit(t, gittest.Entry{Path: "main.tf", Content: "old"})
	id := w.commit(t,
		gittest.Entry{Path: "main.tf", Content: "new\r\n"},
		gittest.Entry{Path: "a/run.sh", Mode: gittest.Executable, Content: "#!/bin/sh\n"},
		gittest.Entry{Path: "a.tf"},
		gittest.Entry{Path: "a/b/ü.tf", Content: strings.Repeat("x", 1<<20)},
		gittest.Entry{Path: "a/link.tf", Mode: gittest.Link, Content: "../main.tf"},
		gittest.Entry{Path: "a/twice.tf", Mode: gittest.Link, Content: "./link.tf"},
		gittest.Entry{Path: "c", Mode: gittest.Link, Content: "a/b"},
	)
	want := map[string]string{
		"main.tf": "new\r\n", "a/run.sh*": "#!/bin/sh\n", "a.tf": "", "a/b/ü.tf": strings.Repeat("x", 1<<20),
		"a/link.tf": "new\r\n", "a/twice.tf": "new\r\n", "c/ü.tf": strings.Repeat("x", 1<<20),
	}
	if _, err := w.repo.Git(t.Context(), "", "tag", "-a", "-m", "annotated", "v2", id); err != nil {
		t.Fatal(err)
	}
	if _, err := w.repo.Git(t.Context(), "", "branch", "old", old); err != nil { // the commits have no parents
		t.Fatal(err)
	}
	for _, ref := range []string{"", "main", "v1", "v2", "refs/tags/v1", "tags/v2", "heads/main", id} {
		t.Run(ref, func(t *testing.T) {
			t.Parallel()
			got, contents, err := w.fetch(t, ref, git.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got != id {
				t.Errorf("got commit %s, want %s", got, id)
			}
			if resolved, err := git.Resolve(t.Context(), w.url, ref); err != nil || resolved != id {
				t.Errorf("resolved to %s, %v", resolved, err)
			}
			if diff := cmp.Diff(want, contents); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("an old commit", func(t *testing.T) {
		t.Parallel()
		if got, contents, err := w.fetch(t, old, git.Options{}); err != nil || got != old || contents["main.tf"] != "old" {
			t.Errorf("got %s, %v, %v", got, contents, err)
		}
	})
	t.Run("a short ID", func(t *testing.T) {
		t.Parallel()
		for _, short := range []string{old[:7], old[:12], old[:39]} {
			if got, contents, err := w.fetch(t, short, git.Options{}); err != nil || got != old || contents["main.tf"] != "old" {
				t.Errorf("got %s, %v, %v", got, contents, err)
			}
			if resolved, err := git.Resolve(t.Context(), w.url, short); err != nil || resolved != old {
				t.Errorf("resolved to %s, %v", resolved, err)
			}
		}
		const missing = "0123456"
		if _, _, err := w.fetch(t, missing, git.Options{}); provider.KindOf(err) != provider.NotFound {
			t.Errorf("got %v", err)
		}
		if _, err := git.Resolve(t.Context(), w.url, missing); provider.KindOf(err) != provider.NotFound {
			t.Errorf("resolving: %v", err)
		}
	})
	t.Run("a missing ref", func(t *testing.T) {
		t.Parallel()
		if _, _, err := w.fetch(t, "v3", git.Options{}); provider.KindOf(err) != provider.NotFound {
			t.Errorf("got %v", err)
		}
		if _, err := git.Resolve(t.Context(), w.url, "v3"); provider.KindOf(err) != provider.NotFound {
			t.Errorf("resolving: %v", err)
		}
	})
}

// TestFilesAreReadInAnyOrder checks that files can be opened repeatedly, and can be
// closed before they are read completely.
func TestFilesAreReadInAnyOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.commit(t, gittest.Entry{Path: "a", Content: strings.Repeat("a", 1<<20)}, gittest.Entry{Path: "b", Content: "b"})
	c, err := git.Fetch(t.Context(), w.url, "v1", git.Options{Timeout: patience.Limit})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		f, err := c.Files[0].Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		if text, err := read(t.Context(), c.Files[1]); err != nil || text != "b" {
			t.Errorf("got %q, %v", text, err)
		}
	}
}

// TestCloseRemovesEverything checks that no temporary repository remains.
func TestCloseRemovesEverything(t *testing.T) {
	w := newWorld(t, nil)
	t.Setenv("TMPDIR", t.TempDir())
	w.commit(t, gittest.Entry{Path: "main.tf"})
	for _, ref := range []string{"v1", "missing"} {
		_, _, _ = w.fetch(t, ref, git.Options{})
		_, _ = git.Resolve(t.Context(), w.url, ref)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("got %v, %v", left, err)
	}
}

func TestFetchLimits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arrange func(t *testing.T, w world)
		options git.Options
		want    string
	}{
		"huge pack": {func(t *testing.T, w world) {
			w.commit(t, gittest.Entry{Path: "noise", Content: noise(8 << 20)})
		}, git.Options{MaxPack: 1 << 20}, "the fetched commit exceeds 1048576 bytes"},
		"file that compresses well": {func(t *testing.T, w world) {
			w.commit(t, gittest.Entry{Path: "zeros", Content: strings.Repeat("0", 64<<20)})
		}, git.Options{MaxPack: 1 << 20, MaxContents: 1 << 20}, "the files in the package exceed 1048576 bytes"},
		"many links to one file": {func(t *testing.T, w world) {
			w.commit(t, gittest.Entry{Path: "big", Content: strings.Repeat("0", 600<<10)}, gittest.Entry{Path: "link", Mode: gittest.Link, Content: "big"})
		}, git.Options{MaxContents: 1 << 20}, "the files in the package exceed 1048576 bytes"},
		"nested trees": {bomb, git.Options{}, "more than 100000 files and directories"},
		"slow server":  {nil, git.Options{Timeout: 300 * time.Millisecond}, "git took longer than 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wrap func(http.Handler) http.Handler
			if test.arrange == nil {
				wrap = func(http.Handler) http.Handler {
					return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
				}
				test.arrange = func(*testing.T, world) {}
			}
			w := newWorld(t, wrap)
			test.arrange(t, w)
			_, _, err := w.fetch(t, "main", test.options)
			if !errors.Is(err, git.ErrLimit) || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// bomb commits a few objects whose listing contains a billion files.
func bomb(t *testing.T, w world) {
	t.Helper()
	ctx := t.Context()
	id, err := w.repo.Git(ctx, "x", "hash-object", "-w", "--stdin")
	mode := gittest.File
	for range 9 {
		entries := map[string]gittest.Entry{}
		for i := range 10 {
			entries[fmt.Sprint(i)] = gittest.Entry{Mode: mode, Content: id}
		}
		if err != nil {
			t.Fatal(err)
		}
		id, err = w.repo.WriteTree(ctx, entries)
		mode = gittest.Tree
	}
	if err != nil {
		t.Fatal(err)
	}
	w.commit(t, gittest.Entry{Path: "bomb", Mode: gittest.Tree, Content: id})
}

// noise returns bytes that don't compress.
func noise(size int) string {
	var b strings.Builder
	state := uint32(1)
	for range size {
		state = state*1664525 + 1013904223
		b.WriteByte(byte(state >> 24))
	}
	return b.String()
}
