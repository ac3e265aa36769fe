#!/usr/bin/env bash
# Runs the install.sh of this version to install the release that release.sh selected. Adds the program to PATH for later steps.
# shellcheck source=action/common.sh
source "$GITHUB_ACTION_PATH/../common.sh"

case $ATTESTATION in
require) how="verified by its attestation" ;;
skip) how="verified only by its checksums" ;;
*) fail "invalid input attestation: want require or skip, got $ATTESTATION" ;;
esac
dir=$(posix "$RUNNER_TEMP")/tofu-oci-$VERSION
name=tofu-oci
[ "${PLATFORM%_*}" != windows ] || name=tofu-oci.exe

PATH=$dir:$PATH bash "$GITHUB_ACTION_PATH/../../install.sh" --version "$VERSION" --platform "$PLATFORM" --dir "$dir" \
	--cache "$(posix "$ARCHIVES")" --attestation "$ATTESTATION"
native "$dir" >>"$GITHUB_PATH"
output path "$(native "$dir/$name")"
printf 'tofu-oci %s for %s, %s\n\n' "$VERSION" "$PLATFORM" "$how" >>"$GITHUB_STEP_SUMMARY"
