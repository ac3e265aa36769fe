#!/usr/bin/env bash
# Runs tofu-oci publish with what the inputs say. Paths come behind --, where they are no flags.
# shellcheck source=action/common.sh
source "$GITHUB_ACTION_PATH/../common.sh"

[ -n "$PROVIDER" ] || fail "the input provider is missing: name its address, such as example.com/acme/widget"
[ -n "$TO" ] || fail "the input to is missing: name a repository template, such as ghcr.io/acme/providers/{namespace}/{type}"
flag provider "$PROVIDER"
flag to "$TO"
each platform "$PLATFORMS"
switch launch "$LAUNCH"
flag sbom-program "$SBOM_PROGRAM"
switch dry-run "$DRY_RUN"
more "$FLAGS"
args+=(--)
arguments "$PATHS"
release_run publish
