# This file declares a mirror of providers. Run these commands in order:
#
#   tofu-oci sync validate    (checks this file)
#   tofu-oci sync plan        (prints the planned changes)
#   tofu-oci sync apply       (mirrors, copies, denies, and prunes)

version = 1

# The trusted signing keys. To generate this file, run tofu-oci trust init.
trust = "trust.hcl"

# Files with one PROVIDER per line, such as hashicorp/aws@~> 5.0.
# sources = ["providers.txt"]

# Versions in lock files are mirrored and never pruned.
# lock_files = ["live/**/.terraform.lock.hcl"]

# The repositories to write to.
target "main" {
  repository = "ghcr.io/acme/providers/{namespace}/{type}"
}

# Another registry. Releases are copied to it from the target "main".
# target "dr" {
#   repository = "${env("TOFU_OCI_SYNC_DR")}/providers/{namespace}/{type}"
#   from       = "main"
# }

# Settings for all providers, with their default values.
defaults {
  latest     = 1      # the number of versions, or "all"
  platforms  = "all"  # or a list, such as ["linux_amd64", "darwin_arm64"]
  min_age    = "0s"   # or a longer duration, such as "7d", to hold back new versions
  signatures = "warn" # or "require"
  key_change = "hold" # or "warn" or "refuse", for releases whose signing key has changed
}

# A block with an address selects a provider. A block with a pattern, such as hashicorp/*, only changes settings.
provider "hashicorp/null" {
}

# Denied versions can't be installed.
# deny "hashicorp/aws" {
#   versions = "5.71.0"
#   reason   = "withdrawn by its author"
# }

# Unselected versions are removed only with this block and mode = "delete".
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
