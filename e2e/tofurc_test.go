package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
)

// corpusSize is the number of configurations that both programs read, including
// oddities. OpenTofu needs about 30 ms for each configuration.
const corpusSize = 2050

// verdict describes how a program reads a configuration.
type verdict struct {
	refused bool
	why     string
	// methods lists the methods of the provider_installation block, one per line.
	methods string
}

// TestCLIConfigurationsMatchOpenTofu reads the same files with tofu and with the code
// of doctor --config. Both must report problems in the same files, and must read the
// same methods from valid files.
func TestCLIConfigurationsMatchOpenTofu(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	c := newCorpus(20)
	configs, paths := slices.Clone(oddities), []string{}
	for len(configs) < corpusSize {
		configs = append(configs, c.config())
	}
	for i, config := range configs {
		paths = append(paths, filepath.Join(home, fmt.Sprintf("%d.tfrc", i)))
		write(t, paths[i], config)
	}
	theirs := tofuJudgesAll(t.Context(), home, paths)
	accepted, expected := 0, map[string]int{}
	for i, config := range configs {
		ours := weJudge(t, paths[i])
		if !theirs[i].refused {
			accepted++
		}
		if ours.refused == theirs[i].refused && (ours.refused || ours.methods == theirs[i].methods) {
			continue
		}
		reason := onPurpose(config, ours, theirs[i])
		if reason == "" {
			t.Errorf("configuration %d:\n%s\nOpenTofu: refused %v\n%s%s\ntofu-oci: refused %v\n%s\n%s", i, config,
				theirs[i].refused, theirs[i].methods, theirs[i].why, ours.refused, ours.methods, ours.why)
			continue
		}
		expected[reason]++
		t.Logf("configuration %d differs on purpose, %s: %s", i, reason, ours.why)
	}
	t.Logf("%d configurations, %d of them accepted by OpenTofu; differences on purpose: %v", corpusSize, accepted, expected)
	if accepted < corpusSize/4 || accepted > corpusSize*3/4 {
		t.Errorf("OpenTofu accepts %d of %d: the corpus is unbalanced", accepted, corpusSize)
	}
	for _, p := range purposes {
		if expected[p.reason] == 0 {
			t.Errorf("no difference was found because %s", p.reason)
		}
	}
}

// purposes lists the intended differences and their reasons. They concern problems that
// only tofu-oci reports, in one or both syntaxes. tofu-oci reports every problem that
// OpenTofu reports.
var purposes = []struct {
	ours     *regexp.Regexp
	jsonOnly bool
	reason   string
}{
	{regexp.MustCompile(`invalid JSON syntax`), true, "OpenTofu reads malformed JSON as far as it gets, and leaves out the rest"},
	{regexp.MustCompile(`a list must not contain lists, null, true, or false`), true, "OpenTofu leaves true and false out of lists, and what follows a list within a list"},
	{regexp.MustCompile(`json-objects|unknown installation method|must be (a string|true or false|an integer|a list of strings)`), true, "OpenTofu merges objects into their parents, and then reads an empty block"},
	{regexp.MustCompile(`are the same host`), false, "OpenTofu takes one of the two host blocks by chance"},
	{regexp.MustCompile(`invalid registry host "[^"]*[*_][^"]*"`), false, "no registry can have the name in the template"},
}

func onPurpose(config string, ours, theirs verdict) string {
	for _, p := range purposes {
		if ours.refused && !theirs.refused && p.ours.MatchString(ours.why) && (!p.jsonOnly || strings.HasPrefix(config, "{")) {
			return p.reason
		}
	}
	return ""
}

// weJudge reads a configuration like doctor --config.
func weJudge(t *testing.T, path string) verdict {
	t.Helper()
	env := cliconfig.SystemEnvironment()
	files, err := cliconfig.Locate(env, path)
	if err != nil {
		t.Fatal(err)
	}
	config, err := cliconfig.Read(env, files)
	if err != nil {
		return verdict{refused: true, why: err.Error()}
	}
	v := verdict{}
	for _, f := range doctor.CheckConfig(config, files) {
		// If the cache directory is missing, OpenTofu also reports a problem, but
		// continues.
		if f.Severity == finding.Error || f.Code == string(cliconfig.NoteCacheDir) {
			v.refused = true
			v.why += f.Code + ": " + f.Message + "\n"
		}
	}
	if config.Installation == nil {
		return v
	}
	for _, m := range config.Installation.Methods {
		line := map[cliconfig.Kind]string{
			cliconfig.Direct:           "cliconfig.ProviderInstallationDirect",
			cliconfig.FilesystemMirror: fmt.Sprintf("cliconfig.ProviderInstallationFilesystemMirror(%q)", m.Path),
			cliconfig.NetworkMirror:    fmt.Sprintf("cliconfig.ProviderInstallationNetworkMirror(%q)", m.URL),
			cliconfig.OCIMirror:        "cliconfig.ProviderInstallationNetworkMirror{/*...*/}", // OpenTofu prints this text
		}[m.Kind]
		v.methods += fmt.Sprintf("%s with includes %v and excludes %v\n", line, m.Include, m.Exclude)
	}
	return v
}

// selected matches the line in tofu's log that describes a method. everywhere matches
// the pattern */*/* as the log shows it.
var (
	selected   = regexp.MustCompile(`(?m)Selected provider installation method (.*)$`)
	everywhere = regexp.MustCompile(`%!s\(PANIC=String method: ForDisplay called on invalid Hostname: idna: disallowed rune U\+002A\)`)
)

// tofuJudgesAll runs tofu on all files, with one process per CPU.
func tofuJudgesAll(ctx context.Context, home string, paths []string) []verdict {
	verdicts := make([]verdict, len(paths))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				verdicts[i] = tofuJudges(ctx, home, paths[i])
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	workers.Wait()
	return verdicts
}

// tofuJudges runs a tofu command that needs no configuration. When tofu starts, it
// reads the CLI configuration and reports the configuration's problems.
func tofuJudges(ctx context.Context, home, path string) verdict {
	cmd := exec.CommandContext(ctx, programs.tofu, "version")
	cmd.Env = append(os.Environ(), "HOME="+home, "USERPROFILE="+home, "APPDATA="+home, "TF_CLI_CONFIG_FILE="+path, "CHECKPOINT_DISABLE=1", "TF_LOG=TRACE", "GOGC=off")
	output, err := cmd.CombinedOutput()
	var v verdict
	for _, m := range selected.FindAllStringSubmatch(string(output), -1) {
		v.methods += everywhere.ReplaceAllString(strings.TrimSpace(m[1]), "*/*/*") + "\n"
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return verdict{refused: true, why: "it does not run: " + err.Error()}
	}
	v.refused = err != nil
	for line := range strings.Lines(string(output)) {
		if strings.HasPrefix(line, "Error: ") || strings.Contains(line, "OPENTOFU CRASH") {
			v.refused = true
			v.why += line
		}
	}
	return v
}
