//go:build wine

package wine_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var here = provider.Platform{OS: "windows", Arch: "amd64"}

// program is the Windows path of the program.
const program = `C:\Program Files\tofu-oci\tofu-oci.exe`

// machine is a Windows system with the installed program and a working directory.
type machine struct {
	// drive is the directory that contains the files of C:\, and work the directory of
	// `C:\a job`.
	drive, work string
}

// newMachine builds the program and installs it as an administrator would.
func newMachine(t *testing.T) machine {
	t.Helper()
	m := machine{drive: filepath.Join(world.prefix, "drive_c")}
	m.work = filepath.Join(m.drive, "a job")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-overlay", world.overlay, "-o", filepath.Join(m.drive, "Program Files", "tofu-oci")+"/", "./cmd/tofu-oci")
	build.Dir, build.Env = world.root, world.environment
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(m.work, 0o700); err != nil {
		t.Fatal(err)
	}
	return m
}

// run runs tofu-oci and returns its output. The output must match the regular
// expression want.
func (m machine) run(t *testing.T, code int, want string, args ...string) string {
	t.Helper()
	cmd := wine(t.Context(), append([]string{"wine", program}, args...)...)
	cmd.Dir = m.work
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	printed := string(bytes.ReplaceAll(out, []byte("\r\n"), []byte("\n")))
	if got := cmd.ProcessState.ExitCode(); got != code || !regexp.MustCompile("(?m)"+want).MatchString(printed) {
		t.Fatalf("%q: exit code %d, want %d and %s\n%s", args, got, code, want, printed)
	}
	t.Logf("%q\n%s", args, printed)
	return printed
}

func (m machine) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.work, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files checks that the expected files exist in the job's directory. If a file is
// missing, the error lists the files in dir.
func (m machine) files(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	err := filepath.WalkDir(filepath.Join(m.work, dir), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			got = append(got, strings.TrimPrefix(path, m.work+"/"))
		}
		return err
	})
	for _, name := range want {
		if _, missing := os.Stat(filepath.Join(m.work, name)); missing != nil {
			t.Errorf("%v: got %q, error %v", missing, got, err)
		}
	}
	for _, name := range got {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("%s still exists", name)
		}
	}
}

// TestRound mirrors releases from an origin registry to a layout and a registry. It
// pulls the releases from both repositories to directories, and runs the providers.
func TestRound(t *testing.T) {
	m, ca := newMachine(t), authority(t)
	registry := startRegistry(t, ca) + "/mirror/{namespace}/{type}"
	m.write(t, "ca.pem", strings.ReplaceAll(string(ca.PEM()), "\n", "\r\n"))
	m.write(t, "tofu.rc", strings.ReplaceAll(origin(t, ca), "\n", "\r\n"))
	m.write(t, "sources.txt", "# by Notepad\r\nhashicorp/time\r\n")
	layout := `oci-layout:C:\air gap\{namespace}\{type}`

	// 1. Mirror to a layout, with all three notations of paths, and copy the release
	// from the layout to a registry.
	m.run(t, 0, ` created oci-layout:C:/air gap/hashicorp/time:`, "mirror", "--sources", "sources.txt", "--to", layout, "--config", "tofu.rc", "--ca-file", `C:\a job\ca.pem`)
	m.run(t, 0, ` unchanged `, "mirror", "hashicorp/time", "--to", "oci-layout:c:/air gap/{namespace}/{type}", "--config", "tofu.rc", "--ca-file", "ca.pem")
	m.run(t, 0, ` created localhost:`, "copy", "hashicorp/time", "--from", `oci-layout:..\air gap\{namespace}\{type}`, "--to", registry, "--ca-file", "ca.pem")
	m.run(t, 0, `^registry.opentofu.org/hashicorp/time`, "list", "--from", layout)
	m.run(t, 0, "", "verify", "hashicorp/time", "--check-level", "deep", "--launch", "--from", layout)
	m.run(t, 0, "", "doctor", "hashicorp/time", "--from", layout)

	// 2. Pull to directories, twice.
	for kind, want := range map[string]string{
		"zip":      "terraform-provider-time_" + fixture.TimeVersion + "_windows_amd64.zip",
		"packed":   "registry.opentofu.org/hashicorp/time/terraform-provider-time_" + fixture.TimeVersion + "_windows_amd64.zip",
		"unpacked": "registry.opentofu.org/hashicorp/time/" + fixture.TimeVersion + "/windows_amd64/terraform-provider-time_v" + fixture.TimeVersion + "_x5.exe",
		"network":  "registry.opentofu.org/hashicorp/time/index.json",
	} {
		for _, from := range []string{registry, layout} {
			m.run(t, 0, "", "pull", "hashicorp/time", "--layout", kind, "--dir", `pulled\`+kind, "--from", from, "--ca-file", "ca.pem")
		}
		m.files(t, "pulled", "pulled/"+kind+"/"+want)
	}

	// Pull to a directory whose path exceeds the Windows limit of 260 characters. The
	// path starts at the root of the drive.
	long := `\` + strings.Repeat(`a long name\`, 30)
	m.run(t, 0, "", "pull", "hashicorp/time", "--layout", "unpacked", "--dir", long, "--from", layout)
	m.run(t, 0, " kept ", "pull", "hashicorp/time", "--layout", "unpacked", "--dir", "C:"+long, "--from", layout)

	// 3. Lock the provider and run it.
	m.write(t, "main.tf", "terraform {\r\n  required_providers {\r\n    time = {\r\n      source = \"hashicorp/time\"\r\n    }\r\n  }\r\n}\r\n")
	m.run(t, 0, "", "lock", "--from", layout)
	m.run(t, 0, `TF_CLI_CONFIG_FILE=C:\\`, "exec", "--cache", `C:\cache`, "--from", layout, "--", "cmd", "/c", "set TF_")
	m.run(t, 0, `^in use +mirror`, "exec", "--cache", `C:\cache`, "--from", layout, "--", program, "cache", "prune", "--max-size", "0", "--cache", `C:\cache`)
	m.run(t, 3, "", "exec", "--cache", `C:\cache`, "--from", layout, "--", "cmd", "/c", "exit 3")
	m.run(t, 0, "", "cache", "info", "--cache", `C:\cache`)
	m.run(t, 0, "", "cache", "prune", "--max-size", "0", "--cache", `C:\cache`)

	// 4. Use the user's configuration.
	m.run(t, 0, "oci_mirror", "tofurc", registry, "--write", "tofu.rc")
	m.run(t, 0, "", "doctor", "--config", "tofu.rc")
}
