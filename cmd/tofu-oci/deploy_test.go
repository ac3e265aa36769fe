package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	pkgserve "github.com/tofu-oci/tofu-oci/pkg/serve"
)

var deploy = filepath.Join("..", "..", "deploy")

// TestDeployParses checks that each file in deploy/ has the format of its name, and that the
// command lines in it contain only existing flags.
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
	if err != nil || started != 3 {
		t.Errorf("%d commands, want 3: two for Kubernetes, one for systemd; %v", started, err)
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

// execStart returns the command line of a unit. systemd must find the program regardless of its location.
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

// checkFlags checks that the command in a line exists and has the flags in the line.
func checkFlags(t *testing.T, path, line string) {
	t.Helper()
	words := strings.Fields(line)
	if len(words) < 3 || words[0] != "tofu-oci" {
		t.Fatalf("%s starts %q", path, line)
	}
	known := map[string]bool{}
	for _, command := range main.NewApp(io.Discard, io.Discard).Commands {
		if command.Name == words[1] {
			for _, flag := range command.Flags {
				known[flag.Names()[0]] = true
			}
		}
	}
	for _, word := range words[2:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if !strings.HasPrefix(word, "--") || !known[name] {
			t.Errorf("%s: %s has no %s", path, words[1], word)
		}
	}
}

// TestDeployIsHeldTogether checks that references between Kubernetes objects are valid, and that
// pods have no unnecessary permissions.
func TestDeployIsHeldTogether(t *testing.T) {
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
			t.Errorf("there is no %s", kind)
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
			t.Errorf("there is no volume %s", m.Name)
		}
	}
	grace := pkgserve.DefaultGrace
	for _, arg := range c.Args {
		name, value, _ := strings.Cut(arg, "=")
		if name == "--grace" {
			var err error
			if grace, err = time.ParseDuration(value); err != nil {
				t.Error(err)
			}
		}
		inVolume := func(m named) bool { return strings.HasPrefix(value, m.MountPath+"/") || value == m.MountPath }
		if strings.HasPrefix(value, "/") && !slices.ContainsFunc(c.VolumeMounts, inVolume) {
			t.Errorf("%s is in no volume", arg)
		}
	}
	if end := time.Duration(pod.TerminationGracePeriodSeconds) * time.Second; end <= grace {
		t.Errorf("pods are killed after %s, and downloads go on for %s", end, grace)
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
	// metricName matches metrics in queries and scrapes, labelName matches labels that a query
	// compares or aggregates by.
	metricName = regexp.MustCompile(`\b(?:tofu_oci|go|process)_[a-z0-9_]+`)
	labelName  = regexp.MustCompile(`([a-z_]+)(?:=~?|!=)"`)
	byLabels   = regexp.MustCompile(`by \(([^)]*)\)`)
)

// TestDashboard checks that the queries of the dashboard and of docs/cli.md contain only existing
// metrics and labels, and that both contain all metrics of the program.
func TestDashboard(t *testing.T) {
	t.Parallel()
	scraped := scrapeAll(t)
	metricsThere, labels := map[string]bool{}, map[string]bool{"job": true, "instance": true, "le": true}
	if runtime.GOOS != "linux" { // what is known of a process differs
		metricsThere["process_resident_memory_bytes"], metricsThere["process_open_fds"] = true, true
	}
	for line := range strings.Lines(scraped) {
		if !strings.HasPrefix(line, "#") {
			name := metricName.FindString(line)
			metricsThere[name] = true
			for _, match := range labelName.FindAllStringSubmatch(line, -1) {
				labels[match[1]] = true
			}
		}
	}
	text := readPage(t, filepath.Join(deploy, "grafana", "serve.json"))
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Fatalf("%d panels, %v", len(dashboard.Panels), err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			names := metricName.FindAllString(target.Expr, -1)
			var used []string
			for _, match := range labelName.FindAllStringSubmatch(target.Expr, -1) {
				used = append(used, match[1])
			}
			for _, match := range byLabels.FindAllStringSubmatch(target.Expr, -1) {
				used = append(used, strings.Split(match[1], ", ")...)
			}
			if len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return !metricsThere[n] }) {
				t.Errorf("%s: there are not all metrics of %s", panel.Title, target.Expr)
			}
			if at := slices.IndexFunc(used, func(l string) bool { return !labels[l] }); at >= 0 {
				t.Errorf("%s: there is no label %s", panel.Title, used[at])
			}
		}
	}
	page := readPage(t, filepath.Join("..", "..", "docs", "cli.md"))
	for _, name := range metricName.FindAllString(page, -1) {
		if !metricsThere[name] && !metricsThere[name+"_count"] {
			t.Errorf("docs/cli.md names %s, which is not there", name)
		}
	}
	for name := range metricsThere {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(base, "tofu_oci_") && (!strings.Contains(text, base) || !strings.Contains(page, base)) {
			t.Errorf("%s is not in both the dashboard and docs/cli.md", base)
		}
	}
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
