package access_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// watched is a file of rules. It records reloads.
type watched struct {
	*access.Watched[access.Rules]
	path string

	mu       sync.Mutex
	reported []error
}

// watch writes a file and opens it. It must be called in a testing/synctest bubble.
func watch(t *testing.T, text string) *watched {
	t.Helper()
	w := &watched{path: filepath.Join(t.TempDir(), "rules.hcl")}
	w.write(t, text)
	var err error
	w.Watched, err = access.Open(w.path, access.Options{Reloaded: func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.reported = append(w.reported, err)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// write replaces the file. It sets the modification time to one minute before the
// bubble's current time.
func (w *watched) write(t *testing.T, text string) {
	t.Helper()
	next := w.path + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.age(t, next, time.Minute)
	if err := os.Rename(next, w.path); err != nil {
		t.Fatal(err)
	}
}

func (w *watched) age(t *testing.T, path string, age time.Duration) {
	t.Helper()
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-age)); err != nil {
		t.Fatal(err)
	}
}

// after waits for the next check of the file and returns the reported results.
func (w *watched) after() []error {
	time.Sleep(2 * time.Second)
	w.Get()
	w.mu.Lock()
	defer w.mu.Unlock()
	reported := w.reported
	w.reported = nil
	return reported
}

func withToken(token string) string {
	return "token \"ci\" {\n  sha256 = \"" + hashed(token) + "\"\n  allow = [\"acme/*\"]\n}\n"
}

func TestReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, withToken(ciToken))
		is(t, w.Get(), ciToken, "ci", "rocket", nil)
		if reported := w.after(); reported != nil {
			t.Errorf("unchanged file: got reports %v", reported)
		}
		// 1. The file contains a different token, but has the same size.
		w.write(t, withToken(devToken))
		is(t, w.Get(), devToken, "", "", access.ErrInvalidToken) // not checked yet
		if reported := w.after(); len(reported) != 1 || reported[0] != nil {
			t.Errorf("got reports %v", reported)
		}
		is(t, w.Get(), devToken, "ci", "rocket", nil)
		is(t, w.Get(), ciToken, "", "", access.ErrInvalidToken)
		if err := os.Rename(w.path, w.path+".away"); err != nil {
			t.Fatal(err)
		}
		if reported := w.after(); len(reported) != 1 || !errors.Is(reported[0], fs.ErrNotExist) {
			t.Errorf("got reports %v", reported)
		}
		if err := os.Rename(w.path+".away", w.path); err != nil {
			t.Fatal(err)
		}
		if reported := w.after(); len(reported) != 1 || reported[0] != nil {
			t.Errorf("restored file: got reports %v", reported)
		}
		// 2. An error is reported once, and the previous rules remain in force.
		w.write(t, "token \"ci\" {\n")
		reported := w.after()
		if len(reported) != 1 || !strings.Contains(reported[0].Error(), "rules.hcl:1:12: Unclosed") {
			t.Errorf("got reports %v", reported)
		}
		if _, ok := errors.AsType[*stricthcl.Error](reported[0]); !ok {
			t.Errorf("got report %T", reported[0])
		}
		is(t, w.Get(), devToken, "ci", "rocket", nil)
		if reported := w.after(); reported != nil {
			t.Errorf("got reports %v again", reported)
		}
		// 3. The file is removed and restored.
		if err := os.Remove(w.path); err != nil {
			t.Fatal(err)
		}
		if reported := w.after(); len(reported) != 1 || !errors.Is(reported[0], fs.ErrNotExist) {
			t.Errorf("got reports %v", reported)
		}
		is(t, w.Get(), devToken, "ci", "rocket", nil)
		w.write(t, withToken(devToken))
		if reported := w.after(); len(reported) != 1 || reported[0] != nil {
			t.Errorf("got reports %v", reported)
		}
		if reported := w.after(); reported != nil {
			t.Errorf("unchanged file: got reports %v", reported)
		}
		is(t, w.Get(), devToken, "ci", "rocket", nil)
		// 4. A different file has the same size and modification time.
		info, err := os.Stat(w.path)
		if err != nil {
			t.Fatal(err)
		}
		w.write(t, withToken(ciToken))
		if err := os.Chtimes(w.path, time.Time{}, info.ModTime()); err != nil {
			t.Fatal(err)
		}
		if reported := w.after(); len(reported) != 1 || reported[0] != nil {
			t.Errorf("got reports %v", reported)
		}
		is(t, w.Get(), ciToken, "ci", "rocket", nil)
	})
}

// TestFileWrittenInPlace checks two changes within the time resolution of the file system.
func TestFileWrittenInPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, withToken(ciToken))
		for _, token := range []string{devToken, ciToken} {
			if err := os.WriteFile(w.path, []byte(withToken(token)), 0o600); err != nil {
				t.Fatal(err)
			}
			w.age(t, w.path, 0)
			time.Sleep(time.Second)
			w.age(t, w.path, time.Second)
			if reported := w.after(); len(reported) != 1 || reported[0] != nil {
				t.Errorf("got reports %v", reported)
			}
			is(t, w.Get(), token, "ci", "rocket", nil)
		}
		// The next writes keep the modification time and size of the recently read
		// file.
		now := time.Now()
		for i, token := range []string{devToken, ciToken} {
			if err := os.WriteFile(w.path, []byte(withToken(token)), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(w.path, time.Time{}, now.Add(2*time.Second)); err != nil {
				t.Fatal(err)
			}
			if reported := w.after(); len(reported) != 1 || reported[0] != nil {
				t.Errorf("%d: reported %v", i, reported)
			}
		}
	})
}

// TestReloadFailsClosed checks that an empty or truncated file never grants access.
func TestReloadFailsClosed(t *testing.T) {
	t.Parallel()
	host := "host \"tofu.example.com\" { repository = \"ghcr.io/acme/{type}\" }\n"
	for name, test := range map[string]struct {
		text     string
		accepted bool
	}{
		"empty":         {"", false},
		"blank":         {"\n \n", false},
		"only comments": {"# " + strings.ReplaceAll(withToken(ciToken), "\n", "\n# "), false},
		"only a host":   {host, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, withToken(ciToken))
				w.write(t, test.text)
				reported := w.after()
				if len(reported) != 1 || (reported[0] == nil) != test.accepted {
					t.Errorf("got reports %v", reported)
				}
				is(t, w.Get(), "", "", "", access.ErrNoToken)
				if test.accepted {
					is(t, w.Get(), ciToken, "", "", access.ErrInvalidToken)
				} else {
					is(t, w.Get(), ciToken, "ci", "rocket", nil)
				}
				w.write(t, "anonymous { allow = [\"*/*/*\"] }\n")
				if reported := w.after(); len(reported) != 1 || reported[0] != nil {
					t.Errorf("got reports %v", reported)
				}
				is(t, w.Get(), "", "", "null rocket secret", nil)
			})
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := access.Open(filepath.Join(dir, "none"), access.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(dir, "rules.hcl")
	if err := os.WriteFile(path, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := access.Open(path, access.Options{}); err == nil || !strings.Contains(err.Error(), "exceeds 1048576 bytes") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := access.Open(path, access.Options{})
	if e, ok := errors.AsType[*stricthcl.Error](err); !ok || e.File != path {
		t.Errorf("got %v", err)
	}
}

// TestConcurrentReload reads the rules while the file changes, for the race detector.
func TestConcurrentReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, withToken(ciToken))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 20 {
					if w.Get().AllowAll() {
						t.Error("everything is allowed")
					}
					time.Sleep(time.Second)
				}
			})
		}
		for i := range 10 {
			w.write(t, withToken([]string{devToken, ciToken}[i%2]))
			time.Sleep(2 * time.Second)
		}
		all.Wait()
	})
}
