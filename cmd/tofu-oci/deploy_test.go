package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/internal/metrics"
	pkgserve "github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var deploy = filepath.Join("..", "..", "deploy")

// TestDeployParses checks that each file in deploy/ has the format that its name
// indicates, and that its command lines contain only existing flags.
func TestDeployParses(t *testing.T) {
	t.Parallel()
	started := 0
	err := filepath.WalkDir(deploy, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		var commands []string
		switch text := readPage(t, path); filepath.Ext(path) {
		case ".yaml":
			for _, object := range objectsIn(t, text) {
				commands = append(commands, containersIn(object)...)
			}
		case ".yml":
			for _, object := range objectsIn(t, text) {
				commands = append(commands, scriptsIn(object)...)
			}
		case ".json":
			var document map[string]any
			if err := json.Unmarshal([]byte(text), &document); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		case ".service":
			commands = []string{execStart(t, text)}
		default:
			t.Errorf("%s: nobody checks what it says", path)
		}
		for _, command := range commands {
			started++
			checkFlags(t, path, command)
		}
		return nil
	})
	if err != nil || started != 11 {
		t.Errorf("%d commands, want 11: four for Kubernetes, three for GitHub, three for GitLab, one for systemd; %v", started, err)
	}
}

// TestStarter checks that sync init --ci writes the files in templates/starter, that their
// commands contain only existing flags, and that they install the newest release in the
// changelog. With -update, it writes the declaration.
func TestStarter(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", filepath.FromSlash(starter))
	_, newest, _ := strings.Cut(readPage(t, filepath.Join("..", "..", "CHANGELOG.md")), "\n## [Unreleased]\n")
	_, newest, _ = strings.Cut(newest, "\n## [")
	newest, _, _ = strings.Cut(newest, "]")
	written := map[string]bool{}
	for _, ci := range []string{"github", "gitlab"} {
		created := t.TempDir()
		if code, _, problems := execute(t, "sync", "init", filepath.Join(created, "mirror.hcl"), "--ci", ci); code != 0 {
			t.Fatal(problems)
		}
		err := fs.WalkDir(os.DirFS(created), ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text := readPage(t, filepath.Join(created, name))
			if written[name] = true; *update && name == "mirror.hcl" {
				return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
			}
			if want := readPage(t, filepath.Join(dir, name)); text != want {
				t.Errorf("%s: %s differs from the file in templates/starter", ci, name)
			}
			if filepath.Ext(name) == ".yml" {
				for _, command := range scriptsIn(objectsIn(t, text)[0]) {
					checkFlags(t, name, command)
				}
				if !strings.Contains(text, "ersion: "+newest+"\n") && !strings.Contains(text, "VERSION: "+newest+"\n") {
					t.Errorf("%s does not install version %s", name, newest)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !written[name] {
			t.Errorf("sync init does not write %s", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

func objectsIn(t *testing.T, text string) []map[string]any {
	t.Helper()
	var objects []map[string]any
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var object map[string]any
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object)
	}
}

// execStart returns the command line of a unit.
func execStart(t *testing.T, unit string) string {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(unit, "\\\n", "")) {
		if command, found := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="); found {
			return strings.Join(strings.Fields(command), " ")
		}
	}
	t.Fatal("the unit starts nothing")
	return ""
}

// scriptsIn returns the sync commands in the scripts of a CI job.
func scriptsIn(node any) (commands []string) {
	switch value := node.(type) {
	case []any:
		for _, one := range value {
			commands = append(commands, scriptsIn(one)...)
		}
	case map[string]any:
		for _, one := range value {
			commands = append(commands, scriptsIn(one)...)
		}
	case string:
		if line, _, _ := strings.Cut(value, " >> "); strings.HasPrefix(line, "tofu-oci sync ") {
			commands = append(commands, line)
		}
	}
	return commands
}

// checkFlags checks that the command in a line exists and has the flags in the line. A command
// can have a subcommand, and subcommands of sync can have files as arguments.
func checkFlags(t *testing.T, path, line string) {
	t.Helper()
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != "tofu-oci" {
		t.Fatalf("%s starts %q", path, line)
	}
	known := map[string]bool{}
	name, rest := words[1], words[2:]
	if name == "sync" {
		name, rest = name+" "+rest[0], rest[1:]
		rest = slices.DeleteFunc(rest, func(word string) bool { return regexp.MustCompile(`\.(hcl|json)$`).MatchString(word) && word[0] != '-' })
	}
	for _, command := range commandsOf(main.NewApp(io.Discard, io.Discard).Commands) {
		if strings.TrimPrefix(command.HelpName, "tofu-oci ") == name {
			for _, flag := range command.Flags {
				known[flag.Names()[0]] = true
			}
		}
	}
	for _, word := range rest {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if !strings.HasPrefix(word, "--") || !known[name] {
			t.Errorf("%s: %s has no %s", path, words[1], word)
		}
	}
}

// TestDeployReferences checks that references between Kubernetes objects are valid, and
// that pods have no unnecessary permissions.
func TestDeployReferences(t *testing.T) {
	t.Parallel()
	text := readPage(t, filepath.Join(deploy, "kubernetes", "serve.yaml"))
	kinds := map[string]bool{}
	var d deployment
	for part := range strings.SplitSeq(text, "\n---\n") {
		var object deployment
		if err := yaml.Unmarshal([]byte(part), &object); err != nil && object.Kind == "Deployment" {
			t.Fatal(err)
		}
		if kinds[object.Kind] = true; object.Kind == "Deployment" {
			d = object
		}
	}
	for _, kind := range []string{"Deployment", "Service", "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount", "ConfigMap"} {
		if !kinds[kind] {
			t.Errorf("missing %s", kind)
		}
	}
	pod := d.Spec.Template.Spec
	if d.Spec.Replicas < 2 || len(pod.Containers) != 1 {
		t.Fatalf("%d replicas of %d containers", d.Spec.Replicas, len(pod.Containers))
	}
	c := pod.Containers[0]
	if s := c.SecurityContext; !pod.SecurityContext.RunAsNonRoot || !s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("the pods are allowed more than they need: %+v", s)
	}
	if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.Resources.Limits["memory"] == "" {
		t.Errorf("the probes or limits are others: %+v", c)
	}
	for _, p := range []probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		if p.HTTPGet.Port != "metrics" || p.HTTPGet.Scheme != "" {
			t.Errorf("clients can take all connections of the port that a probe asks: %+v", p)
		}
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("missing volume %s", m.Name)
		}
	}
	timeout := regexp.MustCompile(`shutdown_timeout = "(.*)"`).FindStringSubmatch(text)
	if timeout == nil {
		t.Fatal("the rules have no shutdown_timeout")
	}
	grace, err := time.ParseDuration(timeout[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range c.Args {
		_, value, _ := strings.Cut(arg, "=")
		inVolume := func(m named) bool { return strings.HasPrefix(value, m.MountPath+"/") || value == m.MountPath }
		if strings.HasPrefix(value, "/") && !slices.ContainsFunc(c.VolumeMounts, inVolume) {
			t.Errorf("%s is in no volume", arg)
		}
	}
	if end := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second; end <= grace {
		t.Errorf("pods are killed after %s, and downloads go on for %s", end, grace)
	}
}

// TestSyncJobs checks that deploy/kubernetes/sync.yaml reports the results of all shards, and that
// references between its objects are valid.
func TestSyncJobs(t *testing.T) {
	t.Parallel()
	objects := objectsIn(t, readPage(t, filepath.Join(deploy, "kubernetes", "sync.yaml")))
	var jobs [2]struct {
		Spec struct {
			JobTemplate struct {
				Spec struct {
					Completions, Parallelism int
					CompletionMode           string `yaml:"completionMode"`
					Template                 struct{ Spec podSpec }
				}
			} `yaml:"jobTemplate"`
		}
	}
	for i := range jobs {
		text, err := yaml.Marshal(objects[i])
		if err == nil {
			err = yaml.Unmarshal(text, &jobs[i])
		}
		if err != nil {
			t.Fatal(err)
		}
		pod := jobs[i].Spec.JobTemplate.Spec.Template.Spec
		for _, m := range pod.Containers[0].VolumeMounts {
			if !slices.ContainsFunc(pod.Volumes, func(v named) bool { return v.Name == m.Name }) {
				t.Errorf("missing volume %s", m.Name)
			}
		}
		if s := pod.Containers[0].SecurityContext; !pod.SecurityContext.RunAsNonRoot || !s.ReadOnlyRootFilesystem {
			t.Errorf("the pods are allowed more than they need: %+v", s)
		}
	}
	apply, merge := jobs[0].Spec.JobTemplate.Spec, jobs[1].Spec.JobTemplate.Spec
	args := apply.Template.Spec.Containers[0].Args
	if n := apply.Completions; apply.CompletionMode != "Indexed" || n != apply.Parallelism || !slices.Contains(args, fmt.Sprintf("--shard=auto/%d", n)) {
		t.Errorf("%d shards of %d at once: %q", n, apply.Parallelism, args)
	}
	for i := range apply.Completions {
		if path := fmt.Sprintf("/results/shard-%d.json", i); !slices.Contains(merge.Template.Spec.Containers[0].Args, path) {
			t.Errorf("%s is not reported", path)
		}
	}
	if !slices.Contains(args, "--result-file=/results/shard-$(JOB_COMPLETION_INDEX).json") {
		t.Errorf("the results are elsewhere: %q", args)
	}
}

// TestIngress checks that the backend of deploy/kubernetes/ingress.yaml is a port of the service in
// serve.yaml.
func TestIngress(t *testing.T) {
	t.Parallel()
	var ingress struct {
		Spec struct {
			Rules []struct {
				HTTP struct {
					Paths []struct {
						Backend struct {
							Service struct {
								Name string
								Port struct{ Name string }
							}
						}
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal([]byte(readPage(t, filepath.Join(deploy, "kubernetes", "ingress.yaml"))), &ingress); err != nil {
		t.Fatal(err)
	}
	if len(ingress.Spec.Rules) != 1 || len(ingress.Spec.Rules[0].HTTP.Paths) != 1 {
		t.Fatalf("unexpected rules %+v", ingress.Spec.Rules)
	}
	want := ingress.Spec.Rules[0].HTTP.Paths[0].Backend.Service
	for part := range strings.SplitSeq(readPage(t, filepath.Join(deploy, "kubernetes", "serve.yaml")), "\n---\n") {
		var service struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct{ Ports []struct{ Name string } }
		}
		if err := yaml.Unmarshal([]byte(part), &service); err != nil || service.Kind != "Service" || service.Metadata.Name != want.Name {
			continue
		}
		if slices.ContainsFunc(service.Spec.Ports, func(p struct{ Name string }) bool { return p.Name == want.Port.Name }) {
			return
		}
	}
	t.Errorf("no service %s with the port %s", want.Name, want.Port.Name)
}

// deployment contains the checked fields of a Deployment.
type deployment struct {
	Kind string
	Spec struct {
		Replicas int
		Template struct{ Spec podSpec }
	}
}

type podSpec struct {
	TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
	SecurityContext               struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
	} `yaml:"securityContext"`
	Containers []container
	Volumes    []named
}

type named struct {
	Name      string
	MountPath string `yaml:"mountPath"`
}

type container struct {
	Args            []string
	StartupProbe    probe   `yaml:"startupProbe"`
	LivenessProbe   probe   `yaml:"livenessProbe"`
	ReadinessProbe  probe   `yaml:"readinessProbe"`
	VolumeMounts    []named `yaml:"volumeMounts"`
	Resources       struct{ Limits map[string]string }
	SecurityContext struct {
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		Capabilities             struct{ Drop []string }
	} `yaml:"securityContext"`
}

type probe struct {
	HTTPGet struct{ Path, Port, Scheme string } `yaml:"httpGet"`
}

var (
	// metricName matches metrics in queries and scrapes. labelName matches labels by
	// which a query filters or aggregates.
	metricName = regexp.MustCompile(`\b(?:tofu_oci|go|process)_[a-z0-9_]+`)
	labelName  = regexp.MustCompile(`([a-z_]+)(?:=~?|!=)"`)
	byLabels   = regexp.MustCompile(`by \(([^)]*)\)`)
)

// TestDashboards checks that the queries of dashboards, of alert rules, and of
// docs/output.md contain only existing metrics and labels, and that the dashboards and
// docs/output.md contain all metrics of the program.
func TestDashboards(t *testing.T) {
	t.Parallel()
	page := readPage(t, filepath.Join("..", "..", "docs", "output.md"))
	all := map[string]bool{}
	for name, scraped := range map[string]string{"serve": scrapeAll(t), "sync": textfile(t)} {
		there, labels := map[string]bool{}, map[string]bool{"job": true, "instance": true, "le": true}
		for line := range strings.Lines(scraped) {
			if !strings.HasPrefix(line, "#") {
				name := metricName.FindString(line)
				there[name], all[name] = true, true
				for _, match := range labelName.FindAllStringSubmatch(line, -1) {
					labels[match[1]] = true
				}
			}
		}
		if runtime.GOOS != "linux" { // process metrics differ on other systems
			there["process_resident_memory_bytes"], there["process_open_fds"] = true, true
		}
		text := readPage(t, filepath.Join(deploy, "grafana", name+".json"))
		for _, query := range queriesIn(t, text) {
			checkQuery(t, query, there, labels)
		}
		for name := range there {
			base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
			if strings.HasPrefix(base, "tofu_oci_") && (!strings.Contains(text, base) || !strings.Contains(page, base)) {
				t.Errorf("%s is not in both the dashboard and docs/output.md", base)
			}
		}
		if name == "sync" {
			for _, query := range alertsIn(t) {
				checkQuery(t, query, there, labels)
			}
		}
	}
	for _, name := range metricName.FindAllString(page, -1) {
		if !all[name] && !all[name+"_count"] {
			t.Errorf("docs/output.md names %s, which is not there", name)
		}
	}
}

// queriesIn returns the queries of a dashboard.
func queriesIn(t *testing.T, text string) (queries []string) {
	t.Helper()
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Fatalf("%d panels, %v", len(dashboard.Panels), err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}

// alertsIn returns the queries of the alert rules.
func alertsIn(t *testing.T) (queries []string) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal([]byte(readPage(t, filepath.Join(deploy, "prometheus", "sync.yaml"))), &rules); err != nil || len(rules.Groups) != 1 {
		t.Fatalf("%d groups, %v", len(rules.Groups), err)
	}
	for _, rule := range rules.Groups[0].Rules {
		queries = append(queries, rule.Expr)
	}
	return queries
}

// checkQuery checks that the metrics and labels of a query exist.
func checkQuery(t *testing.T, query string, there, labels map[string]bool) {
	t.Helper()
	names := metricName.FindAllString(query, -1)
	var used []string
	for _, match := range labelName.FindAllStringSubmatch(query, -1) {
		used = append(used, match[1])
	}
	for _, match := range byLabels.FindAllStringSubmatch(query, -1) {
		used = append(used, strings.Split(match[1], ", ")...)
	}
	if len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return !there[n] }) {
		t.Errorf("missing metrics of %s", query)
	}
	if at := slices.IndexFunc(used, func(l string) bool { return !labels[l] }); at >= 0 {
		t.Errorf("%s: missing label %s", query, used[at])
	}
}

// textfile returns a textfile in which each metric of sync has a value.
func textfile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sync.prom")
	m := metrics.Sync{Finished: time.Now(), Actions: map[string]int{"mirror": 1}, Signatures: map[string]int{"signed": 1}, Newest: map[string]time.Time{"a": time.Now()}}
	if err := m.WriteTextfile(path); err != nil {
		t.Fatal(err)
	}
	return readPage(t, path)
}

// scrapeAll returns a scrape in which each metric has a value.
func scrapeAll(t *testing.T) string {
	t.Helper()
	m := metrics.New("1.2.3")
	events := m.Watch(pkgserve.Events{})
	events.OnRequest(pkgserve.RequestEvent{Route: "archive", Status: http.StatusOK, Refused: "range", Stale: io.EOF})
	events.OnOmitted(provider.Address{}, provider.Version{}, "")
	events.OnLookup("tags", true)
	events.OnFailure("network", io.EOF)
	events.OnPull(pullthrough.Event{Stage: pullthrough.StageDone})
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if !bytes.Contains(answer.Body.Bytes(), []byte("go_goroutines")) {
		t.Fatalf("got %d %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}
