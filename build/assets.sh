#!/bin/sh
# Generates shell completions and manual pages in bin/release, for packaging by goreleaser. The argument is the commit's
# date. The manual pages contain this date, so that repeated builds of a commit produce the same pages.
set -eu
cd "$(dirname "$0")/.."

dir=bin/release
rm -rf "$dir"
mkdir -p "$dir/completions"
GOOS='' GOARCH='' CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-X main.date=$1" -o "$dir/" ./cmd/tofu-oci
"$dir/tofu-oci" completion bash >"$dir/completions/tofu-oci.bash"
"$dir/tofu-oci" completion zsh >"$dir/completions/_tofu-oci"
"$dir/tofu-oci" completion fish >"$dir/completions/tofu-oci.fish"
"$dir/tofu-oci" completion powershell >"$dir/completions/tofu-oci.ps1"
"$dir/tofu-oci" man --dir "$dir/man"
gzip -9n "$dir"/man/*.1
