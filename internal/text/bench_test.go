package text_test

import (
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

func BenchmarkSecrets(b *testing.B) {
	sent := text.Secrets{"ghp_0123456789abcdefghij", "user:ghp_0123456789abcdefghij", "Basic dXNlcjpnaHBfMDEyMzQ1Njc4OWFiY2RlZmdoaWo="}
	for b.Loop() {
		sent.Text("HEAD https://registry.example/v2/acme/many/blobs/sha256:0123456789012345678901234567890123456789012345678901234567890123: response status code 404: Not Found")
	}
}
