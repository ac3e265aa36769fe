package main_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/opencontainers/go-digest"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// forge DIR [OPTION...] writes an image layout with hashicorp/null 3.2.4 for hurd_ia64 and
// plan9_sparc that tofu-oci would not create. Options:
//
//	version=V        the version and its tag
//	provider=ADDRESS the provider annotation; none if empty
//	document=NAME    an additional document
//	index=twice      the index lists hurd_ia64 twice
//	index=os.version the index has an OS version for hurd_ia64
//	sums=missing   SHA256SUMS does not list the zip
//	sums=wrong     SHA256SUMS lists the zip with a wrong checksum
//	sums=nonsense  SHA256SUMS is malformed
//	filename=NAME  the title of the zip; SHA256SUMS lists it
//	hostile        the title of the zip starts with "../"
//	shout          protocols and a media type end with workflow commands
//	shout=provider the provider annotation ends with a workflow command
//	zip=cut        the compressed content of the zip is truncated
func cmdForge(ts *testscript.TestScript, _ bool, args []string) {
	r, contents := forgedRelease(ts, args[1:])
	packed, err := artifact.Pack(r, artifact.Options{})
	ts.Check(err)
	for _, option := range args[1:] {
		if name, value, _ := strings.Cut(option, "="); name == "index" || name == "provider" {
			forgeIndex(ts, &packed.Index, name, value)
		}
	}
	if slices.Contains(args, "hostile") {
		hostile(&packed, r.Packages[0].Filename)
	}
	if slices.Contains(args, "shout") {
		shout(&packed, artifact.MediaTypeSignature, `protocols":"5.0`)
	}
	if slices.Contains(args, "shout=provider") {
		shout(&packed, `provider":"registry.opentofu.org/hashicorp/null`)
	}
	layout := repository.NewLayout(filepath.Join(ts.MkAbs("."), args[0]))
	ctx := context.Background()
	for i, p := range r.Packages {
		ts.Check(layout.PushBlob(ctx, artifact.ZipDescriptor(p), bytes.NewReader(contents[i])))
	}
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

// forgeIndex modifies the index.
func forgeIndex(ts *testscript.TestScript, b *artifact.Blob, option, value string) {
	var index ocispec.Index
	ts.Check(json.Unmarshal(b.Bytes, &index))
	first := index.Manifests[0]
	switch {
	case option == "provider" && value == "":
		delete(index.Annotations, artifact.AnnotationProvider)
	case option == "provider":
		index.Annotations[artifact.AnnotationProvider] = value
	case value == "twice":
		index.Manifests = append(index.Manifests, first)
	case value == "os.version":
		first.Platform.OSVersion = "10"
	default:
		ts.Fatalf("unknown index %s", value)
	}
	data, err := json.Marshal(index)
	ts.Check(err)
	b.Bytes, b.Descriptor.Digest, b.Descriptor.Size = data, digest.FromBytes(data), int64(len(data))
}

// shout appends a workflow command on its own line to strings of the index and the
// manifest.
func shout(packed *artifact.Packed, behind ...string) {
	replace := func(b *artifact.Blob, was, is string) {
		b.Bytes = bytes.ReplaceAll(b.Bytes, []byte(was), []byte(is))
		b.Descriptor.Digest, b.Descriptor.Size = digest.FromBytes(b.Bytes), int64(len(b.Bytes))
	}
	manifest := &packed.Manifests[0]
	before := manifest.Descriptor
	for _, text := range behind {
		for _, b := range []*artifact.Blob{manifest, &packed.Index} {
			replace(b, text, text+`\n::error::shout ##[error]shout`)
		}
	}
	replace(&packed.Index, before.Digest.String(), manifest.Descriptor.Digest.String())
	replace(&packed.Index, fmt.Sprintf(`"size":%d`, before.Size), fmt.Sprintf(`"size":%d`, manifest.Descriptor.Size))
}

// cutZip returns an archive whose entry is truncated to half of its compressed bytes.
func cutZip(ts *testscript.TestScript) []byte {
	var deflated, out bytes.Buffer
	w, err := flate.NewWriter(&deflated, flate.BestSpeed)
	ts.Check(err)
	content := make([]byte, 4096)
	_, err = rand.NewChaCha8([32]byte{}).Read(content)
	ts.Check(err)
	_, err = w.Write(content)
	ts.Check(err)
	ts.Check(w.Close())
	half := deflated.Bytes()[:deflated.Len()/2]
	archive := zip.NewWriter(&out)
	header := &zip.FileHeader{
		Name: "terraform-provider-null_v3.2.4", Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(content),
		CompressedSize64: uint64(len(half)), UncompressedSize64: uint64(len(content)),
	}
	header.SetMode(0o755)
	entry, err := archive.CreateRaw(header)
	ts.Check(err)
	_, err = entry.Write(half)
	ts.Check(err)
	ts.Check(archive.Close())
	return out.Bytes()
}

func forgedRelease(ts *testscript.TestScript, options []string) (provider.Release, [][]byte) {
	address, err := provider.ParseAddress("hashicorp/null")
	ts.Check(err)
	text := "3.2.4"
	for _, option := range options {
		if value, found := strings.CutPrefix(option, "version="); found {
			text = value
		}
	}
	version, err := provider.ParseVersion(text)
	ts.Check(err)
	r := provider.Release{Address: address, Version: version}
	var contents [][]byte
	listed := map[string]digest.Digest{}
	for _, platform := range []provider.Platform{{OS: "hurd", Arch: "ia64"}, {OS: "plan9", Arch: "sparc"}} {
		content := zipFor(ts, "hashicorp/null", text, platform, nil)
		if slices.Contains(options, "zip=cut") {
			content = cutZip(ts)
		}
		p := provider.Package{
			Address: address, Version: version, Platform: platform,
			Filename: provider.Filename(address, version, platform), Digest: digest.FromBytes(content), Size: int64(len(content)),
		}
		r.Packages, contents = append(r.Packages, p), append(contents, content)
		listed[p.Filename] = p.Digest
	}
	forgeRelease(ts, &r, listed, options)
	return r, contents
}

// forgeRelease modifies the first package of a release.
func forgeRelease(ts *testscript.TestScript, r *provider.Release, listed map[string]digest.Digest, options []string) {
	p, document := &r.Packages[0], []byte(nil)
	for _, option := range options {
		switch name, value, _ := strings.Cut(option, "="); {
		case option == "sums=missing":
			delete(listed, p.Filename)
		case option == "sums=wrong":
			listed[p.Filename] = digest.FromString("other bytes")
		case option == "sums=nonsense":
			document = []byte("<html>")
		case name == "filename":
			delete(listed, p.Filename)
			p.ListedAs, listed[value] = value, p.Digest
		case name == "document":
			p.Documents = append(p.Documents, artifact.NewDocument(value, artifact.MediaTypeInToto, []byte("document")))
		case option != "hostile" && name != "shout" && option != "zip=cut" && name != "version" && name != "provider" && name != "index":
			ts.Fatalf("unknown option %s", option)
		}
	}
	if document == nil {
		document = sums.New(listed).Bytes()
	}
	r.Documents = append(r.Documents, artifact.NewDocument(provider.SumsName(r.Address, r.Version), artifact.MediaTypeSums, document))
	if slices.Contains(options, "shout") {
		r.Protocols = []string{"5.0"}
		signature, _, err := throwaway(document)
		ts.Check(err)
		r.Documents = append(r.Documents, artifact.NewDocument(provider.SumsName(r.Address, r.Version)+".sig", artifact.MediaTypeSignature, signature))
	}
}

// litter DIR... creates the remains of a killed run in each directory: the directory
// .tofu-oci-OLD.tmp, two days old, and the new file .tofu-oci-NEW.tmp.
func cmdLitter(ts *testscript.TestScript, _ bool, dirs []string) {
	for _, dir := range dirs {
		dir = ts.MkAbs(dir)
		old := filepath.Join(dir, ".tofu-oci-OLD.tmp")
		ts.Check(os.MkdirAll(old, 0o755))
		ts.Check(os.WriteFile(filepath.Join(old, "half"), []byte("half"), 0o600))
		then := time.Now().Add(-48 * time.Hour)
		ts.Check(os.Chtimes(old, then, then))
		ts.Check(os.WriteFile(filepath.Join(dir, ".tofu-oci-NEW.tmp"), []byte("half"), 0o600))
	}
}
