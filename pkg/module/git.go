package module

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
)

// maxGitOutput limits the size of git's output in bytes. Each file requires about 100
// bytes.
const maxGitOutput = 64 << 20

// workTree describes a directory in a git work tree.
type workTree struct {
	dir string
	// files maps the paths of the tracked files, including those of submodules, to their
	// entries in the index. It is empty outside work trees.
	files map[string]indexEntry
	// missing contains the paths of the submodules that are not checked out.
	missing []string
	// commit is the current commit. It is empty if the repository has no commits.
	commit string
	// modified reports whether tracked files differ from the commit, or can't be
	// compared with it safely.
	modified bool
}

// indexEntry is an entry in git's index.
type indexEntry struct {
	isExecutable, isLink bool
	// hasCRLF reports whether git converted the line endings of the file to CRLF when it
	// was checked out.
	hasCRLF bool
}

// openWorkTree reads git's index and the indexes of submodules. If the directory is not
// in a work tree, or git is not installed, it returns the zero value.
func openWorkTree(ctx context.Context, dir string) (t workTree, err error) {
	if !isInWorkTree(dir) {
		return t, nil
	}
	if _, err := exec.LookPath("git"); err != nil {
		return t, nil // the file system is used instead
	}
	t = workTree{dir: dir, files: map[string]indexEntry{}}
	list, err := t.git(ctx, "ls-files", "-z", "-v", "--stage", "--eol")
	if err != nil {
		return t, err
	}
	for entry := range strings.SplitSeq(list, "\x00") {
		// STATE MODE OBJECT STAGE TAB i/EOL w/EOL attr/ATTRIBUTES TAB PATH
		parts := strings.SplitN(entry, "\t", 3)
		if len(parts) != 3 {
			continue
		}
		state, mode, _ := strings.Cut(parts[0], " ")
		if state != "H" { // git compares neither files outside a sparse checkout nor assume-unchanged files
			t.modified = true
		}
		if strings.HasPrefix(mode, "160000 ") {
			if err := t.addSubmodule(ctx, parts[2]); err != nil {
				return t, err
			}
			continue
		}
		t.files[parts[2]] = indexEntry{
			isExecutable: strings.HasPrefix(mode, "100755 "), isLink: strings.HasPrefix(mode, "120000 "),
			hasCRLF: strings.HasPrefix(parts[1], "i/lf ") && strings.Contains(parts[1], " w/crlf "),
		}
	}
	if t.commit, err = t.git(ctx, "rev-parse", "--quiet", "--verify", "HEAD"); err != nil {
		return t, nil // the repository has no commits yet
	}
	if t.modified {
		return t, nil
	}
	if t.modified, err = t.hasFilters(ctx); t.modified || err != nil {
		return t, err
	}
	changes, err := t.git(ctx, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty", "--", ".")
	t.modified = changes != ""
	return t, err
}

// addSubmodule adds the files of a submodule. git's own functions for submodules are not
// used, because they would obey the configuration of the submodule.
func (t *workTree) addSubmodule(ctx context.Context, name string) error {
	dir := filepath.Join(t.dir, filepath.FromSlash(name))
	if !fs.ValidPath(name) || name == "." || !isRepository(dir) {
		t.missing = append(t.missing, name)
		return nil
	}
	sub, err := openWorkTree(ctx, dir)
	if len(sub.files) == 0 { // for example, after an interrupted clone
		t.missing = append(t.missing, name)
	}
	for file, entry := range sub.files {
		t.files[path.Join(name, file)] = entry
	}
	for _, missing := range sub.missing {
		t.missing = append(t.missing, path.Join(name, missing))
	}
	t.modified = t.modified || sub.modified || sub.commit == ""
	return err
}

// isRepository reports whether dir contains .git. It returns false if dir's path contains
// links, because an index from an unpacked archive could refer to other repositories.
func isRepository(dir string) bool {
	if resolved, err := filepath.EvalSymlinks(dir); err != nil || resolved != dir {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// isUntracked reports whether git doesn't track a file. If git tracks no file of the
// directory, the directory is not part of a repository, even if a parent is.
func (t *workTree) isUntracked(name string) bool {
	_, isTracked := t.files[name]
	return !isTracked && len(t.files) > 0
}

// hasFilters reports whether the repository's configuration contains filters, or
// extensions that the user's Git LFS filter starts. git runs these programs to compare
// files with a commit. The user might not have reviewed the programs, for example if
// the repository comes from an unpacked archive.
func (t *workTree) hasFilters(ctx context.Context) (bool, error) {
	list, err := t.git(ctx, "config", "--list", "--name-only", "--show-scope")
	for line := range strings.Lines(list) {
		scope, name, _ := strings.Cut(strings.ToLower(line), "\t")
		isProgram := strings.HasPrefix(name, "filter.") || strings.HasPrefix(name, "lfs.extension.")
		if isProgram && (scope == "local" || scope == "worktree") {
			return true, err
		}
	}
	return false, err
}

// isInWorkTree reports whether a directory or a parent of it contains .git.
func isInWorkTree(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// overrides are settings that can start programs. A repository's configuration can come
// from an unpacked archive, so the user might not have reviewed these programs.
// hasFilters handles filters, because their names are not known in advance.
var overrides = []string{
	"core.fsmonitor=false", "core.hooksPath=" + os.DevNull, "hook.post-index-change.enabled=false", "core.pager=cat", "core.editor=false",
	"core.askPass=", "core.sshCommand=false", "core.gitProxy=none", "core.alternateRefsCommand=false", "credential.helper=", "diff.external=", "gpg.program=false",
	"gpg.openpgp.program=false", "gpg.x509.program=false", "gpg.ssh.program=false", "gpg.ssh.defaultKeyCommand=false", "log.showSignature=false",
}

// gitVariables contains the variables that git needs to find its files and the user's
// configuration. It also contains SUDO_UID, because git trusts this user's directories
// if root runs git. Other variables could select a different repository.
var gitVariables = []string{"PATH", "HOME", "XDG_CONFIG_HOME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "SystemRoot", "TMPDIR", "TEMP", "TMP", "SUDO_UID"}

// gitTimeout limits the duration of a call. The configuration of a repository can
// include a named pipe, which git would read forever.
var gitTimeout = time.Minute

// git runs git in the directory and returns its output without leading and trailing
// white space. It prevents git from running programs and from fetching missing objects.
func (t *workTree) git(ctx context.Context, args ...string) (string, error) {
	words := []string{"git", "--no-pager"}
	for _, setting := range overrides {
		words = append(words, "-c", setting)
	}
	out, err := extprog.New(append(words, args...)...).Run(ctx, extprog.Call{
		Dir: t.dir, Inherit: slices.Concat(gitVariables, settingVariables()), Raw: true, MaxOutput: maxGitOutput, Timeout: gitTimeout,
		Env: []string{"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"},
	})
	if err != nil {
		return "", fmt.Errorf("reading the git repository in %s: %w", t.dir, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// settingVariables returns the names of the variables that contain settings of the user
// or the paths of configuration files.
func settingVariables() (names []string) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "GIT_CONFIG_") {
			names = append(names, name)
		}
	}
	return names
}

// tags returns the tags of the commit that apply to the directory, without the prefix
// of the directory. For example, if the directory is modules/vpc, the tag
// "modules/vpc/v1.2.0" results in "v1.2.0".
func (t *workTree) tags(ctx context.Context) ([]string, error) {
	prefix, err := t.git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	// git tag would obey tag.sort, which can start gpg.
	list, err := t.git(ctx, "for-each-ref", "--points-at=HEAD", "--format=%(refname:strip=2)", "refs/tags")
	var tags []string
	for tag := range strings.FieldsSeq(list) {
		if tag, found := strings.CutPrefix(tag, prefix); found && prefix != "" {
			return []string{tag}, err
		}
		if !strings.Contains(tag, "/") {
			tags = append(tags, tag)
		}
	}
	return tags, err
}
