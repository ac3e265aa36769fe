// Package recording contains the commands of the demonstration. It draws their output
// as an animation for the README: an SVG without scripts.
package recording

import (
	"strings"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Dir is the directory that contains all files of the demonstration.
const Dir = "demo"

// layout is the repository template of the image layouts.
const layout = "oci-layout:" + Dir + "/mirror/{namespace}/{type}"

// Step is one command of the demonstration.
type Step struct {
	// Why is a short description of the step's purpose.
	Why string
	// Command contains tofu-oci's arguments, separated by spaces and without quotes.
	Command string
}

// Road returns the demonstration's commands, which mirror a provider to a repository
// and pull it for the given platforms.
func Road(platforms ...provider.Platform) []Step {
	const trust = " --ca-file " + Dir + "/ca.pem"
	var wanted strings.Builder
	for _, p := range platforms {
		wanted.WriteString(" --platform " + p.String())
	}
	return []Step{
		{"Mirror the newest release for all platforms to an OCI image layout", "mirror hashicorp/time --to " + layout + trust},
		{"Mirror it again: nothing is downloaded or written", "mirror hashicorp/time --to " + layout + trust},
		{"List the mirrored versions", "list hashicorp/time --from " + layout},
		{"List the contents of a version", "list hashicorp/time@" + fixture.TimeVersion + " --from " + layout},
		{"Pull the zip for this platform, verified with the mirrored SHA256SUMS", "pull hashicorp/time --from " + layout + " --dir " + Dir + "/zip"},
		{"Pull zips for all platforms as a filesystem_mirror", "pull hashicorp/time --from " + layout + " --dir " + Dir + "/packed --layout packed" + wanted.String()},
		{"Pull unpacked packages as a filesystem_mirror", "pull hashicorp/time --from " + layout + " --dir " + Dir + "/unpacked --layout unpacked"},
		{"Print the CLI configuration for installing from a registry", "tofurc ghcr.io/acme/providers/{namespace}/{type}"},
	}
}

// Install returns the step after [Road]. It runs OpenTofu in the directory project, which
// contains [Configuration]. The picture doesn't contain this step.
func Install() Step {
	return Step{
		"Install the provider with OpenTofu, without a registry",
		"exec --from " + layout + " --cache " + Dir + "/cache -- tofu -chdir=" + Dir + "/project init -no-color",
	}
}

// Configuration is the content of main.tf in the directory project.
const Configuration = `terraform {
  required_providers {
    time = {
      source = "hashicorp/time"
    }
  }
}
`

// Scene is a step and its output.
type Scene struct {
	Step
	Output string
}
