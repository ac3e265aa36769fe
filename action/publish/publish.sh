#!/usr/bin/env bash
# Runs tofu-oci publish with the inputs. Paths follow --, so they can't be flags.
# shellcheck source=action/common.sh
source "$GITHUB_ACTION_PATH/../common.sh"

[ -n "$PROVIDER" ] || fail "missing input provider: want a provider address, such as example.com/acme/widget"
[ -n "$TO" ] || fail "missing input to: want a repository template, such as ghcr.io/acme/providers/{namespace}/{type}"
flag provider "$PROVIDER"
flag to "$TO"
each platform "$PLATFORMS"
switch launch "$LAUNCH"
flag sbom "$SBOM"
switch dry-run "$DRY_RUN"
more "$FLAGS"
args+=(--)
arguments "$PATHS"
release_run publish
