#!/bin/sh
# A gate that allows signed releases and holds all others. It reads the JSON input from
# stdin, and needs no other programs.
#
#   tofu-oci mirror hashicorp/null --gate 'sh policy.sh' --to …
set -eu
input=$(cat)
case $input in
  *'"signature":{"verdict":"signed"'*)
    echo '{"verdict": "allow", "reason": "signed by a trusted key"}' ;;
  *'"signer":true'*)
    echo '{"verdict": "deny", "reason": "the signing key has changed"}' ;;
  *)
    echo '{"verdict": "hold", "reason": "not signed by a trusted key"}' ;;
esac
