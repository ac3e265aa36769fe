#!/usr/bin/env bash
# Outputs the version and platform of the release to install, and the directory for the release's archive.
# shellcheck source=action/common.sh
source "$GITHUB_ACTION_PATH/../common.sh"

case $RUNNER_OS in
Linux) os=linux ;;
macOS) os=darwin ;;
Windows) os=windows ;;
*) fail "no release for $RUNNER_OS" ;;
esac
case $RUNNER_ARCH in
X64) arch=amd64 ;;
ARM64) arch=arm64 ;;
*) fail "no release for $RUNNER_OS on $RUNNER_ARCH" ;;
esac

wanted=$(bash "$GITHUB_ACTION_PATH/../../install.sh" --resolve --version "$VERSION" --platform "${os}_$arch")
archives=$(native "$(posix "${RUNNER_TOOL_CACHE:-$RUNNER_TEMP}")/tofu-oci/$wanted")
output version "$wanted"
output platform "${os}_$arch"
output archives "$archives"
