package repository_test

import (
	"fmt"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// raw returns a manifest with exactly the given bytes.
func raw(mediaType, text string) artifact.Blob {
	b := blob(text)
	b.Descriptor.MediaType = mediaType
	return b
}

// entry returns a descriptor in unusually formatted JSON.
func entry(b artifact.Blob, more string) string {
	return fmt.Sprintf("{\r\n \"size\" : %d,\t\"digest\":%q , \"mediaType\" : %q%s }", b.Descriptor.Size, b.Descriptor.Digest, b.Descriptor.MediaType, more)
}

// foreign pushes an artifact as another tool might create it: without tofu-oci's
// annotations, with other layers, with titles that are paths, with a nested index, and
// with unusual JSON.
func (e *end) foreign(t *testing.T) digest.Digest {
	t.Helper()
	repo := e.open(t)
	config, zip, extra := blob("{ }"), blob("foreign zip"), blob("unrelated notes")
	config.Descriptor.MediaType = "application/vnd.example.config+json"
	zip.Descriptor.MediaType = artifact.MediaTypeZip
	for _, b := range []artifact.Blob{config, zip, extra} {
		pushBlob(t, repo, b)
	}
	manifest := raw(ocispec.MediaTypeImageManifest, "\n{\"unknownField\" : [ 1, 2.50, null ], \"artifactType\":\""+artifact.TypeTarget+"\",\n\t\"mediaType\": \""+ocispec.MediaTypeImageManifest+
		"\", \"schemaVersion\":2,\"layers\" : ["+entry(extra, `,"annotations":{"org.opencontainers.image.title":"../../etc/notes"}`)+","+entry(zip, `,"annotations":{"x.y/\u007a":"\u00e9\u2028<&>"}`)+
		"],\r\n\"config\":"+entry(config, "")+"}\n\n")
	nested := raw(ocispec.MediaTypeImageManifest, `{"schemaVersion":2,"mediaType":"`+ocispec.MediaTypeImageManifest+`","config":`+entry(config, "")+`,"layers":[]}`)
	for _, m := range []artifact.Blob{manifest, nested} {
		if err := repo.PushManifest(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	inner := raw(ocispec.MediaTypeImageIndex, `{"schemaVersion":2,"mediaType":"`+ocispec.MediaTypeImageIndex+`","manifests":[`+entry(nested, "")+`,`+entry(nested, "")+`]}  `)
	if err := repo.PushManifest(t.Context(), inner); err != nil {
		t.Fatal(err)
	}
	index := raw(ocispec.MediaTypeImageIndex, `{ "manifests":[`+
		entry(manifest, `,"artifactType":"`+artifact.TypeTarget+`","platform":{"os":"plan9","architecture":"mips64","variant":"v9"}`)+`,`+
		entry(inner, "")+`],"annotations":{"zz":"1","aa":"2"}, "artifactType":"`+artifact.TypeProvider+`","mediaType":"`+ocispec.MediaTypeImageIndex+`","schemaVersion":2}`)
	pushTag(t, repo, index, tag, "")
	// Attach a signature to the nested index, as other tools do.
	e.attach(t, inner.Descriptor, artifact.NewDocument("inner.sig", "application/x-signature", []byte("of the inner index")))
	return index.Descriptor.Digest
}

// TestCopyOfOtherTools checks that Copy preserves every byte of an artifact created by
// another tool.
func TestCopyOfOtherTools(t *testing.T) {
	t.Parallel()
	eachDirection(t, func(t *testing.T, from, to *end) {
		index := from.foreign(t)
		state := ""
		for run := range 2 {
			done := from.wantCopied(t, to, repository.CopyOptions{})
			if done.Digest != index || to.at(t, tag) != index || done.Referrers != 1 || done.Tagged != (run == 0) {
				t.Errorf("%+v", done)
			}
			if run == 1 && to.state(t) != state {
				t.Error("the second run wrote something")
			}
			state = to.state(t)
		}
	})
}

// TestCopyOtherToolsList checks a referrers list that another tool wrote. If both
// ends store the list under the referrers tag, Copy preserves its bytes.
func TestCopyOtherToolsList(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		index := from.push(t, twoZips)
		from.attach(t, index, sbom(1))
		listed := artifact.ReferrersTag(index.Digest)
		_, ours, err := from.open(t).Manifest(t.Context(), listed)
		if err != nil {
			t.Fatal(err)
		}
		theirs := raw(ocispec.MediaTypeImageIndex, "\n"+string(ours)+"\n")
		pushTag(t, from.open(t), theirs, listed, digest.FromBytes(ours))
		from.wantCopied(t, to, repository.CopyOptions{})
		if got := to.at(t, listed); got != theirs.Descriptor.Digest && got != "" {
			t.Errorf("the list is %s now", got)
		}
		from.wantSameList(t, to, index.Digest)
	})
}

// TestCopyOfNestedIndexes checks that Copy rejects deeply nested indexes. It also
// checks that Copy copies a manifest only once if indexes list it many times.
func TestCopyOfNestedIndexes(t *testing.T) {
	t.Parallel()
	from, to := newEnd(t, nil), newEnd(t, nil)
	repo := from.open(t)
	packed := pack(t, twoZips)
	from.push(t, twoZips)
	inner := packed.Manifests[0]
	inner.Descriptor.ArtifactType, inner.Descriptor.Platform = "", nil
	wrap := func(b artifact.Blob) artifact.Blob {
		list := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex}
		for range 100 {
			list.Manifests = append(list.Manifests, b.Descriptor)
		}
		index := blobOf(t, list, ocispec.MediaTypeImageIndex)
		if err := repo.PushManifest(t.Context(), index); err != nil {
			t.Fatal(err)
		}
		return index
	}
	tagWith := func(b artifact.Blob, was digest.Digest) artifact.Blob {
		var index ocispec.Index
		decode(t, packed.Index.Bytes, &index)
		index.Manifests = append(index.Manifests, b.Descriptor)
		all := blobOf(t, index, ocispec.MediaTypeImageIndex)
		pushTag(t, repo, all, tag, was)
		return all
	}
	inner = wrap(wrap(inner))
	all := tagWith(inner, packed.Index.Descriptor.Digest)
	if done := from.wantCopied(t, to, repository.CopyOptions{}); !done.Tagged {
		t.Errorf("%+v", done)
	}
	tagWith(wrap(inner), all.Descriptor.Digest)
	_, err := from.copyTo(t, newEnd(t, nil), repository.CopyOptions{})
	wantFormat(t, err, "indexes are nested too deeply")
}
