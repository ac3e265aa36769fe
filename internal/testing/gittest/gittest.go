// Package gittest creates git repositories, including hostile ones, and serves them over
// HTTP with git http-backend.
package gittest

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Modes of entries in a commit.
const (
	File       = "100644"
	Executable = "100755"
	Link       = "120000"
	Submodule  = "160000"
	Tree       = "40000"
)

// Entry is a file, link, or submodule in a commit.
type Entry struct {
	Path string
	// Mode is the mode of the entry. If empty, the mode [File] is used.
	Mode string
	// Content is the content of a file, the target of a link, or the ID of a
	// submodule.
	Content string
}

// Repository is a bare repository.
type Repository struct{ Dir string }

// New creates a bare repository in a directory.
func New(ctx context.Context, dir string) (Repository, error) {
	r := Repository{dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	_, err := r.Git(ctx, "", "init", "--quiet", "--bare", "--template=", "--initial-branch=main")
	return r, err
}

// Git runs git in the repository and returns its output without the final newline.
func (r Repository) Git(ctx context.Context, stdin string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", arguments...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_DIR="+r.Dir, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(arguments, " "), err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// Commit creates a commit, and points the branch main and the given tags to it. It
// accepts entries that git itself would reject. It returns the ID of the commit.
func (r Repository) Commit(ctx context.Context, entries []Entry, tags ...string) (string, error) {
	tree, err := r.tree(ctx, entries)
	if err != nil {
		return "", err
	}
	id, err := r.Git(ctx, "", "commit-tree", "-m", "test", tree)
	if err != nil {
		return "", err
	}
	return id, r.Point(ctx, id, append(tags, "refs/heads/main")...)
}

// Point points refs to a commit. Names without a slash are tags.
func (r Repository) Point(ctx context.Context, id string, refs ...string) error {
	for _, ref := range refs {
		if !strings.HasPrefix(ref, "refs/") {
			ref = "refs/tags/" + ref
		}
		if _, err := r.Git(ctx, "", "update-ref", ref, id); err != nil {
			return err
		}
	}
	return nil
}

// tree writes a tree object and the objects below it.
func (r Repository) tree(ctx context.Context, entries []Entry) (string, error) {
	below := map[string][]Entry{}
	ids := map[string]Entry{} // Content is the ID of the object
	for _, e := range entries {
		first, rest, nested := strings.Cut(e.Path, "/")
		if nested {
			below[first] = append(below[first], Entry{rest, e.Mode, e.Content})
			continue
		}
		if e.Mode == "" {
			e.Mode = File
		}
		if e.Mode != Submodule && e.Mode != Tree {
			id, err := r.Git(ctx, e.Content, "hash-object", "-w", "--stdin")
			if err != nil {
				return "", err
			}
			e.Content = id
		}
		ids[first] = e
	}
	for name, inner := range below {
		id, err := r.tree(ctx, inner)
		if err != nil {
			return "", err
		}
		ids[name] = Entry{name, Tree, id}
	}
	return r.WriteTree(ctx, ids)
}

// WriteTree writes a tree object. The content of each entry is the ID of an object.
func (r Repository) WriteTree(ctx context.Context, entries map[string]Entry) (string, error) {
	var names []string
	for name, e := range entries {
		if e.Mode == Tree {
			name += "/" // git's order
		}
		names = append(names, name)
	}
	slices.Sort(names)
	var object strings.Builder
	for _, name := range names {
		name = strings.TrimSuffix(name, "/")
		raw, err := hex.DecodeString(entries[name].Content)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&object, "%s %s\x00%s", entries[name].Mode, name, raw)
	}
	return r.Git(ctx, object.String(), "hash-object", "-t", "tree", "-w", "--stdin", "--literally")
}

// Environment makes git trust a CA, whose certificate it writes to a directory, and hides
// the user's configuration. Call it before tests start.
func Environment(dir string, ca []byte) error {
	file := filepath.Join(dir, "ca.pem")
	err := os.WriteFile(file, ca, 0o600)
	for name, value := range map[string]string{"GIT_SSL_CAINFO": file, "GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1"} {
		err = errors.Join(err, os.Setenv(name, value))
	}
	return err
}

// Handler serves the repositories below a directory. Clients can fetch any commit by
// its ID, as on common Git hosts.
func Handler(ctx context.Context, dir string) (http.Handler, error) {
	out, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, err
	}
	return &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_0=true",
		},
	}, nil
}
