package main_test

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/opencontainers/go-digest"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// forge DIR [OPTION] writes an image layout with hashicorp/null 3.2.4 for
// hurd_ia64, as tofu-oci would never make it. Options:
//
//	sums=missing   SHA256SUMS does not list the zip
//	sums=wrong     SHA256SUMS lists the zip with another checksum
//	sums=nonsense  SHA256SUMS is none
//	filename=NAME  the zip's title; SHA256SUMS lists it
//	hostile        the zip's title starts with "../"
func cmdForge(ts *testscript.TestScript, _ bool, args []string) {
	r, content := forgedRelease(ts, args[1:])
	packed, err := artifact.Pack(r, artifact.Options{})
	ts.Check(err)
	if slices.Contains(args, "hostile") {
		hostile(&packed, r.Packages[0].Filename)
	}
	layout := repository.NewLayout(filepath.Join(ts.MkAbs("."), args[0]))
	ctx := context.Background()
	ts.Check(layout.PushBlob(ctx, artifact.ZipDescriptor(r.Packages[0]), bytes.NewReader(content)))
	ts.Check(layout.PushBlob(ctx, packed.Config.Descriptor, bytes.NewReader(packed.Config.Bytes)))
	for _, d := range packed.Documents {
		ts.Check(layout.PushBlob(ctx, ocispec.Descriptor{Digest: d.Digest, Size: d.Size}, bytes.NewReader(d.Bytes)))
	}
	for _, manifest := range packed.Manifests {
		ts.Check(layout.PushManifest(ctx, manifest))
	}
	ts.Check(layout.PushTag(ctx, packed.Index, artifact.Tag(r.Version), ""))
}

// hostile changes the zip's title to a path of the same length.
func hostile(packed *artifact.Packed, title string) {
	replace := func(b *artifact.Blob, was, is string) {
		b.Bytes = bytes.ReplaceAll(b.Bytes, []byte(was), []byte(is))
		b.Descriptor.Digest = digest.FromBytes(b.Bytes)
	}
	manifest := &packed.Manifests[0]
	before := manifest.Descriptor.Digest
	replace(manifest, title, "../"+title[3:])
	replace(&packed.Index, before.String(), manifest.Descriptor.Digest.String())
}

func forgedRelease(ts *testscript.TestScript, options []string) (provider.Release, []byte) {
	address, err := provider.ParseAddress("hashicorp/null")
	ts.Check(err)
	version, err := provider.ParseVersion("3.2.4")
	ts.Check(err)
	platform := provider.Platform{OS: "hurd", Arch: "ia64"}
	content := zipFor(ts, "hashicorp/null", "3.2.4", platform, "")
	p := provider.Package{
		Address: address, Version: version, Platform: platform,
		Filename: provider.Filename(address, version, platform), Digest: digest.FromBytes(content), Size: int64(len(content)),
	}
	listed, listedAs := p.Digest, p.Filename
	document := []byte(nil)
	for _, option := range options {
		switch name, value, _ := strings.Cut(option, "="); {
		case option == "sums=missing":
			listedAs = "terraform-provider-null_3.2.4_plan9_sparc.zip"
		case option == "sums=wrong":
			listed = digest.FromString("other bytes")
		case option == "sums=nonsense":
			document = []byte("<html>")
		case option == "hostile":
		case name == "filename":
			p.Filename, listedAs = value, value
		default:
			ts.Fatalf("unknown option %s", option)
		}
	}
	if document == nil {
		document = sums.New(map[string]digest.Digest{listedAs: listed}).Bytes()
	}
	return provider.Release{
		Address: address, Version: version, Packages: []provider.Package{p},
		Documents: []provider.Document{artifact.NewDocument(provider.SumsName(address, version), artifact.MediaTypeSums, document)},
	}, content
}
