#!/bin/sh
# A gate that allows releases with an attestation that cosign verifies, and holds all
# others. Additional arguments are passed to cosign.
#
#   tofu-oci mirror acme/widget --attestations fetch \
#     --gate './cosign.sh {zip} {attestations} --key cosign.pub --type slsaprovenance1' --to …
set -eu
cat >/dev/null # the JSON input
zip=$1 attestations=$2
shift 2
for bundle in "$attestations"/*; do
  if [ -e "$bundle" ] && cosign verify-blob-attestation "$@" --bundle "$bundle" "$zip" >&2; then
    echo '{"verdict": "allow", "reason": "cosign verified an attestation"}'
    exit
  fi
done
echo '{"verdict": "hold", "reason": "cosign verified no attestation"}'
