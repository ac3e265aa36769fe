#!/usr/bin/env bash
# Runs tofu-oci mirror with the inputs. PROVIDERs are passed as a list, so they can't be flags.
# shellcheck source=action/common.sh
source "$GITHUB_ACTION_PATH/../common.sh"

[ -n "$TO" ] || fail "missing input to: want a repository template, such as ghcr.io/acme/providers/{namespace}/{type}"
flag to "$TO"
[ -z "$(trimmed "$PROVIDERS")" ] || flag sources -
each sources "$SOURCES"
each lock-file "$LOCK_FILES"
each platform "$PLATFORMS"
flag latest "$LATEST"
switch all "$ALL"
flag min-age "$MIN_AGE"
switch stage "$STAGE"
switch dry-run "$DRY_RUN"
more "$FLAGS"
release_run mirror
