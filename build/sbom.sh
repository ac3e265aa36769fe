#!/bin/sh
# Usage: build/sbom.sh ARCHIVE DOCUMENT DATE. Writes the SBOM of an archive. To make SBOMs reproducible, it replaces the
# creation time with the commit's date, and the random name with the archive's digest.
set -eu

archive=$1 document=$2 date=$3
digest=$(sha256sum "$archive")
SYFT_CHECK_FOR_APP_UPDATE=false syft scan "file:$archive" --quiet --output "spdx-json=$document.new"
sed -E \
	-e "s|(\"documentNamespace\":\"[^\"]*)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\"|\1-${digest%% *}\"|" \
	-e "s|(\"created\":\")[^\"]*\"|\1$date\"|" \
	"$document.new" >"$document"
rm "$document.new"
