package artifact_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

func isFormatError(err error) bool {
	_, is := errors.AsType[*artifact.FormatError](err)
	return is
}

func FuzzParseReferrers(f *testing.F) {
	f.Add([]byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`))
	f.Add([]byte(`{"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"digest":"x","annotations":{"a":"b"}}]}`))
	f.Add([]byte(`{"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := artifact.ParseReferrers(data)
		if err != nil {
			if !isFormatError(err) {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		again, err := artifact.AddReferrer(list)
		if err != nil {
			return // its JSON is too large
		}
		got, err := artifact.ParseReferrers(again.Bytes)
		if diff := cmp.Diff(list, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("written and read again: %v\n%s", err, diff)
		}
	})
}

func FuzzParseReferrer(f *testing.F) {
	f.Add([]byte(`{"layers":[{"digest":"` + digest.FromString("x").String() + `","size":1}]}`))
	f.Add([]byte(`{"layers":[{"size":-1}]}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		layer, err := artifact.ParseReferrer(data)
		switch {
		case err != nil && !isFormatError(err):
			t.Errorf("%T: %v", err, err)
		case err == nil && (layer.Digest.Validate() != nil || layer.Size < 0 || layer.Size > artifact.MaxDocumentSize):
			t.Errorf("accepted %v", layer)
		}
	})
}

func FuzzDocumentType(f *testing.F) {
	f.Add([]byte(`{"spdxVersion":"SPDX-2.3"}`))
	f.Add([]byte(`{"@context":"https://spdx.org/rdf/3.0.1/spdx-context.jsonld"}`))
	f.Add([]byte(`{"bomFormat":"CycloneDX"}`))
	f.Add([]byte(`{"@context":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := artifact.DocumentType("sbom", "it", data)
		known := got == artifact.MediaTypeSPDX || got == artifact.MediaTypeCycloneDX
		if known != (err == nil) || got != "" && err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}
