package repository_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const tag = "1.2.3"

// These tests never run on one of these platforms.
var (
	haiku = provider.Platform{OS: "haiku", Arch: "riscv64"}
	plan9 = provider.Platform{OS: "plan9", Arch: "mips64"}
)

// endKinds maps the kinds of source and target repositories to options of the test
// registry. A nil value represents an image layout.
var endKinds = map[string]*registrytest.Options{
	"layout": nil, "API": {}, "tag": {NoReferrers: http.StatusNotFound},
}

// end is the source or target of a copy.
type end struct {
	ref      template.Reference
	registry *registrytest.Registry // nil for image layouts
	options  repository.Options
}

func newEnd(t *testing.T, o *registrytest.Options) *end {
	t.Helper()
	return newEndOn(t, o, onLoopback)
}

func newEndOn(t *testing.T, o *registrytest.Options, serve func(*testing.T, http.Handler) (string, repository.Options)) *end {
	t.Helper()
	if o == nil {
		return &end{ref: template.Reference{Layout: filepath.ToSlash(filepath.Join(t.TempDir(), "layout"))}}
	}
	r := registrytest.New(*o)
	host, options := serve(t, r)
	return &end{template.Reference{Registry: host, Name: repositoryName}, r, options}
}

// neighbor returns another repository in the same registry, or another layout.
func (e *end) neighbor(t *testing.T) *end {
	t.Helper()
	if e.registry == nil {
		return newEnd(t, nil)
	}
	return &end{template.Reference{Registry: e.ref.Registry, Name: "acme/other"}, e.registry, e.options}
}

// open returns a new Repository value, because each run creates a separate value.
func (e *end) open(t *testing.T) repository.Repository {
	t.Helper()
	repo, err := repository.Open(e.ref, e.options)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// eachDirection runs a test for every pair of repository kinds.
func eachDirection(t *testing.T, test func(t *testing.T, from, to *end)) {
	t.Helper()
	for _, a := range slices.Sorted(maps.Keys(endKinds)) {
		for _, b := range slices.Sorted(maps.Keys(endKinds)) {
			t.Run(a+" to "+b, func(t *testing.T) {
				t.Parallel()
				test(t, newEnd(t, endKinds[a]), newEnd(t, endKinds[b]))
			})
		}
	}
}

// eachTarget runs a test for a layout as the source and every kind of target.
func eachTarget(t *testing.T, test func(t *testing.T, from, to *end)) {
	t.Helper()
	for name, o := range endKinds {
		t.Run("to "+name, func(t *testing.T) {
			t.Parallel()
			test(t, newEnd(t, nil), newEnd(t, o))
		})
	}
}

// eachTargetInBubble is like eachTarget, but runs each test in a synctest bubble.
func eachTargetInBubble(t *testing.T, test func(t *testing.T, from, to *end)) {
	t.Helper()
	for name, o := range endKinds {
		t.Run("to "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, newEnd(t, nil), newEndOn(t, o, inMemory)) })
		})
	}
}

// packageOf returns a package with the given zip content.
func packageOf(t *testing.T, p provider.Platform, zip string) provider.Package {
	t.Helper()
	a, v := thing(t)
	return provider.Package{
		Address: a, Version: v, Platform: p, Filename: provider.Filename(a, v, p),
		Digest: digest.FromString(zip), Size: int64(len(zip)),
		Documents: []provider.Document{artifact.NewDocument(provider.Filename(a, v, p)+".spdx.json", artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`))},
	}
}

func thing(t *testing.T) (provider.Address, provider.Version) {
	t.Helper()
	a, err := provider.ParseAddress("registry.example.org/acme/thing")
	if err != nil {
		t.Fatal(err)
	}
	v, err := provider.ParseVersion(tag)
	if err != nil {
		t.Fatal(err)
	}
	return a, v
}

// pack packs a release with the given zip contents and all kinds of documents.
func pack(t *testing.T, zips map[provider.Platform]string) artifact.Packed {
	t.Helper()
	return packEdited(t, zips, func(*provider.Release) {})
}

// packEdited packs a release after edit has changed it.
func packEdited(t *testing.T, zips map[provider.Platform]string, edit func(*provider.Release)) artifact.Packed {
	t.Helper()
	a, v := thing(t)
	r := provider.Release{Address: a, Version: v, Protocols: []string{"6.0"}}
	stem := "terraform-provider-thing_" + tag
	for _, p := range provider.SortPlatforms(slices.Collect(maps.Keys(zips))) {
		r.Packages = append(r.Packages, packageOf(t, p, zips[p]))
	}
	r.Documents = []provider.Document{
		artifact.NewDocument(stem+"_SHA256SUMS", artifact.MediaTypeSums, []byte("sums")),
		artifact.NewDocument(stem+"_SHA256SUMS.sig", artifact.MediaTypeSignature, []byte("signature")),
		artifact.NewDocument(stem+"_keys.asc", artifact.MediaTypeKeys, []byte("keys")),
	}
	edit(&r)
	packed, err := artifact.Pack(r, artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

var twoZips = map[provider.Platform]string{haiku: "the zip of haiku", plan9: "the zip of plan9"}

// push stores a release and returns the descriptor of its index.
func (e *end) push(t *testing.T, zips map[provider.Platform]string) ocispec.Descriptor {
	t.Helper()
	for _, zip := range zips {
		pushBlob(t, e.open(t), blob(zip))
	}
	return e.pushRelease(t, zips)
}

// pushRelease stores a release whose zips already exist in the repository.
func (e *end) pushRelease(t *testing.T, zips map[provider.Platform]string) ocispec.Descriptor {
	t.Helper()
	return e.pushPacked(t, pack(t, zips))
}

func (e *end) pushPacked(t *testing.T, packed artifact.Packed) ocispec.Descriptor {
	t.Helper()
	repo := e.open(t)
	was, err := repository.Inspect(t.Context(), repo, tag, repository.DepthManifests)
	if err != nil {
		t.Fatal(err)
	}
	now, _, err := repository.Push(t.Context(), repo, packed, was, repository.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return now.Descriptor
}

// fill stores a release with four referrers: two of the index, one of a manifest, and
// one of a referrer.
func (e *end) fill(t *testing.T) ocispec.Descriptor {
	t.Helper()
	index := e.push(t, twoZips)
	e.attach(t, index, sbom(1), sbom(2))
	e.attach(t, pack(t, twoZips).Manifests[0].Descriptor, sbom(3))
	referrer, err := artifact.PackReferrer(sbom(1), index)
	if err != nil {
		t.Fatal(err)
	}
	e.attach(t, referrer.Manifest.Descriptor, artifact.NewDocument("signature.json", "application/x-signature", []byte("of a referrer")))
	return index
}

func (e *end) attach(t *testing.T, subject ocispec.Descriptor, documents ...provider.Document) {
	t.Helper()
	if _, err := repository.Attach(t.Context(), e.open(t), documents, artifact.Blob{Descriptor: subject}); err != nil {
		t.Fatal(err)
	}
}

// copyTo copies the release with new Repository values, like a separate run.
func (e *end) copyTo(t *testing.T, to *end, o repository.CopyOptions) (repository.CopyResult, error) {
	t.Helper()
	return copyOver(t.Context(), e.open(t), to.open(t), o)
}

func copyOver(ctx context.Context, from repository.Reader, to repository.Repository, o repository.CopyOptions) (repository.CopyResult, error) {
	return repository.Copy(ctx, from, to, tag, o)
}

// wantCopied copies the release and checks that both ends have the same content.
func (e *end) wantCopied(t *testing.T, to *end, o repository.CopyOptions) repository.CopyResult {
	t.Helper()
	done, err := e.copyTo(t, to, o)
	if err != nil {
		t.Fatal(err)
	}
	e.wantSame(t, to)
	return done
}

func (e *end) wantSame(t *testing.T, to *end) {
	t.Helper()
	if diff := cmp.Diff(e.content(t), to.content(t)); diff != "" {
		t.Errorf("source and target differ (-source +target):\n%s", diff)
	}
}

// content maps the digests of the release's manifests and blobs to descriptions, and
// verifies each digest.
func (e *end) content(t *testing.T) map[digest.Digest]string {
	t.Helper()
	return e.contentOf(t, tag)
}

func (e *end) contentOf(t *testing.T, tag string) map[digest.Digest]string {
	t.Helper()
	repo, all := e.open(t), map[digest.Digest]string{}
	d, _, err := repo.Manifest(t.Context(), tag)
	if err != nil {
		t.Fatal(err)
	}
	e.walk(t, repo, d.Digest, all)
	return all
}

func (e *end) walk(t *testing.T, repo repository.Repository, d digest.Digest, all map[digest.Digest]string) {
	t.Helper()
	if all[d] != "" {
		return
	}
	_, data, err := repo.Manifest(t.Context(), d.String())
	if err != nil {
		t.Fatal(err)
	}
	if d.Algorithm().FromBytes(data) != d {
		t.Errorf("%s has other bytes", d)
	}
	all[d] = fmt.Sprintf("manifest of %d bytes", len(data))
	manifests, blobs, err := artifact.Children(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blobs {
		body, err := repository.Verified(t.Context(), repo, b, "blob")
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, body)
		_ = body.Close()
		if err != nil {
			t.Error(err)
		}
		all[b.Digest] = fmt.Sprintf("blob of %d bytes", n)
	}
	for _, m := range append(manifests, e.referrers(t, repo, d)...) {
		e.walk(t, repo, m.Digest, all)
	}
}

// referrers returns the referrers of a manifest from the API or from the referrers tag.
func (e *end) referrers(t *testing.T, repo repository.Repository, subject digest.Digest) []ocispec.Descriptor {
	t.Helper()
	if ask := repo.Capabilities().Referrers; ask != nil {
		list, supported, err := ask(t.Context(), subject)
		if err != nil {
			t.Fatal(err)
		}
		if supported {
			return list
		}
	}
	d, data, err := repo.Manifest(t.Context(), artifact.ReferrersTag(subject))
	if err != nil || d.Digest == subject { // GitLab resolves the tag to the subject
		return nil
	}
	list, err := artifact.ParseReferrers(data)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// at returns the digest that a tag points to, or "" if the tag does not exist.
func (e *end) at(t *testing.T, tag string) digest.Digest {
	t.Helper()
	d, _, err := e.open(t).Manifest(t.Context(), tag)
	if err != nil {
		return ""
	}
	return d.Digest
}

// state returns a string that differs after every write.
func (e *end) state(t *testing.T) string {
	t.Helper()
	if e.registry != nil {
		return fmt.Sprintf("%d writing requests", e.registry.Writes())
	}
	var all strings.Builder
	err := filepath.WalkDir(filepath.FromSlash(e.ref.Layout), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == ".tofu-oci.lock" {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			fmt.Fprintln(&all, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return all.String()
}

// lose deletes a blob or manifest.
func (e *end) lose(t *testing.T, d digest.Digest) {
	t.Helper()
	if e.registry != nil {
		e.registry.Delete(t, e.ref.Name, d.String())
		return
	}
	if err := os.Remove(e.path(t, d)); err != nil {
		t.Fatal(err)
	}
}

// damage replaces a blob's content with different bytes, followed by more.
func (e *end) damage(t *testing.T, b artifact.Blob, more string) {
	t.Helper()
	other := append(bytes.ToUpper(b.Bytes), more...)
	if e.registry != nil {
		e.registry.AddBlob(e.ref.Name, b.Descriptor.Digest.String(), other)
		return
	}
	write(t, e.path(t, b.Descriptor.Digest), string(other))
}

func (e *end) path(t *testing.T, d digest.Digest) string {
	t.Helper()
	path, err := e.open(t).Capabilities().BlobPath(d)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func wantFormat(t *testing.T, err error, text string) {
	t.Helper()
	if _, ok := errors.AsType[*artifact.FormatError](err); !ok || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v", err)
	}
}
