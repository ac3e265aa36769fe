// Package git reads one commit from a remote repository with the git program. It
// fetches the commit into a temporary bare repository and reads files as objects. It
// checks nothing out, so filters, attributes, and hooks never run programs. The fetched
// size, the number of files, and the duration are limited while git runs.
package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// defaultMaxPack limits the fetched bytes. Most module repositories are a few
	// megabytes in size, but some contain images and videos.
	defaultMaxPack = 512 << 20
	// defaultMaxContents limits the total size of the files.
	defaultMaxContents = 1 << 30
	// defaultMaxEntries limits the number of files and directories.
	defaultMaxEntries = 100_000
	// defaultTimeout limits the duration of a fetch.
	defaultTimeout = 10 * time.Minute
	// watchInterval is the time between checks of the fetched pack's size. git has no
	// setting that limits this size.
	watchInterval = 20 * time.Millisecond
	// fetched is the ref that points to the commit in the temporary repository.
	fetched = "refs/tofu-oci/fetched"
)

// Options configures [Fetch].
type Options struct {
	// AllowIncomplete omits submodules and returns LFS pointers instead of the content
	// to which they point. If false, commits with submodules or LFS pointers are
	// rejected.
	AllowIncomplete bool
	// MaxPack, MaxContents, MaxEntries, and Timeout override the limits.
	MaxPack, MaxContents int64
	MaxEntries           int
	Timeout              time.Duration
}

// Errors about rejected commits and URLs.
var (
	// ErrLimit means that a repository exceeds a limit.
	ErrLimit = provider.Errorf(provider.Refused, "repository exceeds a limit")
	// ErrUnsafe means that a URL, a ref, or a commit is not safe to use.
	ErrUnsafe = provider.Errorf(provider.Refused, "refused")
	// ErrIncomplete means that a commit has submodules or LFS pointers.
	ErrIncomplete = provider.Errorf(provider.Refused, "the package would be incomplete")
	// ErrAccess means that git has no valid credentials for a repository.
	ErrAccess = provider.Errorf(provider.Denied, "access denied")
)

// Commit is a fetched commit. The caller must close it.
type Commit struct {
	// ID is the full ID of the commit.
	ID string
	// Files contains the files, sorted by their paths.
	Files []File

	blobs blobs
}

// Fetch fetches a commit without its history. ref is a branch, a tag, or a commit ID,
// which can be abbreviated to seven or more digits. If it is empty, Fetch uses the
// repository's default branch. The URL must use https or ssh.
func Fetch(ctx context.Context, at *url.URL, ref string, o Options) (*Commit, error) {
	o = o.withDefaults()
	c := &Commit{}
	err := inScratch(ctx, at, &ref, o.Timeout, func(ctx context.Context, r repository) error {
		return c.fetch(ctx, r, at, ref, o)
	})
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("fetching %s from %s: %w", ref, withoutUser(at), err)
	}
	return c, nil
}

// commitID matches full commit IDs.
var commitID = regexp.MustCompile("^([0-9a-f]{40}|[0-9a-f]{64})$")

// isShortID reports whether a ref can be an abbreviated commit ID.
func isShortID(ref string) bool {
	return len(ref) >= minShortID && len(ref) < 64 && !commitID.MatchString(ref) && strings.Trim(ref, "0123456789abcdef") == ""
}

// minShortID is the minimum length of an abbreviated commit ID.
const minShortID = 7

// fullID returns the commit ID with a prefix. Servers can't resolve prefixes, so fullID
// fetches all commits of branches and tags, without their files if the server permits it.
func fullID(ctx context.Context, at *url.URL, prefix string, limit int64) (id string, err error) {
	dir, err := atomicfile.NewScratchDir("")
	if err != nil {
		return "", fmt.Errorf("creating a temporary directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := repository{dir}
	if _, err := r.run(ctx, "init", "--quiet", "--bare", "--template="); err != nil {
		return "", err
	}
	if err := r.fetch(ctx, at, limit, []string{"--filter=tree:0"}, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); err != nil {
		return "", err
	}
	list, err := r.run(ctx, "rev-parse", "--disambiguate="+prefix)
	if err != nil {
		return "", err
	}
	var commits []string
	for id := range strings.Lines(string(list)) {
		id = strings.TrimSpace(id)
		if kind, err := r.run(ctx, "cat-file", "-t", id); err == nil && strings.TrimSpace(string(kind)) == "commit" {
			commits = append(commits, id)
		}
	}
	switch len(commits) {
	case 0:
		return "", errNoRef
	case 1:
		return commits[0], nil
	}
	return "", provider.Errorf(provider.Misuse, "%d commits have this abbreviated ID; specify the full ID", len(commits))
}

var errNoRef = provider.Errorf(provider.NotFound, "the repository has no such branch, tag, or commit")

// Resolve returns the ID of the commit that [Fetch] would fetch, without fetching it.
func Resolve(ctx context.Context, at *url.URL, ref string) (id string, err error) {
	if commitID.MatchString(ref) {
		return ref, checkURL(at)
	}
	err = inScratch(ctx, at, &ref, defaultTimeout, func(ctx context.Context, r repository) error {
		// git fetch prefers these names in this order. Names with "^{}" refer to the
		// commits of annotated tags.
		var names []string
		for _, prefix := range []string{"", "refs/", "refs/tags/", "refs/heads/"} {
			names = append(names, prefix+ref+"^{}", prefix+ref)
		}
		list, err := r.run(ctx, append([]string{"ls-remote", "--quiet", "--end-of-options", at.String()}, names...)...)
		if err != nil {
			return err
		}
		found := map[string]string{}
		for line := range strings.Lines(string(list)) {
			id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
			found[name] = id
		}
		for _, name := range names {
			if id = found[name]; commitID.MatchString(id) {
				return nil
			}
		}
		if !isShortID(ref) {
			return errNoRef
		}
		id, err = fullID(ctx, at, ref, defaultMaxPack)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("resolving %s in %s: %w", ref, withoutUser(at), err)
	}
	return id, nil
}

// inScratch calls do with a temporary repository and a timeout. If *ref is empty,
// inScratch sets it to HEAD.
func inScratch(ctx context.Context, at *url.URL, ref *string, timeout time.Duration, do func(context.Context, repository) error) error {
	*ref = cmp.Or(*ref, "HEAD")
	if err := errors.Join(checkURL(at), checkRef(*ref)); err != nil {
		return err
	}
	dir, err := atomicfile.NewScratchDir("")
	if err != nil {
		return fmt.Errorf("creating a temporary directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w: git took longer than %s", ErrLimit, timeout))
	defer cancel()
	return do(ctx, repository{dir})
}

// Close removes the temporary file with the contents of Files.
func (c *Commit) Close() {
	if c.blobs.file != nil {
		_ = c.blobs.file.Close()
	}
}

func (c *Commit) fetch(ctx context.Context, r repository, at *url.URL, ref string, o Options) error {
	// 1. Create a repository without hooks.
	if _, err := r.run(ctx, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	// 2. Fetch the commit while watching its size.
	err := r.fetch(ctx, at, o.MaxPack, []string{"--depth=1"}, "+"+ref+":"+fetched)
	if err != nil && ctx.Err() == nil && isShortID(ref) {
		id, failed := fullID(ctx, at, ref, o.MaxPack)
		if failed != nil {
			return failed
		}
		err = r.fetch(ctx, at, o.MaxPack, []string{"--depth=1"}, "+"+id+":"+fetched)
	}
	if err != nil {
		return err
	}
	id, err := r.run(ctx, "rev-parse", "--verify", "--end-of-options", fetched+"^{commit}")
	if err != nil {
		return err
	}
	c.ID = strings.TrimSpace(string(id))
	// 3. Read the files.
	t, err := r.list(ctx, c.ID, o)
	if err != nil {
		return err
	}
	if c.blobs, err = r.readBlobs(ctx, t); err != nil {
		return err
	}
	c.Files, err = t.packed(c.blobs, o)
	return err
}

// fetch downloads refs and stops git if the repository exceeds limit bytes.
func (r repository) fetch(ctx context.Context, at *url.URL, limit int64, options []string, refs ...string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(watchInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if r.size() > limit {
					cancel(fmt.Errorf("%w: the fetched commit exceeds %d bytes", ErrLimit, limit))
				}
			case <-done:
				return
			}
		}
	}()
	arguments := slices.Concat([]string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"}, options,
		[]string{"--end-of-options", at.String()}, refs)
	_, err := r.run(ctx, arguments...)
	close(done)
	<-watched
	if err == nil && r.size() > limit {
		return fmt.Errorf("%w: the fetched commit exceeds %d bytes", ErrLimit, limit)
	}
	return err
}

// size returns the size of the repository's files in bytes.
func (r repository) size() (total int64) {
	_ = filepath.WalkDir(r.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // git has renamed or removed the file
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

func (o Options) withDefaults() Options {
	o.MaxPack = cmp.Or(o.MaxPack, defaultMaxPack)
	o.MaxContents = cmp.Or(o.MaxContents, defaultMaxContents)
	o.MaxEntries = cmp.Or(o.MaxEntries, defaultMaxEntries)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	return o
}

// checkURL accepts only https and ssh URLs. It rejects credentials, because other users
// can read the arguments of a process. In an https URL, even the user name can be a
// token.
func checkURL(at *url.URL) error {
	_, hasPassword := at.User.Password()
	switch {
	case at.Scheme != "https" && at.Scheme != "ssh":
		return fmt.Errorf("%w: git transport %q; only https and ssh are supported", ErrUnsafe, at.Scheme)
	case at.Hostname() == "" || strings.HasPrefix(at.Hostname(), "-") || strings.HasPrefix(at.User.Username(), "-"):
		return fmt.Errorf("%w: invalid host in the git URL %s", ErrUnsafe, withoutUser(at))
	case hasPassword || at.Scheme == "https" && at.User != nil:
		return fmt.Errorf("%w: the git URL %s contains credentials; use a git credential helper", ErrUnsafe, withoutUser(at))
	}
	return nil
}

// withoutUser returns a URL without user information, for messages.
func withoutUser(at *url.URL) string {
	shown := *at
	shown.User = nil
	return shown.String()
}

// checkRef rejects names that git would interpret as an option, a pattern, or more than
// one ref. See git-check-ref-format(1).
func checkRef(ref string) error {
	isInvalid := strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "/") || strings.HasSuffix(ref, "/") ||
		strings.HasSuffix(ref, ".lock") || strings.Contains(ref, "..") || strings.Contains(ref, "@{") ||
		strings.ContainsFunc(ref, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`:?*[\^~+`, r) })
	if isInvalid {
		return fmt.Errorf("%w: invalid git ref %q", ErrUnsafe, ref)
	}
	return nil
}
