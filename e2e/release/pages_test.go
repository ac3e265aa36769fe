//go:build release

package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestPages runs actionlint on the workflows in the documentation, and goreleaser on
// the configuration in docs/goreleaser.md.
func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(programs.root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	// goreleaser requires a Git repository.
	project := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"remote", "add", "origin", "https://github.com/acme/terraform-provider-widget"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = project
		if _, stderr, err := run(cmd); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr)
		}
	}
	workflows, configurations := 0, 0
	for _, page := range pages {
		text := read(t, filepath.Dir(page), filepath.Base(page))
		for _, block := range strings.Split(text, "\n```yaml\n")[1:] {
			block, _, _ = strings.Cut(block, "\n```\n")
			block += "\n"
			file := filepath.Join(t.TempDir(), "block.yml")
			if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), programs.goreleaser, "check", file)
			switch {
			case strings.Contains(block, "\njobs:\n") && strings.Contains(block, "runs-on:"):
				installsPrograms(t, filepath.Base(page), block)
				// SC1083 reports braces in templates, which shells do not expand.
				cmd = exec.CommandContext(t.Context(), programs.actionlint, "-ignore", "SC1083", file)
				workflows++
			case strings.HasPrefix(block, "version: 2\nbuilds:"):
				configurations++
			default:
				continue
			}
			cmd.Dir = project
			if stdout, stderr, err := run(cmd); err != nil {
				t.Errorf("%s: %v: %v\n%s%s\n%s", filepath.Base(page), cmd.Args, err, stdout, stderr, block)
			}
		}
	}
	for _, example := range files(t, 5, append([]string{"action/*/example.yml"}, examples[1:]...)...) {
		installsPrograms(t, example, read(t, programs.root, example))
	}
	if workflows < 2 || configurations != 1 {
		t.Errorf("found only %d workflows and %d configurations", workflows, configurations)
	}
}

// installers lists the programs that are not copied on GitHub's runners. used
// matches the steps that run the program, and by matches the steps that install it.
var installers = map[string]struct{ used, by *regexp.Regexp }{
	"tofu-oci":   {regexp.MustCompile(`(?m)(^|[|;&] )tofu-oci |^tofu-oci/tofu-oci/action/(mirror|publish|lock-check)@`), regexp.MustCompile(`^tofu-oci/tofu-oci/action/setup@v\d`)},
	"a login":    {regexp.MustCompile(`ghcr\.io/acme`), regexp.MustCompile(`\| tofu-oci login ghcr\.io `)},
	"goreleaser": {regexp.MustCompile(`(?m)^goreleaser `), regexp.MustCompile(`^goreleaser/goreleaser-action@`)},
	"cosign":     {regexp.MustCompile(`(?m)^cosign `), regexp.MustCompile(`^sigstore/cosign-installer@`)},
}

// installsPrograms checks that each job of a workflow installs a program before the job
// runs it.
func installsPrograms(t *testing.T, name, text string) {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses, Run string
				With      map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(text), &workflow); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for called, job := range workflow.Jobs {
		has := map[string]bool{}
		for _, step := range job.Steps {
			for program, is := range installers {
				says := step.Uses + step.Run
				if has[program] = has[program] || is.by.MatchString(says); is.used.MatchString(says+"\n"+step.With["to"]+step.With["from"]) && !has[program] {
					t.Errorf("%s: the job %s does not set up %s for\n%s", name, called, program, says)
				}
			}
		}
	}
}
