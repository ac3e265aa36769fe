package exec

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// modulePath is OpenTofu's module path. OpenTofu has depended on ociModule since version
// 1.10, the first version that reads oci_mirror blocks.
const modulePath, ociModule = "github.com/opentofu/opentofu", "oras.land/oras-go/v2"

// timeouts limits how long Run waits for the version of a program.
type timeouts struct {
	// version limits the run time of a version manager, which might download OpenTofu
	// first.
	version time.Duration
	// output is how long a process that the program started can keep the output open.
	output time.Duration
}

func defaultTimeouts() timeouts { return timeouts{version: 5 * time.Minute, output: time.Second} }

// readsOCI reports whether a program is a version of OpenTofu that reads oci_mirror
// blocks. For OpenTofu's executable, it reads the build information, which takes about
// a millisecond. It runs any other program, such as a version manager, to determine the
// version.
func (o Options) readsOCI(ctx context.Context, program string) bool {
	if info, err := buildinfo.ReadFile(program); err == nil && info.Main.Path == modulePath {
		return slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return m.Path == ociModule })
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeouts.version)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "version")
	cmd.Dir, cmd.Env, cmd.WaitDelay = o.Dir, environment(o.Environ, os.DevNull), o.timeouts.output
	text, err := cmd.Output()
	return err == nil && isOpenTofuWithOCI(text)
}

// isOpenTofuWithOCI reports whether the output of "tofu version" contains a line such
// as "OpenTofu v1.10.0". The version must be at least 1.10.0.
func isOpenTofuWithOCI(text []byte) bool {
	for line := range bytes.Lines(text) {
		if version, found := strings.CutPrefix(strings.TrimSpace(string(line)), "OpenTofu v"); found {
			first, _ := provider.ParseVersion("1.10.0")
			v, err := provider.ParseVersion(version)
			return err == nil && v.Compare(first) >= 0
		}
	}
	return false
}
