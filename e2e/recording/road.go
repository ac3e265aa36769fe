// Package recording contains the commands of the demonstration, and draws their output
// as an animation for the README: an SVG without scripts.
package recording

import (
	"strings"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Dir is the directory for all files of the demonstration.
const Dir = "demo"

// Step is one command of the demonstration.
type Step struct {
	// Why is a short description of the purpose.
	Why string
	// Command contains the arguments of tofu-oci, separated by spaces and without
	// quotes.
	Command string
}

// Road returns the demonstration's commands, which mirror a provider to a repository
// and pull it for two platforms.
func Road(platforms ...provider.Platform) []Step {
	const (
		layout = "oci-layout:" + Dir + "/mirror/{namespace}/{type}"
		trust  = " --ca-file " + Dir + "/ca.pem"
	)
	var wanted strings.Builder
	for _, p := range platforms {
		wanted.WriteString(" --platform " + p.String())
	}
	return []Step{
		{"Mirror the newest release, all platforms, into an OCI image layout", "mirror hashicorp/time --to " + layout + trust},
		{"Again: nothing is downloaded or written", "mirror hashicorp/time --to " + layout + trust},
		{"Which versions are there", "list hashicorp/time --from " + layout},
		{"What the version holds", "list hashicorp/time@" + fixture.TimeVersion + " --from " + layout},
		{"Pull this machine's zip, checked against the mirrored SHA256SUMS", "pull hashicorp/time --from " + layout + " --dir " + Dir + "/zip"},
		{"A filesystem_mirror of zips for all platforms", "pull hashicorp/time --from " + layout + " --dir " + Dir + "/packed --layout packed" + wanted.String()},
		{"A filesystem_mirror of directories", "pull hashicorp/time --from " + layout + " --dir " + Dir + "/unpacked --layout unpacked"},
		{"What OpenTofu needs to install from a registry that was filled like this", "tofurc ghcr.io/acme/providers/{namespace}/{type}"},
	}
}

// Scene is a step and its output.
type Scene struct {
	Step
	Output string
}
