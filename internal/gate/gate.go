// Package gate runs external programs that decide on releases before their tags are
// written.
//
//	release → JSON on stdin, and files → program → verdict on stdout
//
// A program allows, denies, or holds a release. If the program fails in any way, the
// release is held.
package gate

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// Files that a gate can need.
const (
	needZip          = "zip"
	needBinary       = "binary"
	needSBOM         = "sbom"
	needAttestations = "attestations"
)

var (
	// Actions lists all actions. The action module covers every action on modules. The
	// action import covers imports of providers and modules.
	Actions = []string{publish.ActionMirror, publish.ActionPublish, publish.ActionPromote, publish.ActionCopy, publish.ActionImport, publish.ActionModule}
	// Files lists all files that a gate can need.
	Files = []string{needZip, needBinary, needSBOM, needAttestations}
)

// defaultPlatform is the platform for which files are prepared.
var defaultPlatform = provider.Platform{OS: "linux", Arch: "amd64"}

// Gate is a program that decides on releases.
type Gate struct {
	Name string
	// Command contains the program and its arguments. The placeholders {zip}, {binary},
	// {sbom}, and {attestations} (a directory) are replaced by paths for the first
	// platform.
	Command []string
	// Timeout limits the duration of a run. If zero, [extprog.DefaultTimeout] is
	// used.
	Timeout time.Duration
	// On lists the actions for which the gate runs. If On is empty, the gate runs for
	// all actions.
	On []string
	// Needs lists the files that the program needs, in addition to those in Command.
	Needs []string
	// Platforms lists the platforms for which files are prepared. If empty, files are
	// prepared for linux_amd64 or, if the release lacks it, for the first platform.
	Platforms []provider.Platform
	// Env lists the environment variables that the program receives in addition to
	// PATH, HOME, and TMPDIR.
	Env []string
}

// Parse parses the command line of a gate. The gate's name is the program's file name.
func Parse(commandLine string) (Gate, error) {
	program, err := extprog.Parse(commandLine, Files...)
	name := strings.TrimSuffix(program.Name(), filepath.Ext(program.Name()))
	return Gate{Name: name, Command: program.Words()}, err
}

// id identifies the gate and its command in records.
func (g Gate) id() string {
	words, _ := json.Marshal(g.Command) //nolint:errchkjson // strings can always be encoded
	return g.Name + "@" + digest.FromBytes(words).Encoded()[:12]
}

// needs reports whether the program needs a file.
func (g Gate) needs(file string) bool {
	inCommand := func(word string) bool { return strings.Contains(word, "{"+file+"}") }
	return slices.Contains(g.Needs, file) || slices.ContainsFunc(g.Command, inCommand)
}

// Verdict is a gate's decision on a release.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Deny  Verdict = "deny"
	Hold  Verdict = "hold"
)
