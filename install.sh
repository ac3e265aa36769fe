#!/bin/sh
# Installs a release of tofu-oci on Linux, macOS, or Windows (in Git's bash):
#
#   curl --proto '=https' --tlsv1.2 -fsSL https://raw.githubusercontent.com/tofu-oci/tofu-oci/main/install.sh | sh
#   sh install.sh --version 1.2.3 --dir ~/.local/bin
#
# The script verifies the archive with the release's SHA256SUMS. If the GitHub CLI (gh) is installed and logged in, it also
# verifies that SHA256SUMS was attested by the release workflow of this repository. --attestation require makes this mandatory,
# and --attestation skip disables it. If a verification fails, the script installs nothing.
set -eu

main() {
	repository=tofu-oci/tofu-oci
	base=${TOFU_OCI_BASE_URL:-https://github.com/$repository/releases}
	version=${TOFU_OCI_VERSION:-} dir=${TOFU_OCI_INSTALL_DIR:-} attestation=${TOFU_OCI_ATTESTATION:-auto}
	platform='' cache='' resolve=''
	flags "$@"
	needed curl uname mktemp
	if [ -n "$platform" ]; then
		here=$(machine 2>/dev/null) || here=''
	else
		here=$(machine) || exit 1
		platform=$here
	fi
	[ -n "$version" ] || version=$(newest) || exit 1
	version=${version#v}
	case $version in '' | *[!0-9A-Za-z.+-]*) fail "invalid version \"$version\"" ;; esac
	[ -z "$resolve" ] || { echo "$version" && return; }
	[ -n "$dir" ] || dir=$(directory) || exit 1

	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM
	sums=tofu-oci_${version}_SHA256SUMS
	case $platform in
	windows_*) archive=tofu-oci_${version}_$platform.zip program=tofu-oci.exe ;;
	*) archive=tofu-oci_${version}_$platform.tar.gz program=tofu-oci ;;
	esac
	fetch "$base/download/v$version/$sums" "$work/$sums"
	attested "$work/$sums"
	wanted=$(listed "$work/$sums" "$archive") || exit 1
	obtain "$archive"
	verified "$archive"
	keep "$archive"
	unpack "$work/$archive" "$program"
	place "$work/$program" "$dir"
}

flags() {
	while [ $# -gt 0 ]; do
		case $1 in
		--help) usage && exit ;;
		--resolve) resolve=yes && shift && continue ;;
		esac
		[ $# -gt 1 ] || fail "$1 is missing its value; see --help"
		case $1 in
		--version) version=$2 ;;
		--dir) dir=$2 ;;
		--platform) platform=$2 ;;
		--cache) cache=$2 ;;
		--attestation) attestation=$2 ;;
		*) fail "unknown flag $1; see --help" ;;
		esac
		shift 2
	done
	case $attestation in auto | require | skip) ;; *) fail "invalid value $attestation of --attestation: want auto, require, or skip" ;; esac
	case $platform in
	'' | linux_amd64 | linux_arm64 | darwin_amd64 | darwin_arm64 | windows_amd64 | windows_arm64) ;;
	*) fail "no release for $platform; build it with go install" ;;
	esac
}

needed() {
	for tool in "$@"; do
		command -v "$tool" >/dev/null || fail "the program $tool is required, but not installed"
	done
}

usage() {
	cat <<'TEXT'
Usage: sh install.sh [--version VERSION] [--dir DIRECTORY] [--attestation auto|require|skip] [FLAG...]

Verifies and installs a release of tofu-oci on Linux, macOS, or Windows (in Git's bash).

  --version VERSION      release to install (default: $TOFU_OCI_VERSION, or the newest)
  --dir DIRECTORY        target directory (default: $TOFU_OCI_INSTALL_DIR, /usr/local/bin, or
                         ~/.local/bin if that is not writable)
  --attestation MODE     auto: verify the attestation if gh is installed and logged in; require: fail
                         if it cannot be verified; skip: verify only the checksums (default:
                         $TOFU_OCI_ATTESTATION, or auto)
  --platform OS_ARCH     platform, such as linux_amd64 (default: this machine's)
  --cache DIRECTORY      cache for the archive, which is verified like a download
  --resolve              print the version and exit

$TOFU_OCI_BASE_URL is the URL of the releases (default: https://github.com/tofu-oci/tofu-oci/releases).
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
	MINGW* | MSYS*) echo windows ;;
	*) fail "no release for $(uname -s); see docs/install.md" ;;
	esac
}

architecture() {
	case $(uname -m) in
	x86_64 | amd64) echo amd64 ;;
	aarch64 | arm64) echo arm64 ;;
	*) fail "no release for $(uname -m); build it with go install" ;;
	esac
}

# machine prints the platform of this machine.
machine() {
	os=$(system) || exit 1
	arch=$(architecture) || exit 1
	echo "${os}_$arch"
}

# directory prints the default installation directory.
directory() {
	if [ -w /usr/local/bin ]; then echo /usr/local/bin; else echo "${HOME:?}/.local/bin"; fi
}

# protected prints the protocols that curl accepts for a URL and its redirects: HTTPS, or plain HTTP for loopback addresses.
protected() {
	case $1 in
	http://127.0.0.1:* | http://localhost:*) echo '=http' ;;
	https://*) echo '=https' ;;
	*) fail "$1 is not an https URL" ;;
	esac
}

fetch() {
	protocol=$(protected "$1") || exit 1
	curl --proto "$protocol" --proto-redir "$protocol" --fail --silent --show-error --location --max-redirs 5 --retry 3 \
		--connect-timeout 20 --max-filesize 268435456 --output "$2" -- "$1" || fail "cannot download $1"
}

# newest prints the newest version. It follows the redirect of a web page, because this requires neither the API nor credentials.
newest() {
	protocol=$(protected "$base/latest") || exit 1
	page=$(curl --proto "$protocol" --proto-redir "$protocol" --fail --silent --show-error --location --max-redirs 5 --retry 3 \
		--connect-timeout 20 --output /dev/null --write-out '%{url_effective}' -- "$base/latest") || fail "cannot find the newest release at $base/latest; specify one with --version"
	case $page in
	*/tag/v*) echo "${page##*/tag/v}" ;;
	*) fail "$base/latest redirects to $page, which is not a release" ;;
	esac
}

# attested verifies the attestation of SHA256SUMS.
attested() {
	[ "$attestation" != skip ] || return 0
	lacking=$(verifier)
	if [ -n "$lacking" ]; then
		[ "$attestation" != require ] || fail "$lacking, but --attestation require needs it"
		echo "install.sh: $lacking; only the checksums are verified, not the attestation" >&2
		return 0
	fi
	GH_HOST=github.com gh attestation verify "$1" --repo "$repository" --signer-workflow "$repository/.github/workflows/release.yml" \
		--source-ref "refs/tags/v$version" >/dev/null || fail "cannot verify the attestation of ${1##*/}; nothing was installed"
}

# verifier prints the reason if gh cannot verify attestations. Attestations are stored on github.com, even if gh is configured
# for different hosts.
verifier() {
	if ! command -v gh >/dev/null; then
		echo "gh is not installed"
	elif ! gh auth status --hostname github.com >/dev/null 2>&1; then
		echo "gh is not logged in to github.com"
	elif ! gh attestation verify --help 2>&1 | grep -q -e --source-ref; then
		echo "gh is too old to verify attestations of a tag"
	fi
}

# listed prints a file's digest from SHA256SUMS, which must list the file exactly once.
listed() {
	digest=$(awk -v name="$2" '$2 == name || $2 == "*" name { print $1 }' "$1")
	[ "${#digest}" -eq 64 ] || fail "${1##*/} does not list $2; nothing was installed"
	echo "$digest"
}

sha256() {
	if command -v sha256sum >/dev/null; then
		sha256sum <"$1"
	else
		shasum -a 256 <"$1"
	fi | awk '{ print $1 }'
}

# obtain copies the archive from the cache. If the archive is not in the cache, obtain downloads it.
obtain() {
	if [ -n "$cache" ] && [ -f "$cache/$1" ] && [ "$(sha256 "$cache/$1")" = "$wanted" ]; then
		cp "$cache/$1" "$work/$1"
	else
		fetch "$base/download/v$version/$1" "$work/$1"
	fi
}

verified() {
	got=$(sha256 "$work/$1")
	[ "$got" = "$wanted" ] || fail "$1 has the SHA-256 checksum $got, but $sums lists $wanted; nothing was installed"
}

# keep stores the verified archive in the cache. If storing fails, the installation continues.
keep() {
	[ -n "$cache" ] || return 0
	if ! mkdir -p "$cache" || ! cp "$work/$1" "$cache/.$$.$1" || ! mv -f "$cache/.$$.$1" "$cache/$1"; then
		rm -f "$cache/.$$.$1"
		echo "install.sh: cannot store $1 in $cache" >&2
	fi
}

unpack() {
	case $1 in
	*.zip) needed unzip && unzip -q "$1" "$2" -d "$work" ;;
	*) needed tar && tar -xzf "$1" -C "$work" "$2" ;;
	esac
}

# place installs the program atomically.
place() {
	mkdir -p "$2" || fail "cannot create $2; specify another directory with --dir"
	name=${1##*/} new=$2/.$$.${1##*/}
	trap 'rm -rf "$work" "$new"' EXIT
	if ! cp "$1" "$new" || ! chmod 0755 "$new"; then
		fail "cannot write to $2; specify another directory with --dir"
	fi
	said="$version for $platform"
	if [ "$platform" = "$here" ]; then
		said=$("$new" --version) || fail "the program does not start on this machine; nothing was installed"
	fi
	mv -f "$new" "$2/$name" || fail "cannot write $2/$name"
	echo "installed $2/$name: $said" | sed -n 1p
	case :$PATH: in
	*:"$2":*) ;;
	*) echo "$2 is not in PATH; add it, or specify another directory with --dir" >&2 ;;
	esac
}

main "$@" # the last line, so that an incomplete download runs nothing
