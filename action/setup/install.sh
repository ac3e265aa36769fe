#!/usr/bin/env bash
# Installs what release.sh found, by install.sh of this version, and puts it into PATH for the steps that follow.
# shellcheck source=action/common.sh
source "$GITHUB_ACTION_PATH/../common.sh"

case $ATTESTATION in
require) how="its attestation is verified" ;;
skip) how="verified by its checksums alone" ;;
*) fail "the input attestation is require or skip, not $ATTESTATION" ;;
esac
dir=$(posix "$RUNNER_TEMP")/tofu-oci-$VERSION
name=tofu-oci
[ "${PLATFORM%_*}" != windows ] || name=tofu-oci.exe

PATH=$dir:$PATH bash "$GITHUB_ACTION_PATH/../../install.sh" --version "$VERSION" --platform "$PLATFORM" --dir "$dir" \
	--cache "$(posix "$ARCHIVES")" --attestation "$ATTESTATION"
native "$dir" >>"$GITHUB_PATH"
output path "$(native "$dir/$name")"
printf 'tofu-oci %s for %s, %s\n\n' "$VERSION" "$PLATFORM" "$how" >>"$GITHUB_STEP_SUMMARY"
