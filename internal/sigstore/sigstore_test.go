package sigstore_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/sigstore"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

func TestParse(t *testing.T) {
	t.Parallel()
	one, two := digest.FromString("1"), digest.FromString("2")
	b, err := sigstore.Parse(origintest.Bundle("type", one, two))
	if err != nil || !b.Covers(one) || !b.Covers(two) || b.Covers(digest.FromString("3")) || b.PredicateType != "type" {
		t.Errorf("got %+v, %v", b, err)
	}
	b, err = sigstore.Parse(origintest.BlobBundle(one))
	if err != nil || !b.Covers(one) || b.Covers(two) || b.PredicateType != "" {
		t.Errorf("got %+v, %v", b, err)
	}
}

func TestParseInvalid(t *testing.T) {
	t.Parallel()
	envelope := func(payload, payloadType string) string {
		data, _ := json.Marshal(map[string]any{"mediaType": sigstore.MediaType, "dsseEnvelope": map[string]any{"payload": []byte(payload), "payloadType": payloadType}})
		return string(data)
	}
	for text, want := range map[string]string{
		"":   "invalid Sigstore bundle",
		"{}": `media type ""`,
		`{"mediaType":"` + sigstore.MediaType + `"}`:                           "neither an in-toto statement nor a signature",
		envelope("{}", "text/plain"):                                           "neither",
		envelope("{", "application/vnd.in-toto+json"):                          "invalid in-toto statement",
		strings.Repeat(" ", sigstore.MaxSize+1):                                "exceeds 16777216 bytes",
		`{"mediaType":"application/vnd.dev.sigstore.bundle+json;version=0.1"}`: "unsupported Sigstore bundle",
	} {
		if _, err := sigstore.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: got %v, want %q", text, err, want)
		}
	}
	// Digests of other algorithms, and invalid ones, cover nothing.
	b, err := sigstore.Parse([]byte(envelope(`{"subject":[{"digest":{"sha512":"00"}},{"digest":{"sha256":"../x"}}]}`, "application/vnd.in-toto+json")))
	if err != nil || b.Covers("") || b.Covers(digest.FromString("")) {
		t.Errorf("got %+v, %v", b, err)
	}
}
