package e2e_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// configured returns a job whose CLI configuration consists of before and the block
// that tofurc prints.
func (m timeMirror) configured(t *testing.T, before string) job {
	t.Helper()
	config := filepath.Join(t.TempDir(), "tofurc")
	block := run(t, programs.tofuOCI, "tofurc", m.repository)
	write(t, config, strings.Replace(block, "provider_installation {\n", "provider_installation {\n"+before, 1))
	m.flags = []string{"--config", config, "--ca-file", world.caFile}
	return m.job(t, t.TempDir())
}

// refuses checks that exec exits with the given code, and that the client prints
// nothing.
func (j job) refuses(t *testing.T, code int, reason string, flags []string, command ...string) {
	t.Helper()
	j.flags = append(flags, j.flags...)
	cmd := j.exec(t, command...)
	out, err := cmd.CombinedOutput()
	exit, _ := errors.AsType[*exec.ExitError](err)
	if exit == nil || exit.ExitCode() != code || !strings.Contains(string(out), "tofu-oci: ") || !strings.Contains(string(out), reason) {
		t.Errorf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
}

// TestExecUnlockedProviders checks that, with --allow-direct, OpenTofu uses the user's
// oci_mirror to install providers that the lock file lacks, even if only the state
// requires them. Terraform
// must not start. If signatures are required, OpenTofu must not start either.
func TestExecUnlockedProviders(t *testing.T) {
	t.Parallel()
	const lockFile = ".terraform.lock.hcl"
	m := newTimeMirror(t, provider.DefaultHost.String())
	j := m.configured(t, "")
	j.flags = append(j.flags, "--allow-direct")
	named := strings.Replace(mainTF, `"hashicorp/time"`, `"registry.opentofu.org/hashicorp/time"`, 1)
	write(t, filepath.Join(j.dir, "main.tf"), named)
	write(t, filepath.Join(j.dir, lockFile), "# nothing yet\n")
	j.refuses(t, 5, "not in the lock file", nil, programs.terraform, "init", "-input=false")
	j.refuses(t, 5, "not in the lock file", []string{"--signatures", "require"}, programs.tofu, "init", "-input=false")
	output(t, j.exec(t, programs.tofu, "init", "-input=false", "-no-color"))
	output(t, j.exec(t, programs.tofu, "apply", "-input=false", "-no-color", "-auto-approve"))

	inState := m.configured(t, "")
	inState.flags = append(inState.flags, "--allow-direct")
	write(t, filepath.Join(inState.dir, "main.tf"), "terraform {}\n")
	write(t, filepath.Join(inState.dir, "terraform.tfstate"), readFile(t, filepath.Join(j.dir, "terraform.tfstate")))
	write(t, filepath.Join(inState.dir, lockFile), "# nothing yet\n")
	output(t, inState.exec(t, programs.tofu, "init", "-input=false", "-no-color"))
	output(t, inState.exec(t, programs.tofu, "apply", "-input=false", "-no-color", "-auto-approve"))
}

// TestExecVerifiesCachedPackages uses a cached package that does not satisfy the
// policy. A run without the policy has cached the package. With the policy, exec must
// not start any client.
func TestExecVerifiesCachedPackages(t *testing.T) {
	t.Parallel()
	m := newTimeMirror(t, provider.DefaultHost.String())
	j := m.job(t, t.TempDir())
	write(t, filepath.Join(j.dir, "main.tf"), strings.Replace(mainTF, `"hashicorp/time"`, `"registry.opentofu.org/hashicorp/time"`, 1))
	for _, client := range []string{programs.tofu, programs.terraform} {
		output(t, j.exec(t, client, "init", "-input=false", "-no-color"))
		j.refuses(t, 4, "is refused: ", []string{"--signatures", "require"}, client, "init", "-input=false")
	}
	m.stop()
	j.refuses(t, 4, "is refused: ", []string{"--signatures", "require"}, programs.tofu, "init", "-input=false")
	output(t, j.exec(t, programs.tofu, "init", "-input=false", "-no-color"))
}

// TestExecDevOverrides checks that exec neither locks nor downloads providers in
// dev_overrides, and that it locks and downloads all other providers.
func TestExecDevOverrides(t *testing.T) {
	t.Parallel()
	m := newTimeMirror(t, provider.DefaultHost.String())
	built := filepath.ToSlash(t.TempDir())
	run(t, programs.tofuOCI, append([]string{"pull", "hashicorp/time", "--dir", built, "--layout", "unpacked"}, m.flags...)...)
	binary, err := filepath.Glob(filepath.Join(built, "*", "*", "*", "*", "*"))
	if err != nil || len(binary) != 1 {
		t.Fatalf("%v, %v", binary, err)
	}
	onlyTime := strings.Replace(mainTF, `"hashicorp/time"`, `"registry.opentofu.org/hashicorp/time"`, 1)
	both := strings.Replace(onlyTime, "    time = ", "    own = { source = \"registry.opentofu.org/acme/own\" }\n    time = ", 1)
	for _, client := range []string{programs.tofu, programs.terraform} {
		// 1. Override an unreleased provider.
		j := m.configured(t, "  dev_overrides {\n    \"registry.opentofu.org/acme/own\" = \""+built+"\"\n  }\n")
		write(t, filepath.Join(j.dir, "main.tf"), both)
		output(t, j.exec(t, client, "version"))
		if locked := string(readLock(t, j.dir)); strings.Contains(locked, "acme/own") || !strings.Contains(locked, "hashicorp/time") {
			t.Errorf("unexpected lock file:\n%s", locked)
		}
		// 2. Override the only provider.
		j = m.configured(t, "  dev_overrides {\n    \"registry.opentofu.org/hashicorp/time\" = \""+filepath.ToSlash(binary[0])+"\"\n  }\n")
		write(t, filepath.Join(j.dir, "main.tf"), onlyTime)
		output(t, j.exec(t, client, "apply", "-input=false", "-no-color", "-auto-approve"))
	}
}
