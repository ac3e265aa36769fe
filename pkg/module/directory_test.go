package module_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// writeFiles writes files to a new directory. A content of "-> TARGET" is a link.
func writeFiles(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		target, isLink := strings.CutPrefix(content, "-> ")
		var err error
		if isLink {
			err = os.Symlink(filepath.FromSlash(target), path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil && isLink && runtime.GOOS == "windows" {
			t.Skip("links are not available")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// git runs git in a directory without the user's configuration.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func paths(d module.Directory) []string {
	var names []string
	for _, f := range d.Files {
		names = append(names, f.Path)
	}
	return names
}

func TestReadDirectory(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{
		"main.tf": `variable "x" {}`, "README.md": "", "common.tf": "-> shared/common.tf", "shared/common.tf": "",
		".terraform/modules/x/main.tf": "broken", ".terraform.lock.hcl": "", "terraform.tfstate": "", "a.tfstate.1.backup": "", ".git/config": "",
		"examples/one/main.tf": "", "examples/one/terraform.tfstate": "", "examples/keep/main.tf": "",
		"tmp/a": "", "x/tmp/b": "", "build/keep.zip": "", "build/drop.zip": "", "x/build/c": "",
		".terraformignore": "# comment\n\nexamples/\n!examples/keep/\ntmp\n/build\n!keep.zip\n",
	})
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil { // not a work tree
		t.Fatal(err)
	}
	d, err := module.ReadDirectory(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".terraformignore", "README.md", "build/keep.zip", "common.tf", "examples/keep/main.tf", "main.tf", "shared/common.tf", "x/build/c"}
	if diff := cmp.Diff(want, paths(d)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestReadDirectoryRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a link to a file outside":  {map[string]string{"main.tf": "", "x": "-> /etc/hosts"}, "outside"},
		"a relative link outside":   {map[string]string{"main.tf": "", "a/x": "-> ../../x"}, "broken link"},
		"a link to an ignored file": {map[string]string{"main.tf": "", "x": "-> .terraform/y", ".terraform/y": ""}, "doesn't refer"},
		"a link to its parent":      {map[string]string{"main.tf": "", "a/x": "-> .", "a/y": ""}, "doesn't refer"},
		"a link to the root":        {map[string]string{"main.tf": "", "x": "-> ."}, "doesn't refer"},
		"invalid syntax":            {map[string]string{"main.tf": "resource {"}, "main.tf:1"},
		"no configuration":          {map[string]string{"README.md": ""}, "contains no module"},
		"a lost configuration":      {map[string]string{"main.tf": "", "modules/a/main.tf": "", ".terraformignore": "/*.tf"}, "empty module"},
		"an invalid pattern":        {map[string]string{"main.tf": "", ".terraformignore": "[a"}, "invalid pattern"},
		"an unknown class":          {map[string]string{"main.tf": "", ".terraformignore": "[[:print:]]"}, "invalid pattern"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := module.ReadDirectory(t.Context(), writeFiles(t, test.files))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestReadWorkTree checks that modes and line endings come from Git's index.
func TestReadWorkTree(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"vpc/main.tf": "# one\n# two\n", "vpc/run.sh": "#!/bin/sh\n", "vpc/binary": "a\r\nb\n"})
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "-A")
	git(t, dir, "update-index", "--chmod=+x", "vpc/run.sh")
	git(t, dir, "commit", "--quiet", "-m", "first")
	git(t, dir, "tag", "vpc/v1.2.0")
	git(t, dir, "tag", "v9.0.0")
	git(t, dir, "tag", "other/v8.0.0")
	// Check out with the line endings of Windows, and without modes.
	git(t, dir, "config", "core.autocrlf", "true")
	git(t, dir, "config", "core.fileMode", "false")
	for _, name := range []string{"main.tf", "run.sh"} {
		if err := os.Remove(filepath.Join(dir, "vpc", name)); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "checkout", "--", ".")
	if err := os.Chmod(filepath.Join(dir, "vpc", "run.sh"), 0o644); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "vpc", "main.tf")); err != nil || !strings.Contains(string(data), "\r\n") {
		t.Fatalf("the checkout has no CRLF: %q, %v", data, err)
	}
	d, err := module.ReadDirectory(t.Context(), filepath.Join(dir, "vpc"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Revision != git(t, dir, "rev-parse", "HEAD") || len(d.Untracked) != 0 || !slices.Equal(d.Versions, []provider.Version{version(t, "1.2.0")}) {
		t.Errorf("revision %s, versions %v, untracked %v", d.Revision, d.Versions, d.Untracked)
	}
	run := file("run.sh", "#!/bin/sh\n")
	run.Executable = true
	want := push(t, repository.NewLayout(filepath.Join(t.TempDir(), "vpc")), module.Package{
		Name: "vpc", Version: version(t, "1.2.0"), Files: []module.File{file("main.tf", "# one\n# two\n"), run, file("binary", "a\r\nb\n")},
	}, module.PushOptions{})
	got := push(t, repository.NewLayout(filepath.Join(t.TempDir(), "vpc")), module.Package{Name: "vpc", Version: version(t, "1.2.0"), Files: d.Files}, module.PushOptions{})
	if got.Digest != want.Digest {
		t.Errorf("digest %s, want %s", got.Digest, want.Digest)
	}
	// A modified file has no revision, and files that git doesn't track are listed.
	for _, name := range []string{"main.tf", "new.tf"} {
		if err := os.WriteFile(filepath.Join(dir, "vpc", name), []byte("# changed\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err = module.ReadDirectory(t.Context(), filepath.Join(dir, "vpc"))
	if err != nil || d.Revision != "" || len(d.Versions) != 0 || !slices.Equal(d.Untracked, []string{"new.tf"}) {
		t.Errorf("modified: revision %s, versions %v, untracked %v, %v", d.Revision, d.Versions, d.Untracked, err)
	}
	// Untracked files are packed once they are added.
	if diff := cmp.Diff([]string{"binary", "main.tf", "run.sh"}, paths(d)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	git(t, dir, "add", "vpc/new.tf")
	d, err = module.ReadDirectory(t.Context(), filepath.Join(dir, "vpc"))
	if diff := cmp.Diff([]string{"binary", "main.tf", "new.tf", "run.sh"}, paths(d)); diff != "" || err != nil {
		t.Errorf("%v, files (-want +got):\n%s", err, diff)
	}
}

// TestReadUntrackedDirectory checks that all files of a directory are packed if a parent
// is a work tree that tracks none of them, and that the files of submodules are packed.
func TestReadUntrackedDirectory(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"README.md": "", "build/main.tf": "", "build/x": "", "vpc/main.tf": ""})
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "README.md", "vpc")
	d, err := module.ReadDirectory(t.Context(), filepath.Join(dir, "build"))
	if diff := cmp.Diff([]string{"main.tf", "x"}, paths(d)); diff != "" || err != nil || len(d.Untracked) != 0 {
		t.Errorf("%v, untracked %v, files (-want +got):\n%s", err, d.Untracked, diff)
	}
	sub := filepath.Join(dir, "vpc", "modules", "sub")
	git(t, dir, "init", "--quiet", sub)
	if err := os.WriteFile(filepath.Join(sub, "main.tf"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	git(t, sub, "add", "-A")
	git(t, sub, "commit", "--quiet", "-m", "first")
	git(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+git(t, sub, "rev-parse", "HEAD")+",vpc/modules/sub")
	d, err = module.ReadDirectory(t.Context(), filepath.Join(dir, "vpc"))
	if diff := cmp.Diff([]string{"main.tf", "modules/sub/main.tf"}, paths(d)); diff != "" || err != nil || len(d.Untracked) != 0 {
		t.Errorf("%v, untracked %v, files (-want +got):\n%s", err, d.Untracked, diff)
	}
}

// TestReadSubmodules checks that untracked files of submodules are not packed, even if the
// submodule ignores them, and that a modified submodule makes the directory modified.
func TestReadSubmodules(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"main.tf": ""})
	git(t, dir, "init", "--quiet")
	inner, sub := filepath.Join(dir, "modules", "sub", "inner"), filepath.Join(dir, "modules", "sub")
	for _, at := range []struct{ path, tracked string }{{inner, "a.tf"}, {sub, "main.tf"}} {
		git(t, dir, "init", "--quiet", at.path)
		for name, content := range map[string]string{at.tracked: "", ".gitignore": "*.tfvars\n", "prod.auto.tfvars": "secret", "new": ""} {
			if err := os.WriteFile(filepath.Join(at.path, name), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		git(t, at.path, "add", at.tracked, ".gitignore")
		if at.path == sub {
			git(t, sub, "update-index", "--add", "--cacheinfo", "160000,"+git(t, inner, "rev-parse", "HEAD")+",inner")
		}
		git(t, at.path, "commit", "--quiet", "-m", "first")
	}
	git(t, dir, "add", "main.tf")
	git(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+git(t, sub, "rev-parse", "HEAD")+",modules/sub")
	git(t, dir, "commit", "--quiet", "-m", "first")
	git(t, dir, "tag", "v1.0.0")
	read := func(wantModified bool) module.Directory {
		t.Helper()
		d, err := module.ReadDirectory(t.Context(), dir)
		if err != nil || (d.Revision == "") != wantModified || (len(d.Versions) == 0) != wantModified {
			t.Errorf("revision %q, versions %v, %v", d.Revision, d.Versions, err)
		}
		return d
	}
	d := read(false)
	if diff := cmp.Diff([]string{"main.tf", "modules/sub/.gitignore", "modules/sub/inner/.gitignore", "modules/sub/inner/a.tf", "modules/sub/main.tf"}, paths(d)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"modules/sub/inner/new", "modules/sub/inner/prod.auto.tfvars", "modules/sub/new", "modules/sub/prod.auto.tfvars"}, d.Untracked); diff != "" {
		t.Errorf("untracked files (-want +got):\n%s", diff)
	}
	// A modified file, and another commit, of a submodule.
	if err := os.WriteFile(filepath.Join(inner, "a.tf"), []byte("# 2"), 0o644); err != nil {
		t.Fatal(err)
	}
	read(true)
	git(t, inner, "commit", "--quiet", "-a", "-m", "second")
	read(true)
	// A submodule without a commit is modified, and one without an index is missing.
	git(t, sub, "update-ref", "-d", "HEAD")
	read(true)
	if err := os.Remove(filepath.Join(sub, ".git", "index")); err != nil {
		t.Fatal(err)
	}
	if _, err := module.ReadDirectory(t.Context(), dir); !errors.Is(err, module.ErrNotCheckedOut) {
		t.Errorf("without an index: %v", err)
	}
}

// TestReadNotCheckedOut checks that a package without the files of a submodule, or with an
// LFS pointer, is rejected unless the missing files are ignored.
func TestReadNotCheckedOut(t *testing.T) {
	t.Parallel()
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
	dir := writeFiles(t, map[string]string{"main.tf": "", "files/logo.png": pointer, "sub/.gitkeep": ""})
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "main.tf")
	git(t, dir, "commit", "--quiet", "-m", "first")
	git(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+git(t, dir, "rev-parse", "HEAD")+",sub")
	read := func(ignored, want string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, ".terraformignore"), []byte(ignored), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := module.ReadDirectory(t.Context(), dir)
		if want == "" && err != nil || want != "" && (!errors.Is(err, module.ErrNotCheckedOut) || !strings.Contains(err.Error(), want)) {
			t.Errorf("with %q: %v", ignored, err)
		}
	}
	read("", "submodule sub is not checked out")
	read("sub/\n", "")
	git(t, dir, "add", "files")
	read("sub/\n", `"files/logo.png" is a Git LFS pointer`)
	read("sub/\n*.png\n", "")
}

// TestReadUncompared checks that a directory has no revision if Git doesn't compare all
// tracked files with the commit.
func TestReadUncompared(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--skip-worktree", "--assume-unchanged"} {
		dir := writeFiles(t, map[string]string{"main.tf": "", "x.tf": ""})
		git(t, dir, "init", "--quiet")
		git(t, dir, "add", "-A")
		git(t, dir, "commit", "--quiet", "-m", "first")
		git(t, dir, "tag", "v1.2.0")
		git(t, dir, "update-index", flag, "x.tf")
		if err := os.Remove(filepath.Join(dir, "x.tf")); err != nil {
			t.Fatal(err)
		}
		if d, err := module.ReadDirectory(t.Context(), dir); err != nil || d.Revision != "" || len(d.Versions) != 0 {
			t.Errorf("%s: revision %q, versions %v, %v", flag, d.Revision, d.Versions, err)
		}
	}
}

// TestIgnoreRules compares the files that patterns leave in a package.
func TestIgnoreRules(t *testing.T) {
	t.Parallel()
	for patterns, want := range map[string][]string{
		"/*/\n!/modules/\n":  {".env", "b", "main.tf", "modules/a/x", "modules/b"},
		"x\n":                {".env", "a/b/c", "b", "main.tf", "modules/b"}, // not all files in all directories
		"b/\n":               {".env", "b", "main.tf", "modules/a/x", "modules/b"},
		"b\n":                {".env", "main.tf", "modules/a/x"},
		"/b\n":               {".env", "a/b/c", "main.tf", "modules/a/x", "modules/b"},
		"*\n!main.tf\n":      {"main.tf"},
		"a/**\n":             {".env", "b", "main.tf", "modules/b"},
		"/b/**\n":            {".env", "a/b/c", "b", "main.tf", "modules/a/x", "modules/b"},
		"modules/?\r\n":      {".env", "a/b/c", "b", "main.tf"},
		"**/c\n":             {".env", "b", "main.tf", "modules/a/x", "modules/b"},
		"[!b]\n":             {".env", "b", "main.tf", "modules/b"},
		"{b,c}\n!\n/\n./b\n": {".env", "a/b/c", "b", "main.tf", "modules/a/x", "modules/b"},
		".*\n!.env\n":        {".env", "a/b/c", "b", "main.tf", "modules/a/x", "modules/b"},
		"a/\n!/modules/a/\n": {".env", "b", "main.tf", "modules/a/x", "modules/b"},
		// Without a final slash, a directory is included, but not its excluded files.
		"*\n!modules\n!main.tf\n":  {"main.tf"},
		"/*\n!modules\n!main.tf\n": {"main.tf", "modules/a/x", "modules/b"},
		"b\n!/modules\n":           {".env", "main.tf", "modules/a/x"},
		"modules\n!a\n":            {".env", "a/b/c", "b", "main.tf"},
	} {
		files := map[string]string{".terraformignore": patterns + ".terraformignore\n"}
		for _, name := range []string{"main.tf", ".env", "a/b/c", "b", "modules/a/x", "modules/b"} {
			files[name] = ""
		}
		d, err := module.ReadDirectory(t.Context(), writeFiles(t, files))
		if diff := cmp.Diff(want, paths(d)); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", patterns, err, diff)
		}
	}
}

// TestIgnorePatterns compares the files that patterns with special characters exclude.
func TestIgnorePatterns(t *testing.T) {
	t.Parallel()
	for patterns, want := range map[string][]string{
		"{a}":                 {"{a}"},
		`\{a\}`:               {"{a}"},
		"{[a]}":               {"{a}"},
		"{[!b]}":              {"{a}"},
		"{[]a]}":              {"{a}"},
		"{[!]]}":              {"{a}"},
		"x[!a]y":              nil, // not x/y
		"x[^a]y":              nil,
		"x[[:digit:]]":        {"x1"},
		"x[![:alpha:]]":       {"x1"},
		`[\]]`:                {"]"},
		`\#a`:                 {"#a"},
		`\!a`:                 {"!a"},
		"\ufeffx1":            {"x1"},
		"\ufeff# x\r\nx1\r\n": {"x1"},
	} {
		files := map[string]string{".terraformignore": patterns}
		for _, name := range []string{"!a", "#a", "main.tf", "]", "x/y", "x1", "{a}"} {
			files[name] = ""
		}
		d, err := module.ReadDirectory(t.Context(), writeFiles(t, files))
		for _, name := range paths(d) {
			delete(files, name)
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got):\n%s", patterns, err, diff)
		}
	}
}

// TestReadWorkTreeRunsNoPrograms checks that the configuration of a repository, which an
// unpacked archive can contain, starts no programs.
func TestReadWorkTreeRunsNoPrograms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, attributes string
		settings         []string
		versions         []provider.Version
	}{
		{"with filters", "* filter=evil\n", []string{"filter.evil.clean", "filter.evil.process"}, nil},
		{"with extensions of the user's LFS filter", "* filter=lfs\n", []string{"lfs.extension.evil.clean"}, nil},
		{"without filters", "* diff=evil\n", nil, []provider.Version{version(t, "1.2.0")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := writeFiles(t, map[string]string{"main.tf": "# one\n", ".gitattributes": test.attributes})
			git(t, dir, "init", "--quiet")
			git(t, dir, "add", "-A")
			git(t, dir, "commit", "--quiet", "-m", "first")
			sign(t, dir)
			git(t, dir, "tag", "v1.2.0")
			git(t, dir, "tag", "latest")
			marker := filepath.Join(t.TempDir(), "marker")
			touch := "touch '" + marker + "'; cat"
			program := filepath.Join(dir, ".git", "program")
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+touch+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			settings := []string{
				"core.fsmonitor", "core.pager", "pager.status", "pager.tag", "core.sshCommand", "core.askPass", "core.alternateRefsCommand",
				"diff.external", "diff.evil.textconv", "diff.evil.command", "credential.helper",
				"hook.evil.command", // since git 2.54
			}
			for _, name := range append(settings, test.settings...) {
				git(t, dir, "config", name, touch)
			}
			for _, name := range []string{"gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"} {
				git(t, dir, "config", name, program)
			}
			git(t, dir, "config", "tag.sort", "signature")
			git(t, dir, "config", "log.showSignature", "true")
			git(t, dir, "config", "core.hooksPath", filepath.Dir(program))
			git(t, dir, "config", "hook.evil.event", "post-index-change")
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(filepath.Join(dir, "main.tf"), later, later); err != nil { // git compares the content
				t.Fatal(err)
			}
			d, err := module.ReadDirectory(t.Context(), dir)
			if err != nil || (d.Revision == "") != (test.versions == nil) || !slices.Equal(d.Versions, test.versions) || len(d.Files) != 2 {
				t.Errorf("got %+v, %v", d, err)
			}
			if _, err := os.Stat(marker); err == nil {
				t.Error("a program ran")
			}
		})
	}
}

// TestReadWorkTreeFetchesNothing checks that git doesn't fetch missing objects, because
// the configuration of a repository can specify the program for it.
func TestReadWorkTreeFetchesNothing(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"main.tf": "# one\n"})
	git(t, dir, "init", "--quiet")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "--quiet", "-m", "first")
	tree := git(t, dir, "rev-parse", "HEAD^{tree}")
	if err := os.Remove(filepath.Join(dir, ".git", "objects", tree[:2], tree[2:])); err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(t.TempDir(), "marker")
	git(t, dir, "config", "core.repositoryFormatVersion", "1")
	git(t, dir, "config", "extensions.partialClone", "origin")
	git(t, dir, "config", "remote.origin.url", t.TempDir())
	git(t, dir, "config", "remote.origin.uploadpack", "touch '"+marker+"';")
	if d, err := module.ReadDirectory(t.Context(), dir); err == nil {
		t.Errorf("got %+v", d)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program ran")
	}
}

// sign replaces the commit with a copy that has a signature, so that git would start gpg
// to show or sort by signatures.
func sign(t *testing.T, dir string) {
	t.Helper()
	header, message, _ := strings.Cut(git(t, dir, "cat-file", "commit", "HEAD"), "\n\n")
	file := filepath.Join(t.TempDir(), "commit")
	signed := header + "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEz\n -----END PGP SIGNATURE-----\n\n" + message + "\n"
	if err := os.WriteFile(file, []byte(signed), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "update-ref", "HEAD", git(t, dir, "hash-object", "-t", "commit", "-w", file))
}

// TestReadDirectoryLinkedDirectory checks that links to directories are packed as copies,
// and that nested links can't multiply files without limit.
func TestReadDirectoryLinkedDirectory(t *testing.T) {
	t.Parallel()
	d, err := module.ReadDirectory(t.Context(), writeFiles(t, map[string]string{
		"main.tf": "", "shared/a.tf": "a", "shared/.terraform/b": "b", "shared/no.txt": "c", "modules/x": "-> ../shared", ".terraformignore": "modules/x/no.txt\n",
	}))
	var names []string
	for _, f := range d.Files {
		names = append(names, f.Path)
	}
	if diff := cmp.Diff([]string{".terraformignore", "main.tf", "modules/x/a.tf", "shared/a.tf", "shared/no.txt"}, names); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	bomb := map[string]string{"main.tf": "", "l0/a": "", "l0/b": ""}
	for level := 1; level < 7; level++ {
		for link := range 10 {
			bomb[fmt.Sprintf("l%d/%d", level, link)] = fmt.Sprintf("-> ../l%d", level-1)
		}
	}
	if d, err := module.ReadDirectory(t.Context(), writeFiles(t, bomb)); provider.KindOf(err) != provider.Refused {
		t.Errorf("got %d files, %v", len(d.Files), err)
	}
}
