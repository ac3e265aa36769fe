//go:build release

package release_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var (
	here  = provider.CurrentPlatform()
	other = provider.Platform{OS: "windows", Arch: "386"}
)

// providerZip returns a zip with an executable under a name that OpenTofu recognizes.
func providerZip(t *testing.T, typ, version string, p provider.Platform) []byte {
	t.Helper()
	var packed bytes.Buffer
	files := zip.NewWriter(&packed)
	header := &zip.FileHeader{Name: "terraform-provider-" + typ + "_v" + version, Method: zip.Deflate}
	header.SetMode(0o755)
	text := "#!/bin/sh\necho " + version + "\n"
	if p.OS == "windows" {
		header.Name += ".exe"
	}
	w, err := files.CreateHeader(header)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = files.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// newJob returns a runner with tofu-oci in PATH. It also starts an origin registry with
// two releases of acme/widget, and a registry without access control.
func newJob(t *testing.T) (r *runner, registry string) {
	t.Helper()
	return newJobWith(t, "")
}

// newJobWith is like newJob, but the registry uses the given access control.
func newJobWith(t *testing.T, auth string) (r *runner, registry string) {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	origin := origintest.New(origintest.Options{})
	for _, version := range []string{"1.0.0", "1.1.0"} {
		release := origintest.Release{Namespace: "acme", Type: "widget", Version: version, Protocols: []string{"5.0"}, Archives: map[provider.Platform]origintest.Archive{}}
		for _, p := range []provider.Platform{here, other} {
			release.Archives[p] = origintest.Archive{Bytes: providerZip(t, "widget", version, p)}
		}
		if err := origin.Add(t.Context(), release); err != nil {
			t.Fatal(err)
		}
	}
	url, stop, err := fixture.Serve(t.Context(), ca, origin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	registry, stop, err = fixture.StartRegistry(t.Context(), programs.registry, t.TempDir(), auth, ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	r = newRunner(t)
	bin, home := t.TempDir(), t.TempDir()
	if err := os.Symlink(programs.tofuOCI, filepath.Join(bin, "tofu-oci")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "ca.pem"), string(ca.PEM()))
	write(t, filepath.Join(home, ".tofurc"), fixture.CLIConfig(url))
	r.env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + home, "SSL_CERT_FILE=" + filepath.Join(home, "ca.pem")}
	return r, registry
}

// results parses the action's output named result.
func results(t *testing.T, text string) (found []string) {
	t.Helper()
	var document struct {
		Items []struct{ Provider, Version, Status, Repository, Digest string }
	}
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	for _, item := range document.Items {
		found = append(found, item.Provider+" "+item.Version+" "+item.Status)
	}
	return found
}

var digests = regexp.MustCompile(`^sha256:[0-9a-f]{64}(\nsha256:[0-9a-f]{64})*$`)

// TestActionMirror mirrors a list of providers to a real registry twice. The second run
// must not change anything.
func TestActionMirror(t *testing.T) {
	t.Parallel()
	r, registry := newJob(t)
	write(t, filepath.Join(r.workspace, "more.txt"), "acme/widget@1.0.0 # the first\n")
	with := map[string]string{
		"providers": "acme/widget # the newest\n\n", "sources": "more.txt\n", "to": registry + "/m/{namespace}/{type}",
		"platforms": here.String() + "\n" + other.String() + "\n", "flags": "--check-level=manifests\n",
	}
	for _, status := range []string{"created", "unchanged"} {
		u := r.use(t, "mirror", with)
		want := "registry.opentofu.org/acme/widget 1.1.0 " + status + " registry.opentofu.org/acme/widget 1.0.0 " + status
		if u.code != 0 || strings.Join(results(t, u.outputs["result"]), " ") != want || u.outputs["exit-code"] != "0" {
			t.Fatalf("want %s\n%v", want, u)
		}
		if got := u.outputs["changed"]; got != fmt.Sprint(status == "created") {
			t.Errorf("%s: changed is %s", status, got)
		}
		if !digests.MatchString(u.outputs["digests"]) || strings.Count(u.outputs["digests"], "\n") != 1 {
			t.Errorf("unexpected digests %q", u.outputs["digests"])
		}
		if read(t, u.outputs["result-file"]) != u.outputs["result"]+"\n" {
			t.Errorf("unexpected content of the file:\n%s", read(t, u.outputs["result-file"]))
		}
		if !strings.HasPrefix(u.summary, "### tofu-oci mirror: 2 "+status) {
			t.Errorf("unexpected summary: %s", u.summary)
		}
		plain := regexp.MustCompile(`(?s)^::stop-commands::([0-9a-f]{32})\n.*2 ` + status + `.*\n::([0-9a-f]{32})::\n::group::.*\n::stop-commands::([0-9a-f]{32})\n\{.*\}\n::([0-9a-f]{32})::\n::endgroup::\n$`)
		if tokens := plain.FindStringSubmatch(u.log); len(tokens) != 5 || tokens[1] != tokens[2] || tokens[3] != tokens[4] || tokens[1] == tokens[3] {
			t.Errorf("the log can contain commands:\n%s", u.log)
		}
	}
}

// TestActionMirrorByTags checks the action's outputs for the check level tags, which
// provides no digests.
func TestActionMirrorByTags(t *testing.T) {
	t.Parallel()
	r, registry := newJob(t)
	with := map[string]string{"providers": "acme/widget", "to": registry + "/m/{namespace}/{type}"}
	if u := r.use(t, "mirror", with); u.code != 0 {
		t.Fatal(u)
	}
	for name, test := range map[string]struct {
		flags, env string
		digests    bool
	}{
		"by a flag":               {flags: "--check-level=tags"},
		"by the environment":      {env: "TOFU_OCI_CHECK_LEVEL=tags"},
		"by a flag against it":    {flags: "--check-level=index", env: "TOFU_OCI_CHECK_LEVEL=tags", digests: true},
		"by neither, with others": {flags: "--signatures=warn", digests: true},
	} {
		job := *r
		job.env = append(slices.Clone(r.env), test.env)
		inputs := maps.Clone(with)
		inputs["flags"] = test.flags
		u := job.use(t, "mirror", inputs)
		if got := u.outputs["digests"]; u.code != 0 || u.outputs["changed"] != "false" || test.digests && !digests.MatchString(got) || !test.digests && got != "" {
			t.Errorf("%s: unexpected digests %q\n%v", name, got, u)
		}
	}
}

// TestActionMirrorPartialFailure checks that the action sets its outputs if a run
// fails, and if the result exceeds the maximum size of an output.
func TestActionMirrorPartialFailure(t *testing.T) {
	t.Parallel()
	r, registry := newJob(t)
	with := map[string]string{"providers": "acme/widget\nacme/none", "to": registry + "/{type}", "dry-run": "true", "latest": "1"}
	u := r.use(t, "mirror", with)
	if u.code != 3 || u.outputs["exit-code"] != "3" || u.outputs["changed"] != "true" || len(results(t, u.outputs["result"])) != 2 {
		t.Error(u)
	}
	const many = 800
	with["providers"] = ""
	for i := range many {
		with["providers"] += fmt.Sprintf("acme/none%s%d\n", strings.Repeat("x", 50), i)
	}
	u = r.use(t, "mirror", with)
	if u.code != 5 || u.outputs["result"] != "" || u.outputs["changed"] != "false" || len(results(t, read(t, u.outputs["result-file"]))) != many {
		t.Errorf("exit code %d, %d bytes, changed is %s", u.code, len(u.outputs["result"]), u.outputs["changed"])
	}
}

// TestMultilineOutputs checks that the delimiters of multiline outputs work for any
// value.
func TestMultilineOutputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "outputs"), "")
	value := "a\nEOF\nend-\nother=1\nother<<EOF\n  b\\n $(touch here) %0A"
	script := `source "$1/common.sh"; output one "$VALUE"; output two "$(cat "$GITHUB_OUTPUT")"; output three ""`
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script, "bash", filepath.Join(programs.root, "action"))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "VALUE="+value, "GITHUB_OUTPUT="+filepath.Join(dir, "outputs"))
	output(t, cmd)
	got := outputsIn(t, read(t, dir, "outputs"))
	if len(got) != 3 || got["one"] != value || !strings.Contains(got["two"], value) || got["three"] != "" {
		t.Errorf("got %q", got)
	}
}

// newDist writes the zips of a provider build to a directory.
func newDist(t *testing.T, dir string) {
	t.Helper()
	for _, p := range []provider.Platform{here, other} {
		write(t, filepath.Join(dir, fmt.Sprintf("terraform-provider-gadget_2.0.0_%s.zip", p)), string(providerZip(t, "gadget", "2.0.0", p)))
	}
}

// TestActionPublish publishes a release to an image layout. The names of the source
// directories resemble flags or commands.
func TestActionPublish(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"dist", "--force", "$(touch here)", "a 'b' \"c\" `touch here`"} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			r, _ := newJob(t)
			newDist(t, filepath.Join(r.workspace, dir))
			with := map[string]string{"provider": "example.com/acme/gadget", "to": "oci-layout:out/{type}", "paths": dir + "\n"}
			for _, status := range []string{"created", "unchanged"} {
				u := r.use(t, "publish", with)
				if u.code != 0 || strings.Join(results(t, u.outputs["result"]), " ") != "example.com/acme/gadget 2.0.0 "+status {
					t.Fatalf("want %s\n%v", status, u)
				}
				if !digests.MatchString(u.outputs["digests"]) || u.outputs["changed"] != fmt.Sprint(status == "created") || !strings.HasPrefix(u.summary, "### tofu-oci publish: 1 "+status) {
					t.Error(u)
				}
			}
			if _, err := os.Stat(filepath.Join(r.workspace, "here")); err == nil {
				t.Error("a name was run as a command")
			}
			with["platforms"], with["launch"] = here.String(), "true"
			if u := r.use(t, "publish", with); u.code == 0 || u.outputs["digests"] != "" {
				t.Errorf("launching a script succeeded: %v", u)
			}
		})
	}
}

// TestActionLockCheck checks the exit code, the SARIF file, and the annotation that
// reports a change.
func TestActionLockCheck(t *testing.T) {
	t.Parallel()
	r, registry := newJob(t)
	from := registry + "/m/{namespace}/{type}"
	if u := r.use(t, "mirror", map[string]string{"providers": "acme/widget", "to": from}); u.code != 0 {
		t.Fatal(u)
	}
	const block = "provider \"registry.opentofu.org/acme/widget\" {\n  version = \"1.1.0\"\n}\n"
	write(t, filepath.Join(r.workspace, "live", ".terraform.lock.hcl"), block)
	with := map[string]string{"from": from, "platforms": here.String() + "\n" + other.String() + "\n"}
	u := r.use(t, "lock-check", with)
	if u.code != 5 || u.outputs["exit-code"] != "5" || u.outputs["sarif-file"] != "" || strings.Count(u.log, "::error file=live/.terraform.lock.hcl,line=1,title=lock-hash-missing::") != 2 {
		t.Fatal(u)
	}
	if !strings.HasPrefix(u.summary, "### tofu-oci lock --check: 1 provider in 1 lock file, for ") {
		t.Errorf("unexpected summary: %s", u.summary)
	}
	with["output"] = "sarif"
	if u = r.use(t, "lock-check", with); u.code != 5 || u.outputs["exit-code"] != "5" {
		t.Fatal(u)
	}
	if text := read(t, u.outputs["sarif-file"]); !strings.Contains(text, `"ruleId": "lock-hash-missing"`) {
		t.Error(text)
	}
	lock := r.command(t, "tofu-oci", "lock", "acme/widget@1.1.0", "--root", "live", "--from", from, "--signatures", "off")
	output(t, lock)
	for _, form := range []string{"github", "sarif"} {
		with["output"], with["lock-files"] = form, "live/**/.terraform.lock.hcl"
		if u = r.use(t, "lock-check", with); u.code != 0 || u.outputs["exit-code"] != "0" || strings.Contains(u.log, "::error") {
			t.Errorf("%s: %v", form, u)
		}
	}
}

// TestActionInputs checks that the actions report invalid inputs, and that they neither
// execute inputs nor parse inputs as flags.
func TestActionInputs(t *testing.T) {
	t.Parallel()
	r, _ := newJob(t)
	empty := newRunner(t)
	empty.env = []string{"PATH=/usr/bin:/bin"}
	const layout = "oci-layout:out/{type}"
	for name, test := range map[string]struct {
		action string
		with   map[string]string
		runner *runner
		want   string
	}{
		"no program":           {action: "mirror", with: map[string]string{"to": layout, "providers": "acme/widget"}, runner: empty, want: "::error::tofu-oci is not in PATH: add a step with the action tofu-oci/tofu-oci/action/setup"},
		"no program to check":  {action: "lock-check", runner: empty, want: "::error::tofu-oci is not in PATH"},
		"no target":            {action: "mirror", with: map[string]string{"to": "", "providers": "acme/widget"}, want: "::error::missing input to"},
		"no provider":          {action: "publish", with: map[string]string{"to": layout, "provider": ""}, want: "::error::missing input provider"},
		"nothing to mirror":    {action: "mirror", with: map[string]string{"to": layout, "providers": " \n"}, want: "PROVIDER"},
		"a flag as provider":   {action: "mirror", with: map[string]string{"to": layout, "providers": "--all"}, want: "--all"},
		"a script as provider": {action: "mirror", with: map[string]string{"to": layout, "providers": "$(touch here)"}, want: "$(touch here)"},
		"a script as target":   {action: "mirror", with: map[string]string{"to": "oci-layout:`touch here`/$(touch here)/{other}", "providers": "acme/widget"}, want: "{other}"},
		"two targets":          {action: "mirror", with: map[string]string{"to": layout + "\n--force", "providers": "acme/widget"}, want: "::error::invalid input to: want a single line"},
		"a script as platform": {action: "mirror", with: map[string]string{"to": layout, "providers": "acme/widget", "platforms": "';touch here;'"}, want: "touch here"},
		"neither on nor off":   {action: "mirror", with: map[string]string{"to": layout, "providers": "acme/widget", "all": "yes\n::error::x"}, want: "::error::invalid input all: want true or false, got yes%0A::error::x"},
		"words as flags":       {action: "mirror", with: map[string]string{"to": layout, "providers": "acme/widget", "flags": "acme/none"}, want: "one flag per line"},
		"end of flags":         {action: "mirror", with: map[string]string{"to": layout, "providers": "acme/widget", "flags": "--"}, want: "one flag per line"},
		"the output":           {action: "mirror", with: map[string]string{"to": layout, "providers": "acme/widget", "flags": "--output=text"}, want: "must not contain --output"},
		"two flags in a line":  {action: "mirror", with: map[string]string{"to": layout, "providers": "acme/widget", "flags": "--check-level tags"}, want: "--check-level tags"},
		"another form":         {action: "lock-check", with: map[string]string{"output": "json"}, want: "::error::invalid input output: want github or sarif, got json"},
		"a flag as lock file":  {action: "lock-check", with: map[string]string{"lock-files": "--dry-run"}, want: "--lock-file: --dry-run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			used := r
			if test.runner != nil {
				used = test.runner
			}
			u := used.use(t, test.action, test.with)
			text := u.log
			if file := u.outputs["result-file"]; file != "" {
				text += read(t, file)
			}
			if u.code != 2 || !strings.Contains(text, test.want) {
				t.Errorf("want %q\n%s%v", test.want, text, u)
			}
			nothingIsRun(t, used)
		})
	}
}
