# What tofu-oci sync mirrors, and where to. For all attributes, see
# https://github.com/tofu-oci/tofu-oci/blob/main/docs/sync.md
version = 1

# The versions in these lock files are always mirrored, and never pruned.
%s

# Files with one PROVIDER per line.
# sources = ["providers.txt"]

# Pinned keys of providers, which tofu-oci trust init writes.
# trust = "trust.hcl"

target "main" {
  repository = %s
}

defaults {
  latest = 3 # the newest matching versions of each provider
  # platforms  = ["linux_amd64", "darwin_arm64"]
  # min_age    = "7d"
  # signatures = "require"
}

%s
# Removes versions that nothing selects anymore. The mode "report" only reports them.
# prune {
#   mode          = "report"
#   keep_previous = 1
#   keep_for      = "90d"
# }

# Sends a notification about changes and failures to the URL in a variable.
# notify {
#   url_env = "MIRROR_WEBHOOK"
# }
