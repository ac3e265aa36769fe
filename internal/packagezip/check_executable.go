package packagezip

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// candidate is the file that OpenTofu would start.
type candidate struct {
	name     string
	platform provider.Platform
	problems []string
	// report receives the warnings.
	report *Report
}

func (e *candidate) refuse(format string, args ...any) {
	e.problems = append(e.problems, fmt.Sprintf("%q ", e.name)+fmt.Sprintf(format, args...))
}

func (e *candidate) warn(format string, args ...any) {
	e.report.warn("%q "+format, slices.Insert(args, 0, any(e.name))...)
}

// ModeProblem explains why the executable's mode prevents OpenTofu from starting a
// package on a platform. OpenTofu sets the mode in the archive. If the archive has no
// Unix modes, OpenTofu sets 0666 or 0, unlike [Reader.Unpack]. If the mode is not a
// problem, or if the package has no executable, ModeProblem returns an empty string.
func (c Contents) ModeProblem(typ string, p provider.Platform) string {
	name, _ := c.Executable(typ)
	switch mode, known := c.Modes[name]; {
	case name == "", p.OS == windows: // on Windows, the file's name determines whether it is executable
	case !known:
		return fmt.Sprintf("%q has no Unix mode, probably because the archive was created on Windows; OpenTofu would install it as a file that is not executable", name)
	case mode&0o111 == 0:
		return fmt.Sprintf("%q is not executable (mode %04o); OpenTofu would install it, but fail to start it", name, mode)
	}
	return ""
}

// checkContent reports problems with the first bytes of the file.
func (e *candidate) checkContent(start []byte) {
	// Windows starts scripts with these extensions.
	isBatch := e.platform.OS == windows && slices.Contains([]string{".bat", ".cmd"}, strings.ToLower(path.Ext(e.name)))
	if e.platform.OS == windows && !isBatch && !strings.EqualFold(path.Ext(e.name), ".exe") {
		e.warn("does not end in .exe, which Windows requires for programs")
	}
	found, isBinary := identify(start)
	switch {
	case len(start) == 0:
		e.refuse("is empty")
	case isBinary:
		e.checkBinary(found)
	case isBatch:
	case bytes.HasPrefix(start, []byte("#!")):
		e.checkScript(start)
	default:
		e.warn("is neither a binary nor a script with a #! line")
	}
}

func (e *candidate) checkScript(start []byte) {
	line, _, _ := bytes.Cut(start, []byte("\n"))
	switch {
	case e.platform.OS == windows:
		e.warn("is a script with a #! line, which Windows cannot run")
	case bytes.HasSuffix(line, []byte("\r")):
		e.warn("has a Windows line ending in its first line, so the interpreter's name contains a carriage return")
	}
}

// checkBinary reports a problem if a binary is not built for the platform.
func (e *candidate) checkBinary(found program) {
	want, isKnown := formats[e.platform.OS]
	switch {
	case !isKnown:
		e.warn("is %s; the binary format of %s is unknown", found, e.platform.OS)
		return
	case found.format != want:
		e.refuse("is %s; %s requires %s", found, e.platform, want)
		return
	case found.defect != "":
		e.refuse("%s", found.defect)
		return
	}
	if len(found.systems) > 0 && !slices.Contains(found.systems, e.platform.OS) {
		e.refuse("is %s for %s, not for %s", found.format, strings.Join(found.systems, " or "), e.platform.OS)
	}
	switch {
	case slices.Contains(found.archs, e.platform.Arch):
	case e.platform.Arch == "all": // used by goreleaser for universal binaries
		e.warn("is %s, but no client uses the platform %s; publish the zip once for each architecture, such as %s_arm64", found, e.platform, e.platform.OS)
	case !slices.Contains(knownArchs(want), e.platform.Arch):
		e.warn("is %s; the architecture of %s is unknown", found, e.platform)
	default:
		e.refuse("is %s, not for %s", found, e.platform.Arch)
	}
}
