# Mirrors a provider with curl, sha256sum, and regctl. It performs no lookups and
# computes no h1 hashes.
#
# FILES is the base URL of the files of provider TYPE, without the version. VERSIONS
# and PLATFORMS are lists. REPOSITORY is the target, and REGCTL is the path of regctl.
set -eu

put() { # MEDIA-TYPE FILE [FLAG...]
	type=$1 file=$2
	shift 2
	"$REGCTL" manifest put --content-type "$type" "$@" <"$file" >/dev/null
}

digest() { sha256sum "$1" | cut -d ' ' -f 1; }
size() { wc -c <"$1" | tr -d ' '; }

target=application/vnd.opentofu.provider-target
manifest=application/vnd.oci.image.manifest.v1+json
index=application/vnd.oci.image.index.v1+json

printf '{}' >empty
empty=$(digest empty)
"$REGCTL" blob put --digest "sha256:$empty" "$REPOSITORY" <empty >/dev/null
for version in $VERSIONS; do
	stem=terraform-provider-${TYPE}_$version
	curl -fsS -o sums "$FILES/$version/${stem}_SHA256SUMS"
	sums=$(digest sums)
	"$REGCTL" blob put --digest "sha256:$sums" "$REPOSITORY" <sums >/dev/null
	entries=
	for platform in $PLATFORMS; do
		zip=${stem}_$platform.zip
		curl -fsS -o "$zip" "$FILES/$version/$zip"
		grep "  $zip\$" sums >sum
		sha256sum --check --quiet sum
		sha=$(cut -d ' ' -f 1 sum)
		"$REGCTL" blob put --digest "sha256:$sha" "$REPOSITORY" <"$zip" >/dev/null
		cat >manifest.json <<-END
			{"schemaVersion":2,"mediaType":"$manifest","artifactType":"$target",
			"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:$empty","size":2},
			"layers":[{"mediaType":"archive/zip","digest":"sha256:$sha","size":$(size "$zip")},
			{"mediaType":"text/plain+sha256sum","digest":"sha256:$sums","size":$(size sums)}]}
		END
		put "$manifest" manifest.json --by-digest "$REPOSITORY"
		entries="$entries${entries:+,}{\"mediaType\":\"$manifest\",\"artifactType\":\"$target\",
			\"digest\":\"sha256:$(digest manifest.json)\",\"size\":$(size manifest.json),
			\"platform\":{\"os\":\"${platform%_*}\",\"architecture\":\"${platform#*_}\"}}"
		rm "$zip"
	done
	cat >index.json <<-END
		{"schemaVersion":2,"mediaType":"$index","artifactType":"application/vnd.opentofu.provider","manifests":[$entries]}
	END
	put "$index" index.json "$REPOSITORY:$version"
done
