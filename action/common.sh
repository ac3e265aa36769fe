#!/usr/bin/env bash
# What the actions share. It is sourced, and works with bash 3.2 (macOS) and Git's bash (Windows).
# Inputs come by the environment, never as text of a script.
set -euo pipefail

# fail ends the step with a message that begins no other command of the runner's.
fail() {
	local text=$*
	text=${text//'%'/%25}
	text=${text//$'\r'/%0D}
	text=${text//$'\n'/%0A}
	printf '::error::%s\n' "$text"
	exit 2
}

# posix gives a path of the runner as this shell writes it; native the other way round.
posix() { if command -v cygpath >/dev/null; then cygpath -u "$1"; else printf '%s\n' "$1"; fi; }
native() { if command -v cygpath >/dev/null; then cygpath -w "$1"; else printf '%s\n' "$1"; fi; }

# trimmed gives a text without the blanks around it.
trimmed() {
	local text=$1
	text=${text#"${text%%[![:space:]]*}"}
	printf '%s' "${text%"${text##*[![:space:]]}"}"
}

# random is a word that nobody can guess.
random() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# output sets an output of the step. What is in the value cannot end it.
output() {
	local end
	end=end-$(random)
	printf '%s<<%s\n%s\n%s\n' "$1" "$end" "$2" "$end" >>"$GITHUB_OUTPUT"
}

# args is what tofu-oci is called with. flag adds one that has a value, each one for every line of a list, switch
# one that is on or off, more what the input flags lists, arguments the lines of a list themselves.
args=()

flag() {
	case $2 in
	*$'\n'*) fail "the input $1 is one line" ;;
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
	*) fail "the input $1 is true or false, not $2" ;;
	esac
}

more() {
	local line
	while IFS= read -r line || [ -n "$line" ]; do
		line=$(trimmed "$line")
		case $line in
		'') ;;
		--output | --output=* | --digest-file | --digest-file=*) fail "the action sets ${line%%=*} itself: take its outputs" ;;
		--?*) args+=("$line") ;;
		*) fail "the input flags has one flag a line, such as --min-age=3d, and not: $line" ;;
		esac
	done <<<"$1"
}

# program ends the step where tofu-oci is missing.
program() {
	command -v tofu-oci >/dev/null || fail "tofu-oci is not in PATH: put a step with the action tofu-oci/tofu-oci/action/setup before this one"
}

# plainly runs a command whose output, text of remote places included, has no commands for the runner in it.
plainly() {
	local token code=0
	token=$(random)
	echo "::stop-commands::$token"
	"$@" || code=$?
	echo "::$token::"
	return "$code"
}

# GitHub takes 1 MiB of outputs from a job.
max_result=400000

# release_run runs mirror or publish, sets the outputs of both, and ends as the command ended. The summary is
# tofu-oci's own.
release_run() {
	local code=0 changed=false result='' digests=''
	program
	dir=$(mktemp -d "$(posix "$RUNNER_TEMP")/tofu-oci-XXXXXX")
	plainly into_files "$@" || code=$?
	echo "::group::The result as JSON"
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

# level is how hard tofu-oci looks at what is there. By tags alone it learns no digests, and refuses --digest-file.
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

# into_files says on stdout what tofu-oci says on stderr: the runner reads the two apart, in no order.
into_files() {
	local digest_file=(--digest-file="$dir/digests")
	[ "$(level)" != tags ] || digest_file=()
	tofu-oci "$@" --output=json ${digest_file[@]+"${digest_file[@]}"} ${args[@]+"${args[@]}"} 3>&1 >"$dir/result.json" 2>&3 3>&- <<<"${PROVIDERS:-}"
}
