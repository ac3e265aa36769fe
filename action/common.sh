#!/usr/bin/env bash
# Functions for all actions. This file is sourced, and supports bash 3.2 (macOS) and Git's bash (Windows).
# Inputs are passed as environment variables, never as script text.
set -euo pipefail

# fail prints an error annotation and exits. The message can't inject workflow commands.
fail() {
	local text=$*
	text=${text//'%'/%25}
	text=${text//$'\r'/%0D}
	text=${text//$'\n'/%0A}
	printf '::error::%s\n' "$text"
	exit 2
}

# posix converts a path from the runner's format to the shell's format. native converts the path back.
posix() { if command -v cygpath >/dev/null; then cygpath -u "$1"; else printf '%s\n' "$1"; fi; }
native() { if command -v cygpath >/dev/null; then cygpath -w "$1"; else printf '%s\n' "$1"; fi; }

# trimmed prints text without leading and trailing white space.
trimmed() {
	local text=$1
	text=${text#"${text%%[![:space:]]*}"}
	printf '%s' "${text%"${text##*[![:space:]]}"}"
}

# random prints an unpredictable string.
random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# output sets a step output. The value can't contain the random delimiter.
output() {
	local end
	end=end-$(random)
	printf '%s<<%s\n%s\n%s\n' "$1" "$end" "$2" "$end" >>"$GITHUB_OUTPUT"
}

# args contains the arguments for tofu-oci. flag adds a flag with a value, each adds a flag for every line of a list, and
# switch adds a Boolean flag. more adds the flags of the input "flags", and arguments adds each line of a list.
args=()

flag() {
	case $2 in
	*$'\n'*) fail "invalid input $1: want a single line" ;;
	?*) args+=("--$1=$2") ;;
	esac
}

arguments() {
	local line
	while IFS= read -r line || [ -n "$line" ]; do
		line=$(trimmed "$line")
		[ -z "$line" ] || args+=("${2:-}$line")
	done <<<"$1"
}

each() { arguments "$2" "--$1="; }

switch() {
	case $2 in
	true) args+=("--$1") ;;
	false | '') ;;
	*) fail "invalid input $1: want true or false, got $2" ;;
	esac
}

more() {
	local line
	while IFS= read -r line || [ -n "$line" ]; do
		line=$(trimmed "$line")
		case $line in
		'') ;;
		--output | --output=* | --digest-file | --digest-file=*) fail "the input flags must not contain ${line%%=*}, because the action sets it; use the outputs of the action" ;;
		--?*) args+=("$line") ;;
		*) fail "invalid input flags: want one flag per line, such as --min-age=3d, got $line" ;;
		esac
	done <<<"$1"
}

# program exits if tofu-oci is not installed.
program() {
	command -v tofu-oci >/dev/null || fail "tofu-oci is not in PATH: add a step with the action tofu-oci/tofu-oci/action/setup before this one"
}

# plainly runs a command and prevents the runner from interpreting workflow commands in its output.
plainly() {
	local token code=0
	token=$(random)
	echo "::stop-commands::$token"
	"$@" || code=$?
	echo "::$token::"
	return "$code"
}

# GitHub limits the outputs of a job to 1 MiB.
max_result=400000

# release_run runs mirror or publish, sets the outputs, and returns the command's exit code. tofu-oci writes the
# step summary.
release_run() {
	local code=0 changed=false result='' digests=''
	program
	dir=$(mktemp -d "$(posix "$RUNNER_TEMP")/tofu-oci-XXXXXX")
	plainly into_files "$@" || code=$?
	echo "::group::JSON output"
	plainly cat "$dir/result.json"
	echo "::endgroup::"
	if grep -Eq '^ +"status": "(created|extended|repaired|replaced|promoted)"' "$dir/result.json"; then changed=true; fi
	[ "$(wc -c <"$dir/result.json")" -gt "$max_result" ] || result=$(cat "$dir/result.json")
	[ ! -f "$dir/digests" ] || digests=$(cat "$dir/digests")
	output exit-code "$code"
	output changed "$changed"
	output digests "$digests"
	output result "$result"
	output result-file "$(native "$dir/result.json")"
	return "$code"
}

# level prints the check level. With the level named tags, tofu-oci doesn't read digests and rejects --digest-file.
level() {
	local arg level=${TOFU_OCI_CHECK_LEVEL:-}
	for arg in ${args[@]+"${args[@]}"}; do
		case $arg in
		--) break ;;
		--check-level=*) level=${arg#--check-level=} ;;
		esac
	done
	printf '%s' "$level"
}

# into_files runs tofu-oci and redirects stderr to stdout, because the runner could reorder lines from separate streams.
into_files() {
	local digest_file=(--digest-file="$dir/digests")
	[ "$(level)" != tags ] || digest_file=()
	tofu-oci "$@" --output=json ${digest_file[@]+"${digest_file[@]}"} ${args[@]+"${args[@]}"} 3>&1 >"$dir/result.json" 2>&3 3>&- <<<"${PROVIDERS:-}"
}
