#!/bin/sh
# Usage: site/publish.sh DIR URL
# Builds the documentation of the current commit (main) and of all releases to DIR, whose content is then published at URL. The
# newest release, or main without a release, is also published at URL itself. First, run make bin/tools/hugo site/node_modules.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
url=$2
hugo=${HUGO:-$PWD/bin/tools/hugo}

# build VERSION DIR URL builds the documentation of a version.
build() {
	commit=$1
	[ "$commit" != main ] || commit=HEAD
	tree=$(mktemp -d)
	git archive "$commit" | tar -x -C "$tree"
	HUGO_PARAMS_VERSION=$1 HUGO_PARAMS_ROOT=/${url#*://*/} "$hugo" --source "$tree/site" --quiet --minify --destination "$2" --baseURL "$3"
	site/node_modules/.bin/pagefind --site "$2" --quiet
	rm -r "$tree"
}

names=
for version in $(git tag --list 'v[0-9]*' --sort=-version:refname | grep -v -e -) main; do
	[ -n "$names" ] || build "$version" "$out" "$url"
	build "$version" "$out/$version" "$url$version/"
	names="$names${names:+, }\"$version\""
done
echo "[$names]" >"$out/versions.json"
