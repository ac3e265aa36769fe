package sync

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// exampleRepository is the repository template of declarations for no known repository.
const exampleRepository = "ghcr.io/acme/providers/{namespace}/{type}"

// Template returns a declaration with comments that explain the arguments. It selects the
// wanted providers, and those in lock files, whose names can be patterns. repository is the
// repository template of the target, in either form, or empty for an example.
func Template(wanted []provider.Requirement, repository string, lockFiles ...string) []byte {
	for _, name := range []string{"hostname", "namespace", "type"} {
		repository = strings.ReplaceAll(repository, "${"+name+"}", "{"+name+"}")
	}
	var lists strings.Builder
	if len(lockFiles) == 0 {
		lists.WriteString("# ")
		lockFiles = []string{"live/**/.terraform.lock.hcl"}
	}
	quoted := make([]string, len(lockFiles))
	for i, name := range lockFiles {
		quoted[i] = quote(name)
	}
	fmt.Fprintf(&lists, "lock_files = [%s]\n", strings.Join(quoted, ", "))
	return fmt.Appendf(nil, templateText, lists.String(), quote(cmp.Or(repository, exampleRepository)), providerBlocks(wanted))
}

// providerBlocks returns a block for each provider, sorted by address.
func providerBlocks(wanted []provider.Requirement) string {
	if len(wanted) == 0 {
		return "# provider \"hashicorp/aws\" {\n#   versions = \">= 5.0\"\n#   latest   = 10\n# }\n"
	}
	constraints := map[provider.Address][]string{}
	var addresses []provider.Address
	for _, r := range wanted {
		if _, known := constraints[r.Address]; !known {
			addresses = append(addresses, r.Address)
			constraints[r.Address] = nil
		}
		if text := r.Constraint.String(); text != "" && !slices.Contains(constraints[r.Address], text) {
			constraints[r.Address] = append(constraints[r.Address], text)
		}
	}
	slices.SortFunc(addresses, provider.Address.Compare)
	var text strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&text, "provider %s {\n", quote(strings.TrimPrefix(a.String(), string(provider.DefaultHost)+"/")))
		comment := ""
		if len(constraints[a]) > 1 {
			text.WriteString("  # Choose one constraint. To select several versions, list them in a file of sources.\n")
			comment = "# "
		}
		for _, c := range constraints[a] {
			fmt.Fprintf(&text, "  %sversions = %s\n", comment, quote(c))
		}
		text.WriteString("}\n")
	}
	return text.String()
}

// quote returns a string in HCL.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "${", "$${", "%{", "%%{").Replace(s) + `"`
}

// templateText contains the lock files, the repository, and the provider blocks. Lines that
// start with "# " and a lower-case letter or a brace are examples.
const templateText = `# This file declares a mirror of providers. Run one of these commands:
#
#   tofu-oci sync validate    (checks this file)
#   tofu-oci sync plan        (prints what would change)
#   tofu-oci sync apply       (mirrors, copies, denies, and prunes)

version = 1

# The keys that must have signed the providers. To write this file, run tofu-oci trust init.
# trust = "trust.hcl"

# Files with one PROVIDER per line, such as hashicorp/aws@~> 5.0.
# sources = ["providers.txt"]

# Versions in lock files are mirrored and never pruned.
%s
# The repositories to write to.
target "main" {
  repository = %s
}

# Another registry, which is filled from the first one.
# target "dr" {
#   repository = join("/", [env("TOFU_OCI_SYNC_DR"), "providers/{namespace}/{type}"])
#   from       = "main"
# }

# Settings of all providers, with their default values.
defaults {
  latest     = 1      # the number of versions, or "all"
  platforms  = "all"  # or a list, such as ["linux_amd64", "darwin_arm64"]
  min_age    = "0s"   # to hold back new versions, such as "7d"
  signatures = "warn" # or "require"
}

# A provider with an address is mirrored. A pattern such as hashicorp/* only changes settings.
%s
# Denied versions can't be installed.
# deny "hashicorp/aws" {
#   versions = "5.71.0"
#   reason   = "withdrawn by its publisher"
# }

# Versions that nothing selects anymore are removed only with this block and mode = "delete".
# prune {
#   mode          = "report"
#   keep_previous = 1
#   keep_for      = "90d"
#   max_delete    = 20
# }

# A notification is sent after changes and failures.
# notify {
#   url_env = "MIRROR_WEBHOOK"
# }
`
