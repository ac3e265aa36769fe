package publish_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// gateCall contains the recorded input of a gate.
type gateCall struct {
	Input map[string]any
	Args  []string
	Env   []string
	// Files maps the paths in the arguments to their content.
	Files map[string][]byte
}

// gateProgram acts as a gate. Its arguments are FILE MODE ARG…. It writes its input to
// FILE. MODE is the output or a kind of misbehavior.
func gateProgram(args []string) error {
	c := gateCall{Args: args[2:], Env: os.Environ(), Files: map[string][]byte{}}
	if err := json.NewDecoder(os.Stdin).Decode(&c.Input); err != nil {
		return err
	}
	for i, path := range c.Args {
		if found, _ := filepath.Glob(filepath.Join(path, "*")); len(found) == 1 { // a directory
			path = found[0]
		}
		if content, err := os.ReadFile(path); err == nil {
			c.Files[c.Args[i]] = content
		}
	}
	data, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(args[0], data, 0o600)
	}
	if err != nil {
		return err
	}
	switch args[1] {
	case "flood":
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<20)); err != nil {
				return err
			}
		}
	case "hang":
		time.Sleep(patience.Limit)
	case "crash":
		return errors.New("scanner\x1b[31m broke at https://user:hunter2@db.example.com/")
	case "fork":
		self, err := os.Executable()
		if err != nil {
			return err
		}
		child := exec.Command(self, asProgram, "gate", args[0]+".child", "connect", args[2])
		child.Stdin, child.Stderr = strings.NewReader("{}"), os.Stderr
		connected, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err == nil {
			_, err = connected.Read(make([]byte, 1))
		}
		if err == nil {
			_, err = fmt.Println(allows)
		}
		return err
	case "connect":
		if _, err := net.Dial("tcp", args[2]); err != nil {
			return err
		}
		_, _ = fmt.Println("connected")
		time.Sleep(patience.Limit)
	}
	answer := []byte(args[1])
	if args[1] == "answer" { // the answer is in a file
		if answer, err = os.ReadFile(args[0] + ".answer"); err != nil {
			return err
		}
	}
	_, err = os.Stdout.Write(answer)
	return err
}

// gateOf returns a gate that runs the test binary, and the file that receives its input.
func gateOf(t *testing.T, mode string, args ...string) (gate.Gate, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "call")
	return gate.Gate{
		Name: "scan", Command: append([]string{self, asProgram, "gate", file, mode}, args...), Timeout: patience.Limit,
	}, file
}

func readCall(t *testing.T, file string) (c gateCall) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	allows = `{"verdict":"allow"}`
	denies = `{"verdict":"deny","reason":"contains GO-2024-0001"}`
	holds  = `{"verdict":"hold","reason":"no owner"}`
)

// tagsOf returns the tags of the repository.
func (to *target) tagsOf(t *testing.T) []string {
	t.Helper()
	tags, err := to.open(t).Tags(t.Context())
	if err != nil && !errors.Is(err, repository.ErrNotFound) && !errors.Is(err, repository.ErrNoRepository) {
		t.Fatal(err)
	}
	return tags
}

func TestGateAllows(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		g, file := gateOf(t, allows, "{zip}", "{binary}")
		g.Platforms = []provider.Platform{minix}
		w.publish(t, to, publish.Created, publish.Options{Gates: gate.Gates{g}})
		c := readCall(t, file)
		if c.Input["action"] != "mirror" || c.Input["address"] != w.address.String() || c.Input["version"] != "1.2.3" || c.Input["index"] != to.digest(t).String() {
			t.Errorf("input: %v", c.Input)
		}
		if platforms, _ := c.Input["platforms"].([]any); len(platforms) != len(all) {
			t.Errorf("platforms: %v", c.Input["platforms"])
		}
		if !bytes.Equal(c.Files[c.Args[0]], w.zips[minix]) || string(c.Files[c.Args[1]]) != minix.String() {
			t.Errorf("files: %v", c.Args)
		}
		for _, path := range c.Args {
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("%s was not removed: %v", path, err)
			}
		}
		// The tag is not written again, so the gate doesn't run again.
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		w.publish(t, to, publish.Unchanged, publish.Options{Gates: gate.Gates{g}})
		if _, err := os.Stat(file); err == nil {
			t.Error("the gate ran for an unchanged release")
		}
	})
}

func TestGateHolds(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		g, _ := gateOf(t, holds)
		result, err := w.run(t, to, publish.Options{Gates: gate.Gates{g}})
		if err != nil || result.Status != publish.Created || result.Tag != "pending-1.2.3" || result.Held == nil || result.Held.Reason != "no owner" || result.Moved != 0 {
			t.Fatalf("%+v, %v", result, err)
		}
		if diff := cmp.Diff([]string{"pending-1.2.3"}, withoutReferrers(to.tagsOf(t))); diff != "" {
			t.Errorf("tags: %s", diff)
		}
		// A later run starts the gate again.
		g, _ = gateOf(t, allows)
		w.publish(t, to, publish.Created, publish.Options{Gates: gate.Gates{g}})
		if diff := cmp.Diff([]string{"1.2.3"}, withoutReferrers(to.tagsOf(t))); diff != "" {
			t.Errorf("tags: %s", diff)
		}
	})
}

// TestHeldTag checks which pending tags remain after the gate has allowed a release.
func TestHeldTag(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options   registrytest.Options
		platforms []provider.Platform // of the held release
		want      []string
	}{
		"deletes manifests": {options: registrytest.Options{DeletesManifests: true}, want: []string{"1.2.3"}},
		"keeps tags":        {options: registrytest.Options{NoDelete: http.StatusMethodNotAllowed}, want: []string{"1.2.3", "pending-1.2.3"}},
		"other content":     {platforms: all[:1], want: []string{"1.2.3", "pending-1.2.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.registry(t, test.options)
			for _, mode := range []string{holds, allows} {
				g, _ := gateOf(t, mode)
				o := publish.Options{Gates: gate.Gates{g}}
				if mode == holds {
					o.Platforms = test.platforms
				}
				if _, err := w.run(t, to, o); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(test.want, withoutReferrers(to.tagsOf(t))); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			if i, err := repository.Inspect(t.Context(), to.open(t), "1.2.3", repository.DepthContent); err != nil || len(i.Index.Platforms()) != len(all) {
				t.Errorf("%+v, %v", i, err)
			}
		})
	}
}

// TestGateFailsClosed checks that each kind of misbehavior holds the release.
func TestGateFailsClosed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ mode, want string }{
		"crash":          {"crash", "scanner [31m broke at https://***@db.example.com/"},
		"hang":           {"hang", "ran for more than"},
		"flood":          {"flood", "printed more than"},
		"nothing":        {"", "printed nothing"},
		"text":           {"allow", "not a JSON object"},
		"two objects":    {allows + allows, "not a single JSON object"},
		"unknown":        {`{"verdict":"alow"}`, "unknown verdict"},
		"no verdict":     {`{}`, "unknown verdict"},
		"two verdicts":   {`{"verdict":"deny","reason":"no","Verdict":"allow"}`, `the key "Verdict" is repeated`},
		"no reason":      {`{"verdict":"deny"}`, "requires a reason"},
		"blank reason":   {`{"verdict":"hold","reason":" \u0007"}`, "requires a reason"},
		"long reason":    {`{"verdict":"deny","reason":"` + strings.Repeat("x", 5000) + `"}`, "exceeds"},
		"misspelled":     {`{"verdict":"allow","expire":"2020-01-01"}`, "unknown field"},
		"a condition":    {`{"verdict":"allow","expires":"2100-01-01"}`, `unknown field "expires"`},
		"another digest": {`{"verdict":"allow","index":"sha256:` + strings.Repeat("0", 64) + `"}`, "the result is for index"},
		"deep":           {`{"verdict":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "JSON exceeds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.layout(t)
			g, _ := gateOf(t, test.mode)
			if test.mode == "hang" {
				g.Timeout = time.Second // the gate never ends
			}
			result, err := w.run(t, to, publish.Options{Gates: gate.Gates{g}})
			held, ok := errors.AsType[*publish.HeldError](err)
			if !ok || held.Gate != "scan" || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") || provider.KindOf(err) != provider.Refused {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			if diff := cmp.Diff([]string{"pending-1.2.3"}, withoutReferrers(to.tagsOf(t))); diff != "" || result.Tag != "pending-1.2.3" {
				t.Errorf("tags: %s, %s", diff, result.Tag)
			}
		})
	}
}

// TestGateLeavesNoProcess checks that a child process of a gate neither blocks the run nor
// survives the gate.
func TestGateLeavesNoProcess(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	w := newWorld(t, origintest.Options{})
	g, _ := gateOf(t, "fork", listener.Addr().String())
	w.publish(t, w.layout(t), publish.Created, publish.Options{Gates: gate.Gates{g}})
	child, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Close() }()
	if _, err := child.Read(make([]byte, 1)); err == nil { // blocks as long as the child runs
		t.Error("the child sent a byte")
	}
}

func TestGateEnvironment(t *testing.T) {
	t.Setenv("TOFU_OCI_TEST_SECRET", "hunter2")
	t.Setenv("TOFU_OCI_TEST_LISTED", "visible")
	w := newWorld(t, origintest.Options{})
	g, file := gateOf(t, allows)
	g.Env = []string{"TOFU_OCI_TEST_LISTED", "TOFU_OCI_TEST_UNSET"}
	w.publish(t, w.layout(t), publish.Created, publish.Options{Gates: gate.Gates{g}})
	env := readCall(t, file).Env
	if strings.Contains(strings.Join(env, "\n"), "hunter2") || !slices.Contains(env, "TOFU_OCI_TEST_LISTED=visible") {
		t.Errorf("environment: %q", env)
	}
}

// TestGateNamesFiles checks that hostile names in a zip don't appear in paths.
func TestGateNamesFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	w.zips[minix] = zipNamed(t, "terraform-provider-thing_v1.2.3;touch $(id) --x", "program")
	w.offer(t, w.release(minix))
	g, file := gateOf(t, allows, "{binary}")
	w.publish(t, w.layout(t), publish.Created, publish.Options{Gates: gate.Gates{g}})
	path := readCall(t, file).Args[0]
	if filepath.Base(path) != "terraform-provider-thing" || filepath.Base(filepath.Dir(path)) != "minix_vax" {
		t.Errorf("path %q", path)
	}
}

// TestGateNeedsMissingFile checks that a missing file holds the release.
func TestGateNeedsMissingFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	for want, edit := range map[string]func(*gate.Gate){
		"needs a package for linux_amd64": func(g *gate.Gate) {
			g.Needs, g.Platforms = []string{"zip"}, []provider.Platform{{OS: "linux", Arch: "amd64"}}
		},
		"no SBOM":   func(g *gate.Gate) { g.Needs = []string{"sbom"} },
		"not found": func(g *gate.Gate) { g.Command = []string{"no-such-program-anywhere"} },
	} {
		g, _ := gateOf(t, allows)
		edit(&g)
		if _, err := w.run(t, w.layout(t), publish.Options{Gates: gate.Gates{g}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestGateComparesVersions checks that the input describes the newest stored version.
func TestGateComparesVersions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{})
	w.publish(t, to, publish.Created, publish.Options{})
	r := w.release(haiku, minix)
	r.Version, r.Protocols = "1.2.4", []string{"6.0"}
	w.offer(t, r)
	next, err := provider.ParseVersion("1.2.4")
	if err != nil {
		t.Fatal(err)
	}
	w.version = next
	g, file := gateOf(t, allows)
	if _, err := w.run(t, to, publish.Options{Gates: gate.Gates{g}}); err != nil {
		t.Fatal(err)
	}
	input := readCall(t, file).Input
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "schema", "v2", "gate-input.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(input); err != nil {
		t.Error(err)
	}
	previous, _ := input["previous"].(map[string]any)
	changes, _ := input["changes"].(map[string]any)
	removed := []any{"plan9_mips64", "zos_s390x"}
	if previous["version"] != "1.2.3" || changes["protocols"] != true || !cmp.Equal(changes["platforms_removed"], any(removed)) {
		t.Errorf("previous %v, changes %v", previous, changes)
	}
}

// TestGateOnCopy checks that a held copy becomes pending at the target, and that gates
// run only for their actions.
func TestGateOnCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	from := w.layout(t)
	w.publish(t, from, publish.Created, publish.Options{})
	for mode, action := range map[string]string{holds: "import", allows: "copy"} {
		g, file := gateOf(t, mode, "{zip}")
		g.On = []string{action}
		other, _ := gateOf(t, denies)
		other.On = slices.DeleteFunc([]string{"promote", "module", "copy", "import"}, func(a string) bool { return a == action })
		to := w.registry(t, registrytest.Options{})
		result, err := w.publisher().Copy(t.Context(), from.open(t), to.open(t), w.address, w.version, publish.Options{Gates: gate.Gates{g, other}, Import: action == "import"})
		if err != nil || (mode == holds) != (result.Held != nil && result.Tag == artifact.PendingTag(w.version)) {
			t.Errorf("%+v, %v", result, err)
		}
		if c := readCall(t, file); !bytes.Equal(c.Files[c.Args[0]], w.zips[haiku]) || c.Input["action"] != action {
			t.Errorf("%v", c.Input)
		}
		if isLive := to.digest(t) == from.digest(t); isLive != (mode == allows) {
			t.Errorf("%s: copied %s, want %s", mode, to.digest(t), from.digest(t))
		}
	}
}

// TestGateInterrupted checks that a canceled run leaves no tag.
func TestGateInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	g, _ := gateOf(t, "hang")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx = extprog.WithTrace(ctx, func(string) func(error) { cancel(); return func(error) {} })
	_, err := w.runOver(ctx, to.open(t), publish.Options{Gates: gate.Gates{g}})
	if provider.KindOf(err) != provider.Interrupted || len(withoutReferrers(to.tagsOf(t))) > 0 {
		t.Errorf("%v, tags %q", err, to.tagsOf(t))
	}
}

// TestGateDenies checks that a gate's denial refuses only this write: it is recorded, but
// only people deny versions.
func TestGateDenies(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		g, _ := gateOf(t, denies)
		o := publish.Options{Gates: gate.Gates{g}}
		for range 2 {
			_, err := w.run(t, to, o)
			denied, ok := errors.AsType[*repository.DeniedError](err)
			if !ok || denied.Record.Reason != "contains GO-2024-0001" || !strings.HasPrefix(denied.Record.Gate, "scan@") {
				t.Fatalf("error %v", err)
			}
		}
		if tags := withoutReferrers(to.tagsOf(t)); len(tags) > 0 {
			t.Errorf("tags: %q", tags)
		}
		o.SkipDenied = true
		if result, err := w.run(t, to, o); err != nil || result.Status != publish.Denied || result.Denial.Reason != "contains GO-2024-0001" {
			t.Errorf("%+v, %v", result, err)
		}
		g.Command[4] = `{"verdict":"allow","reason":"exception OPS-4711"}`
		index := w.publish(t, to, publish.Created, publish.Options{Gates: gate.Gates{g}}).Digest
		records, err := repository.Decisions(t.Context(), to.open(t), index)
		var got []string
		for _, r := range records {
			got = append(got, r.Verdict)
		}
		if diff := cmp.Diff([]string{"deny", "allow"}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

// withoutReferrers removes the tags of lists of referrers.
func withoutReferrers(tags []string) []string {
	return slices.DeleteFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, "sha256-") })
}

// TestGateDecidesAgain checks that no recorded decision replaces a gate's decision, even
// if it is signed with the run's key: the gate decides before each tag is written.
func TestGateDecidesAgain(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	signer := newSigners(t, 1)[0]
	w := newWorld(t, origintest.Options{})
	from := w.layout(t)
	g, file := gateOf(t, allows)
	o := publish.Options{Gates: gate.Gates{g}, RecordSigner: signer}
	index := w.publish(t, from, publish.Created, o).Digest
	g.Command[4] = holds
	d := repository.NewDecision(from.open(t), artifact.DecisionGate, artifact.VerdictAllow, w.address, w.version)
	d.Gate = "scan@" + digest.FromString("any").Encoded()[:12]
	i, err := repository.Inspect(t.Context(), from.open(t), "1.2.3", repository.DepthIndex)
	if err == nil {
		err = repository.Record(t.Context(), from.open(t), d, i.Descriptor, signer)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, imports := range []bool{false, true} {
		o.Import = imports
		to := w.layout(t)
		for range 2 { // the second time, the target's own record says "hold"
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			result, err := w.publisher().Copy(t.Context(), from.open(t), to.open(t), w.address, w.version, o)
			if _, notRun := os.Stat(file); err != nil || result.Held == nil || notRun != nil || to.digest(t) != "" {
				t.Errorf("import %t: %+v, %v, %v", imports, result, err, notRun)
			}
		}
		// The gates of the target decide, so it has only their records.
		records, err := repository.Decisions(t.Context(), to.open(t), index)
		if err != nil || len(records) != 1 || records[0].Verdict != artifact.VerdictHold {
			t.Errorf("import %t: %+v, %v", imports, records, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		_, err = approval.Promote(t.Context(), to.open(t), w.address, w.version, approval.PromoteOptions{Gates: o.Gates})
		if _, notRun := os.Stat(file); !errors.As(err, new(*publish.HeldError)) || notRun != nil {
			t.Errorf("import %t: %v, %v", imports, err, notRun)
		}
	}
}

// TestGateRespectsDenial checks that a gate neither lifts nor replaces a person's denial.
func TestGateRespectsDenial(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	repo := to.open(t)
	_, err := w.run(t, to, publish.Options{Stage: true})
	if err == nil {
		_, err = approval.Deny(t.Context(), repo, w.address, w.version, approval.DenyOptions{Reason: "no license"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for mode, force := range map[string]bool{allows: false, denies: true} {
		g, _ := gateOf(t, mode)
		_, err := w.run(t, to, publish.Options{Gates: gate.Gates{g}, Force: force})
		if denial, _, failed := repository.ReadDenial(t.Context(), repo, w.version); !errors.As(err, new(*repository.DeniedError)) || denial.Reason != "no license" || failed != nil {
			t.Errorf("error %v, denial %+v, %v", err, denial, failed)
		}
	}
}

// TestGateRecordsOnce checks that repeated decisions are recorded only once, and that the
// number of records is limited.
func TestGateRecordsOnce(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		g, file := gateOf(t, "answer")
		decide := func(answers ...string) {
			t.Helper()
			for _, answer := range answers {
				if err := os.WriteFile(file+".answer", []byte(answer), 0o600); err != nil {
					t.Fatal(err)
				}
				result, err := w.run(t, to, publish.Options{Gates: gate.Gates{g}, SkipDenied: true})
				if err != nil && !errors.As(err, new(*publish.HeldError)) {
					t.Errorf("%+v, %v", result, err)
				}
			}
		}
		decide(holds, holds, `{"verdict":"hold","reason":"no license"}`, holds, holds, denies, denies)
		repo := to.open(t)
		i, err := repository.Inspect(t.Context(), repo, artifact.PendingTag(w.version), repository.DepthIndex)
		if err != nil {
			t.Fatal(err)
		}
		check := func(want ...string) {
			t.Helper()
			records, err := repository.Decisions(t.Context(), repo, i.Digest)
			var got []string
			for _, r := range records {
				got = append(got, r.Reason)
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		want := []string{"no owner", "no license", "no owner", "contains GO-2024-0001"}
		if check(want...); to.registry == nil {
			return // the remaining records would take too long
		}
		for n := len(want); n < 100; n++ {
			d := repository.NewDecision(repo, artifact.DecisionGate, artifact.VerdictHold, w.address, w.version)
			d.Gate, d.Reason = "scan@000000000000", fmt.Sprintf("reason %d", n)
			if err := repository.Record(t.Context(), repo, d, i.Descriptor, nil); err != nil {
				t.Fatal(err)
			}
			want = append(want, d.Reason)
		}
		decide(`{"verdict":"hold","reason":"not recorded"}`, `{"verdict":"deny","reason":"not recorded"}`)
		check(want...)
		decide(`{"verdict":"allow","reason":"exception OPS-4711"}`)
		check(append(want, "exception OPS-4711")...)
	})
}

// TestGateScript runs the example in the documentation.
func TestGateScript(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		return // Windows has no shell
	}
	w := newWorld(t, origintest.Options{})
	script, err := filepath.Abs(filepath.Join("..", "..", "docs", "examples", "policy.sh"))
	if err != nil {
		t.Fatal(err)
	}
	g := gate.Gate{Name: "policy", Command: []string{shell, script}, Timeout: patience.Limit}
	to := w.layout(t)
	result, err := w.run(t, to, publish.Options{Gates: gate.Gates{g}})
	if err != nil || result.Held == nil || result.Held.Reason != "not signed by a trusted key" {
		t.Errorf("%+v, %v", result.Held, err)
	}
	w.publish(t, to, publish.Created, publish.Options{Gates: gate.Gates{g}, Verify: func(context.Context, provider.Release) (provider.Verdict, error) {
		return provider.Verdict{Trust: provider.TrustSigned, Fingerprint: "0123456789ABCDEF"}, nil
	}})
}
