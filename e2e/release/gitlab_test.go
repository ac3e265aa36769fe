//go:build release

package release_test

import (
	"crypto/sha256"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"golang.org/x/crypto/bcrypt"
)

// component is a GitLab CI/CD component: its header and its job.
// https://docs.gitlab.com/ci/components/
type component struct {
	Spec struct {
		Inputs map[string]componentInput
	}
	body string
}

type componentInput struct {
	Description, Type, Regex string
	Default                  *string
	Options                  []string
}

type componentJob struct {
	Stage, Image string
	Variables    map[string]componentVariable
	BeforeScript []string `yaml:"before_script"`
	Script       []string
	AllowFailure map[string]int `yaml:"allow_failure"`
	Artifacts    map[string]any
}

type componentVariable struct {
	Value  string
	Expand *bool
}

var components = []string{"mirror", "publish", "lock-check"}

func readComponent(t *testing.T, name string) (c component) {
	t.Helper()
	head, body, found := strings.Cut(read(t, programs.root, "templates", name+".yml"), "\n---\n")
	if err := yaml.Unmarshal([]byte(head), &c); err != nil || !found {
		t.Fatalf("%s: %v", name, err)
	}
	c.body = body
	return c
}

var interpolated = regexp.MustCompile(`\$\[\[\s*inputs\.(\S+)\s*\]\]`)

// job validates the inputs and inserts them into the component's text.
func (c component) job(t *testing.T, with map[string]string) (name string, job componentJob, err error) {
	t.Helper()
	values := map[string]string{}
	for input := range with {
		if _, known := c.Spec.Inputs[input]; !known {
			return "", job, fmt.Errorf("unknown input %s", input)
		}
	}
	for input, of := range c.Spec.Inputs {
		value, given := with[input]
		switch {
		case given:
			if of.Regex != "" && !regexp.MustCompile(of.Regex).MatchString(value) || of.Options != nil && !slices.Contains(of.Options, value) || of.Type == "boolean" && value != "true" && value != "false" {
				return "", job, fmt.Errorf("invalid input %s: %q", input, value)
			}
		case of.Default == nil:
			return "", job, fmt.Errorf("missing input %s", input)
		default:
			value = *of.Default
		}
		values[input] = value
	}
	text := interpolated.ReplaceAllStringFunc(c.body, func(found string) string {
		value, known := values[interpolated.FindStringSubmatch(found)[1]]
		if !known {
			t.Errorf("unknown expression %s", found)
		}
		return value
	})
	var jobs map[string]componentJob
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&jobs); err != nil || len(jobs) != 1 {
		t.Fatalf("got %d jobs, error %v in\n%s", len(jobs), err, text)
	}
	name = slices.Collect(maps.Keys(jobs))[0]
	return name, jobs[name], nil
}

// runComponent runs a component's job in the given shell, as GitLab's runner does in an
// image.
func (r *runner) runComponent(t *testing.T, shell, name string, with map[string]string) (u outcome, err error) {
	t.Helper()
	_, job, err := readComponent(t, name).job(t, with)
	if err != nil {
		return u, err
	}
	script := "set -o errexit\nset +o noclobber\n" + strings.Join(slices.Concat(job.BeforeScript, job.Script), "\n") + "\n"
	path := filepath.Join(t.TempDir(), "script")
	write(t, path, script)
	cmd := r.command(t, shell, path)
	for variable, of := range job.Variables {
		cmd.Env = append(cmd.Env, variable+"="+of.Value)
	}
	stdout, stderr, err := run(cmd)
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), log: stdout + stderr}, nil
}

// TestComponentMetadata checks that inputs are described and validated, and that they
// are passed as variables without expansion, never as part of a script. It also checks
// that all components install tofu-oci in the same way and that shellcheck reports
// nothing.
func TestComponentMetadata(t *testing.T) {
	t.Parallel()
	var before []string
	for _, name := range components {
		c := readComponent(t, name)
		for input, of := range c.Spec.Inputs {
			if of.Description == "" || of.Regex == "" && of.Type != "boolean" && of.Options == nil {
				t.Errorf("%s: the input %s has no description, or accepts any value", name, input)
			}
		}
		with := map[string]string{"to": "x", "from": "x", "provider": "x"}
		for input := range with {
			if _, has := c.Spec.Inputs[input]; !has {
				delete(with, input)
			}
		}
		called, job, err := c.job(t, with)
		if err != nil || called != "tofu-oci-"+name {
			t.Fatalf("%s is named %s: %v", name, called, err)
		}
		for variable, of := range job.Variables {
			if !strings.HasPrefix(variable, "COMPONENT_") || of.Expand == nil || *of.Expand {
				t.Errorf("%s: %s is expanded", name, variable)
			}
		}
		_, scripts, _ := strings.Cut(c.body, "before_script:")
		if found := interpolated.FindString(scripts); found != "" {
			t.Errorf("%s: %s is part of a script", name, found)
		}
		if before = append(before, strings.Join(job.BeforeScript, "\n")); before[0] != before[len(before)-1] {
			t.Errorf("%s installs tofu-oci in a different way", name)
		}
		path := filepath.Join(t.TempDir(), "script")
		known := "export " + strings.Join(slices.Sorted(maps.Keys(job.Variables)), "='' ") + "=''\n"
		write(t, path, known+strings.Join(slices.Concat(job.BeforeScript, job.Script), "\n"))
		output(t, exec.CommandContext(t.Context(), "shellcheck", "--shell=sh", path))
	}
}

// TestComponents runs mirror, publish, and lock --check in the shells that the images
// contain, with the credentials that GitLab provides to jobs.
func TestComponents(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"sh", "bash"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			const password = `a "b": \c $(touch here)`
			hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
			if err != nil {
				t.Fatal(err)
			}
			users := filepath.Join(t.TempDir(), "htpasswd")
			write(t, users, "gitlab-ci-token:"+string(hash)+"\n")
			r, registry := newJobWith(t, "auth: {htpasswd: {realm: tests, path: '"+users+"'}}")
			r.env = append(r.env, "CI_REGISTRY="+registry, "CI_REGISTRY_USER=gitlab-ci-token", "CI_REGISTRY_PASSWORD="+password)
			to := registry + "/group/project/{namespace}/{type}"
			newDist(t, filepath.Join(r.workspace, "dist $(touch here)"))
			write(t, filepath.Join(r.workspace, "providers.txt"), "acme/widget\n")
			write(t, filepath.Join(r.workspace, ".terraform.lock.hcl"), "provider \"registry.opentofu.org/acme/widget\" {\n  version = \"1.1.0\"\n}\n")
			for _, test := range []struct {
				name string
				with map[string]string
				code int
				want string
			}{
				{"mirror", map[string]string{"to": to, "dry-run": "true"}, 0, "created"},
				{"mirror", map[string]string{"to": to, "latest": "2"}, 0, "1.0.0 created"},
				{"mirror", map[string]string{"to": to, "platforms": here.String() + "," + other.String()}, 0, "unchanged"},
				{"publish", map[string]string{"to": to, "provider": "example.com/acme/gadget", "path": "--force"}, 2, "--force"},
				{"publish", map[string]string{"to": to, "provider": "example.com/acme/gadget", "path": "dist $(touch here)"}, 0, "created"},
				{"lock-check", map[string]string{"from": to, "platforms": here.String()}, 5, "[lock-hash-missing]"},
				{"lock-check", map[string]string{"from": to, "lock-files": "--dry-run"}, 2, "--dry-run: no lock file"},
			} {
				u, err := r.runComponent(t, shell, test.name, test.with)
				if err != nil || u.code != test.code || !strings.Contains(u.log, test.want) {
					t.Errorf("%s %v: %v, want %d and %q\n%v", test.name, test.with, err, test.code, test.want, u)
				}
			}
			if _, err := os.Stat(filepath.Join(r.workspace, "here")); err == nil {
				t.Error("an input was run as a command")
			}
			if text := read(t, r.workspace, "tofu-oci-digests.txt"); !digests.MatchString(strings.TrimSpace(text)) {
				t.Errorf("unexpected digests %q", text)
			}
		})
	}
}

// TestComponentMirrorPartialFailure checks that a job exits with code 3, which the job
// allows, after a partial failure. After a failed verification, the exit code must be
// 4.
func TestComponentMirrorPartialFailure(t *testing.T) {
	t.Parallel()
	r, registry := newJob(t)
	write(t, filepath.Join(r.workspace, "absent.txt"), "acme/widget@1.0.0\nacme/nothing\n")
	write(t, filepath.Join(r.workspace, "unsigned.txt"), "acme/widget@1.0.0\nacme/widget@1.1.0\n")
	pins := filepath.Join(r.workspace, "trust.hcl")
	write(t, pins, "trust \"acme/widget\" {\n  fingerprints = [\"C874 011F 0AB4 0511 0D02 1055 3436 5D94 72D7 468F\"]\n  signed_since = \"1.1.0\"\n}\n")
	r.env = append(r.env, "TOFU_OCI_TRUST="+pins)
	for sources, want := range map[string]int{"absent.txt": 3, "unsigned.txt": 4} {
		u, err := r.runComponent(t, "sh", "mirror", map[string]string{"to": registry + "/" + sources + "/{type}", "sources": sources})
		if err != nil || u.code != want || !strings.Contains(u.log, "1.0.0 created") {
			t.Errorf("%s: %v, want %d\n%v", sources, err, want, u)
		}
	}
}

// TestComponentsInDocs checks that the examples in docs/ci.md set only inputs that the
// component defines and extend only jobs that exist.
func TestComponentsInDocs(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(read(t, programs.root, "docs", "ci.md"), "```yaml\ninclude:")
	text, _, _ = strings.Cut(text, "```")
	var page struct {
		Include []struct {
			Component string
			Inputs    map[string]string
		}
		Jobs map[string]any `yaml:",inline"`
	}
	text = strings.ReplaceAll(text, "DIGEST", strings.Repeat("0", 64))
	if err := yaml.Unmarshal([]byte("include:"+text), &page); err != nil {
		t.Fatal(err)
	}
	var included []string
	for _, i := range page.Include {
		// The text after the @ must be a tag of this repository.
		name, tag, _ := strings.Cut(strings.TrimPrefix(i.Component, "$CI_SERVER_FQDN/tofu-oci/tofu-oci/"), "@")
		if !strings.HasPrefix(i.Component, "$CI_SERVER_FQDN/tofu-oci/tofu-oci/") || tag != "v"+i.Inputs["version"] {
			t.Errorf("%s does not refer to a tag, or installs version %s", i.Component, i.Inputs["version"])
		}
		called, _, err := readComponent(t, name).job(t, i.Inputs)
		if _, has := page.Jobs[called]; err != nil || !has {
			t.Errorf("%s: %s, %v", name, called, err)
		}
		included = append(included, name)
	}
	if slices.Sort(included); !slices.Equal(included, slices.Sorted(slices.Values(components))) || len(page.Jobs) != len(included) {
		t.Errorf("unexpected components %v or jobs %v", included, page.Jobs)
	}
}

// TestComponentsRejectInputs checks that a component rejects inputs that would change
// the YAML or the commands.
func TestComponentsRejectInputs(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for input, value := range map[string]string{
		"to": "x\"\n  script: [touch here]", "path": "a\"b", "provider": `a\b`, "sha256": "abc", "version": "1.2.3;touch here", "platform": "plan9_sparc",
		"base-url": "http://example.com", "launch": "maybe", "platforms": "linux_amd64 --force", "job": "a\nb", "image": "a b",
	} {
		with := map[string]string{"to": "oci-layout:out/{type}", "provider": "acme/gadget"}
		with[input] = value
		if u, err := r.runComponent(t, "sh", "publish", with); err == nil || !strings.Contains(err.Error(), "invalid input "+input+": ") {
			t.Errorf("%s %q: %v, %v", input, value, err, u)
		}
	}
	nothingIsRun(t, r)
}

// TestComponentInstalls checks that a component installs only the program whose digest
// the pipeline specifies.
func TestComponentInstalls(t *testing.T) {
	t.Parallel()
	o, archive := newOffer(t, []byte("#!/bin/sh\necho \"run with $*\"\n"))
	renamed := "/download/v1.2.3/tofu-oci_1.2.3_linux_arm64.tar.gz"
	o.files[renamed] = o.files[archive]
	server := httptest.NewTLSServer(o)
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	good := map[string]string{
		"to": "x/{type}", "base-url": server.URL, "version": "1.2.3", "platform": "linux_arm64", "sha256": fmt.Sprintf("%x", sha256.Sum256(o.files[archive])),
	}
	for name, test := range map[string]struct {
		with map[string]string
		code int
		want string
	}{
		"as it should be": {code: 0, want: "run with mirror --sources=providers.txt --to=x/{type} --events=tofu-oci-events.jsonl\n"},
		"another digest":  {with: map[string]string{"sha256": fmt.Sprintf("%064x", 1)}, code: 1, want: "FAILED"},
		"no digest":       {with: map[string]string{"sha256": ""}, code: 2, want: "set the inputs version and sha256"},
		"no version":      {with: map[string]string{"version": ""}, code: 2, want: "set the inputs version and sha256"},
		"another version": {with: map[string]string{"version": "1.2.4"}, code: 22, want: "404"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t)
			r.env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + t.TempDir(), "CURL_CA_BUNDLE=" + ca}
			with := maps.Clone(good)
			maps.Copy(with, test.with)
			u, err := r.runComponent(t, "sh", "mirror", with)
			if err != nil || u.code != test.code || !strings.Contains(u.log, test.want) || test.code != 0 && strings.Contains(u.log, "run with") {
				t.Errorf("%v, want %d and %q\n%v", err, test.code, test.want, u)
			}
		})
	}
}
