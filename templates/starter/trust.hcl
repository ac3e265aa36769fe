# The trusted signing keys. To pin the keys of your providers, run this command, append pins.hcl to this file, and compare
# the fingerprints with those that the authors publish:
#
#   tofu-oci trust init hashicorp/null --trust pins.hcl

# All providers without a pin.
trust "*/*/*" {
  unsigned = "warn" # or "refuse"
}
