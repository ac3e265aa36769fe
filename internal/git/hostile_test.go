package git_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/git"
	"github.com/tofu-oci/tofu-oci/internal/testing/gittest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestFetchRefusesURLs checks that only https and ssh URLs without credentials reach git.
func TestFetchRefusesURLs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"http://example.org/vpc.git", "git://example.org/vpc.git", "file:///srv/vpc.git", "ext::sh -c evil", "/srv/vpc.git",
		"ssh://-oProxyCommand=evil/vpc.git", "ssh://-lroot@example.org/vpc.git", "https:///vpc.git", "https://user:password@example.org/vpc.git",
		"https://password@example.org/vpc.git", "ssh://git:password@example.org/vpc.git",
	} {
		at, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = git.Fetch(t.Context(), at, "", git.Options{})
		_, resolveErr := git.Resolve(t.Context(), at, strings.Repeat("0", 40))
		for _, err := range []error{err, resolveErr} {
			if !errors.Is(err, git.ErrUnsafe) || strings.Contains(err.Error(), "password@") {
				t.Errorf("%s: got %v", text, err)
			}
		}
	}
}

// TestFetchRefusesRefs checks that a ref can't be an option, a pattern, or two refs.
func TestFetchRefusesRefs(t *testing.T) {
	t.Parallel()
	at := &url.URL{Scheme: "https", Host: "example.org", Path: "/vpc.git"}
	for _, ref := range []string{
		"--upload-pack=evil", "-f", "a:refs/heads/b", ":x", "refs/heads/*", "^main", "+main", "main~1", "main^{tree}", "@{u}", "a..b", "a b", "a\x00b", "a\nb", "x.lock", "/a", "a/",
	} {
		if _, err := git.Fetch(t.Context(), at, ref, git.Options{}); !errors.Is(err, git.ErrUnsafe) {
			t.Errorf("%q: got %v", ref, err)
		}
	}
}

// TestFetchIgnoresOtherBranches fetches from a repository with a branch whose name looks
// like an option.
func TestFetchIgnoresOtherBranches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	id := w.commit(t, gittest.Entry{Path: "main.tf", Content: "x"})
	if err := w.repo.Point(t.Context(), id, "refs/heads/--upload-pack=evil", "refs/heads/-f", "refs/tags/fetched"); err != nil {
		t.Fatal(err)
	}
	if got, _, err := w.fetch(t, "v1", git.Options{}); err != nil || got != id {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestFetchRefusesCommits fetches commits with unsafe entries.
func TestFetchRefusesCommits(t *testing.T) {
	t.Parallel()
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	target := strings.Repeat("0", 40)
	for name, test := range map[string]struct {
		entries []gittest.Entry
		want    string
		allowed git.Options // options that accept the commit, if any
	}{
		"git directory":       {[]gittest.Entry{{Path: ".git/config", Content: "[core]\n\tfsmonitor = evil\n"}}, `the path ".git"`, git.Options{}},
		"nested git file":     {[]gittest.Entry{{Path: "a/.GIT", Content: "gitdir: /"}}, `the path "a/.GIT"`, git.Options{}},
		"short name of .git":  {[]gittest.Entry{{Path: "GIT~1/config"}}, `the path "GIT~1"`, git.Options{}},
		"git with a dot":      {[]gittest.Entry{{Path: ".git. /config"}}, `the path ".git. "`, git.Options{}},
		"parent directory":    {[]gittest.Entry{{Path: "../evil.tf"}}, `the path ".."`, git.Options{}},
		"current directory":   {[]gittest.Entry{{Path: "./evil.tf"}}, `the path "."`, git.Options{}},
		"submodule":           {[]gittest.Entry{{Path: "sub", Mode: gittest.Submodule, Content: target}}, `"sub" is a submodule`, git.Options{AllowIncomplete: true}},
		"gitmodules":          {[]gittest.Entry{{Path: ".gitmodules", Content: "[submodule \"--evil\"]\n"}}, "contains .gitmodules", git.Options{AllowIncomplete: true}},
		"LFS pointer":         {[]gittest.Entry{{Path: "logo.png", Content: pointer}}, `"logo.png" is a Git LFS pointer`, git.Options{AllowIncomplete: true}},
		"link to the outside": {[]gittest.Entry{{Path: "a/link", Mode: gittest.Link, Content: "../../secret"}}, `"a/link" doesn't refer to a file`, git.Options{}},
		"absolute link":       {[]gittest.Entry{{Path: "link", Mode: gittest.Link, Content: "/etc/passwd"}}, `"link" doesn't refer to a file`, git.Options{}},
		"link to nothing":     {[]gittest.Entry{{Path: "link", Mode: gittest.Link, Content: "missing"}}, `"link" doesn't refer to a file`, git.Options{}},
		"link to itself":      {[]gittest.Entry{{Path: "link", Mode: gittest.Link, Content: "link"}}, `"link" doesn't refer to a file`, git.Options{}},
		"link to its parent":  {[]gittest.Entry{{Path: "a/b", Content: "x"}, {Path: "a/link", Mode: gittest.Link, Content: "../a"}}, `"a/link" doesn't refer to a file`, git.Options{}},
		"link to a submodule": {[]gittest.Entry{{Path: "sub", Mode: gittest.Submodule, Content: target}, {Path: "link", Mode: gittest.Link, Content: "sub"}}, "", git.Options{}},
		"huge link":           {[]gittest.Entry{{Path: "link", Mode: gittest.Link, Content: strings.Repeat("a", 5000)}}, "exceeds 4096 bytes", git.Options{}},
		"long path":           {[]gittest.Entry{{Path: strings.Repeat("a", 9000)}}, "a path exceeds 8192 bytes", git.Options{}},
		"unknown mode":        {[]gittest.Entry{{Path: "pipe", Mode: "10644", Content: "x"}}, "", git.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.commit(t, append(test.entries, gittest.Entry{Path: "main.tf"})...)
			_, _, err := w.fetch(t, "v1", git.Options{})
			if err == nil || test.want != "" && (!strings.Contains(err.Error(), test.want) || provider.KindOf(err) != provider.Refused) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if test.allowed != (git.Options{}) {
				if _, contents, err := w.fetch(t, "v1", test.allowed); err != nil || contents["sub"] != "" {
					t.Errorf("allowed: got %v, %v", contents, err)
				}
			}
		})
	}
}

// TestFetchRunsNoPrograms checks that attributes in the commit don't start the filters
// of the user's configuration, that hooks don't run, and that contents are unchanged.
func TestFetchRunsNoPrograms(t *testing.T) { //nolint:paralleltest // it sets environment variables
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	w := newWorld(t, nil)
	dir := t.TempDir()
	marker := filepath.Join(dir, "marker")
	script := "#!/bin/sh\ntouch '" + marker + "'\ncat\n"
	for _, hook := range []string{"reference-transaction", "post-checkout", "pre-auto-gc", "filter"} {
		if err := os.WriteFile(filepath.Join(dir, hook), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const text = "a\n$Id$\nb\r\n"
	w.commit(t,
		gittest.Entry{Path: ".gitattributes", Content: "* filter=evil diff=evil ident text eol=crlf\nmain.tf export-ignore export-subst\n"},
		gittest.Entry{Path: "main.tf", Content: text})
	filter := filepath.Join(dir, "filter")
	setConfig(t, map[string]string{
		"core.hooksPath": dir, "filter.evil.smudge": filter, "filter.evil.clean": filter, "filter.evil.required": "true",
		"diff.evil.textconv": filter, "core.fsmonitor": filter, "core.autocrlf": "true",
		"hook.evil.command": filter, "hook.evil.event": "reference-transaction", // since git 2.54
	})
	_, contents, err := w.fetch(t, "v1", git.Options{})
	if err != nil || contents["main.tf"] != text {
		t.Errorf("got %q, %v", contents, err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a program ran")
	}
}

// TestFetchAllowsTwoTransports checks that neither the user's configuration nor a
// redirect makes git use a different transport.
func TestFetchAllowsTwoTransports(t *testing.T) { //nolint:paralleltest // it sets environment variables
	w := newWorld(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/redirected") {
				http.Redirect(rw, r, "http://127.0.0.1:1/vpc.git/info/refs?service=git-upload-pack", http.StatusFound)
				return
			}
			h.ServeHTTP(rw, r)
		})
	})
	w.commit(t, gittest.Entry{Path: "main.tf"})
	setConfig(t, map[string]string{"url." + w.repo.Dir + ".insteadOf": "https://local.example/", "url.ext::sh -c evil.insteadOf": "https://ext.example/", "protocol.allow": "always"})
	for text, want := range map[string]string{
		"https://local.example/":                "transport 'file' not allowed",
		"https://ext.example/":                  "transport 'ext' not allowed",
		"https://" + w.url.Host + "/redirected": "rotocol",
	} {
		at, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := git.Fetch(t.Context(), at, "v1", git.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestFetchNeverPrompts checks that git reports an error instead of prompting if a
// server requires credentials.
func TestFetchNeverPrompts(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "marker")
	script := filepath.Join(filepath.Dir(marker), "askpass")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch '"+marker+"'\necho x\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_ASKPASS", script)
	t.Setenv("SSH_ASKPASS", script)
	w := newWorld(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		})
	})
	if _, _, err := w.fetch(t, "v1", git.Options{}); provider.KindOf(err) != provider.Denied {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("git asked for a password")
	}
}

// TestSSHNeverPrompts checks the options that git passes to ssh.
func TestSSHNeverPrompts(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts a shell script instead of ssh")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "arguments")
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\necho \"$@\" >> '"+out+"'\nexit 255\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if _, err := git.Fetch(t.Context(), &url.URL{Scheme: "ssh", User: url.User("git"), Host: "example.org", Path: "/a/vpc.git"}, "v1", git.Options{}); err == nil {
		t.Error("no error")
	}
	arguments, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(arguments), "-o BatchMode=yes") || !strings.Contains(string(arguments), "git@example.org") {
		t.Errorf("got %s, %v", arguments, err)
	}
}

// setConfig sets the user's git configuration.
func setConfig(t *testing.T, config map[string]string) {
	t.Helper()
	i := 0
	for key, value := range config {
		t.Setenv(fmt.Sprintf("GIT_CONFIG_KEY_%d", i), key)
		t.Setenv(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i), value)
		i++
	}
	t.Setenv("GIT_CONFIG_COUNT", fmt.Sprint(i))
}
