#!/usr/bin/env bash
# Runs tofu-oci lock --check with the inputs, and prints annotations or writes a SARIF file.
# shellcheck source=action/common.sh
source "$GITHUB_ACTION_PATH/../common.sh"

each lock-file "$LOCK_FILES"
flag from "$FROM"
each platform "$PLATFORMS"
more "$FLAGS"
program

code=0 sarif=''
case $OUTPUT in
github)
	tofu-oci lock --check --output=github ${args[@]+"${args[@]}"} || code=$?
	;;
sarif)
	sarif=$(mktemp -d "$(posix "$RUNNER_TEMP")/tofu-oci-XXXXXX")/lock-check.sarif
	tofu-oci lock --check --output=sarif ${args[@]+"${args[@]}"} >"$sarif" || code=$?
	if [ -s "$sarif" ]; then sarif=$(native "$sarif"); else sarif=''; fi
	;;
*) fail "invalid input output: want github or sarif, got $OUTPUT" ;;
esac
output exit-code "$code"
output sarif-file "$sarif"
exit "$code"
