# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/corp/thing" {
  version     = "1.0.0"
  constraints = "~> 1.0"
  hashes = [
    "h1:a",
  ]
}
