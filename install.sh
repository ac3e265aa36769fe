#!/bin/sh
# Installs a release of tofu-oci, for Linux and macOS:
#
#   curl --proto '=https' --tlsv1.2 -fsSL https://raw.githubusercontent.com/tofu-oci/tofu-oci/main/install.sh | sh
#   sh install.sh --version 1.2.3 --dir ~/.local/bin
#
# The archive is held against the release's SHA256SUMS, and SHA256SUMS, where GitHub's gh is installed and logged in, against
# its attestation: that says that the release workflow of this repository built what it lists. --attestation require
# demands that, and --attestation skip does without. What is not verified is not installed.
set -eu

main() {
	repository=tofu-oci/tofu-oci
	base=${TOFU_OCI_BASE_URL:-https://github.com/$repository/releases}
	version=${TOFU_OCI_VERSION:-} dir=${TOFU_OCI_INSTALL_DIR:-} attestation=${TOFU_OCI_ATTESTATION:-auto}
	while [ $# -gt 0 ]; do
		[ $# -gt 1 ] || [ "$1" = --help ] || fail "$1 is missing its value; see --help"
		case $1 in
		--version) version=$2 ;;
		--dir) dir=$2 ;;
		--attestation) attestation=$2 ;;
		--help) usage && return ;;
		*) fail "there is no flag $1; see --help" ;;
		esac
		shift 2
	done
	case $attestation in auto | require | skip) ;; *) fail "--attestation $attestation: must be auto, require or skip" ;; esac

	for program in curl tar uname mktemp; do
		command -v "$program" >/dev/null || fail "$program is needed, and not there"
	done
	os=$(system) || exit 1
	arch=$(architecture) || exit 1
	[ -n "$version" ] || version=$(newest) || exit 1
	version=${version#v}
	case $version in '' | *[!0-9A-Za-z.+-]*) fail "\"$version\" is no version" ;; esac
	[ -n "$dir" ] || dir=$(directory) || exit 1

	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM
	archive=tofu-oci_${version}_${os}_${arch}.tar.gz sums=tofu-oci_${version}_SHA256SUMS
	fetch "$base/download/v$version/$sums" "$work/$sums"
	attested "$work/$sums"
	fetch "$base/download/v$version/$archive" "$work/$archive"
	verified "$work/$sums" "$archive"
	tar -xzf "$work/$archive" -C "$work" tofu-oci
	place "$work/tofu-oci" "$dir"
}

usage() {
	cat <<'TEXT'
Usage: sh install.sh [--version VERSION] [--dir DIRECTORY] [--attestation auto|require|skip]

Installs a release of tofu-oci, verified, for Linux and macOS.

  --version VERSION      which release; the newest without this (or $TOFU_OCI_VERSION)
  --dir DIRECTORY        where to; without this /usr/local/bin, or ~/.local/bin where that is not
                         writable (or $TOFU_OCI_INSTALL_DIR)
  --attestation MODE     auto: verify the attestation where gh is installed and logged in; require: fail
                         without; skip: the checksums alone count (or $TOFU_OCI_ATTESTATION)

$TOFU_OCI_BASE_URL is where releases are, in place of https://github.com/tofu-oci/tofu-oci/releases.
TEXT
}

fail() {
	printf 'install.sh: %s\n' "$*" >&2
	exit 1
}

system() {
	case $(uname -s) in
	Linux) echo linux ;;
	Darwin) echo darwin ;;
	*) fail "there is no release for $(uname -s) here; see docs/install.md" ;;
	esac
}

architecture() {
	case $(uname -m) in
	x86_64 | amd64) echo amd64 ;;
	aarch64 | arm64) echo arm64 ;;
	*) fail "there is no release for $(uname -m); go install builds one" ;;
	esac
}

# directory is where programs of one's own go.
directory() {
	if [ -w /usr/local/bin ]; then echo /usr/local/bin; else echo "${HOME:?}/.local/bin"; fi
}

# protected says how curl goes to a URL: https, and over redirects nothing else. Plain HTTP is for this machine alone.
protected() {
	case $1 in
	http://127.0.0.1:* | http://localhost:*) echo '=http' ;;
	https://*) echo '=https' ;;
	*) fail "$1 is no https URL" ;;
	esac
}

fetch() {
	protocol=$(protected "$1") || exit 1
	curl --proto "$protocol" --proto-redir "$protocol" --fail --silent --show-error --location --max-redirs 5 --retry 3 \
		--connect-timeout 20 --max-filesize 268435456 --output "$2" -- "$1" || fail "could not fetch $1"
}

# newest asks where the page of the newest release leads to: that needs no API and no login.
newest() {
	protocol=$(protected "$base/latest") || exit 1
	page=$(curl --proto "$protocol" --proto-redir "$protocol" --fail --silent --show-error --location --max-redirs 5 --retry 3 \
		--connect-timeout 20 --output /dev/null --write-out '%{url_effective}' -- "$base/latest") || fail "could not find the newest release at $base/latest"
	case $page in
	*/tag/v*) echo "${page##*/tag/v}" ;;
	*) fail "$base/latest leads to $page, which is no release" ;;
	esac
}

# attested holds the checksums against what the release workflow has signed.
attested() {
	[ "$attestation" != skip ] || return 0
	if ! command -v gh >/dev/null || ! gh auth status >/dev/null 2>&1; then
		[ "$attestation" != require ] || fail "gh is not installed or not logged in, and --attestation require needs it"
		echo "install.sh: gh is not installed or not logged in: the attestation is not verified, the checksums are" >&2
		return 0
	fi
	gh attestation verify "$1" --repo "$repository" --signer-workflow "$repository/.github/workflows/release.yml" \
		--source-ref "refs/tags/v$version" >/dev/null || fail "the attestation of ${1##*/} could not be verified: nothing was installed"
}

# verified holds a file against its line of the checksums, which has to be there just once.
verified() {
	wanted=$(awk -v name="$2" '$2 == name || $2 == "*" name { print $1 }' "$1")
	[ "${#wanted}" -eq 64 ] || fail "${1##*/} has no line for $2: nothing was installed"
	if command -v sha256sum >/dev/null; then
		got=$(sha256sum "$work/$2")
	else
		got=$(shasum -a 256 "$work/$2")
	fi
	[ "${got%% *}" = "$wanted" ] || fail "$2 has the SHA-256 ${got%% *}, and ${1##*/} says $wanted: nothing was installed"
}

# place puts the program where it belongs, whole or not at all.
place() {
	mkdir -p "$2" || fail "$2 is not there and can't be made; name another with --dir"
	new=$2/.tofu-oci.$$
	trap 'rm -rf "$work" "$new"' EXIT
	if ! cp "$1" "$new" || ! chmod 0755 "$new"; then
		fail "could not write to $2; name another directory with --dir"
	fi
	"$new" --version >/dev/null || fail "what was unpacked does not start here: nothing was installed"
	mv -f "$new" "$2/tofu-oci" || fail "could not write $2/tofu-oci"
	echo "installed $2/tofu-oci: $("$2/tofu-oci" --version | sed -n 1p)"
	case :$PATH: in
	*:"$2":*) ;;
	*) echo "$2 is not in PATH; add it, or name another directory with --dir" >&2 ;;
	esac
}

main "$@" # at the end: nothing is run of a script that arrived in part
