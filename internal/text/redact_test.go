package text_test

import (
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestUserinfo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"https://mirror.example/v1/", "https://mirror.example/v1/"},
		{"https://user:secret@mirror.example/v1/", "https://***@mirror.example/v1/"},
		{"https://token@mirror.example/v1/", "https://***@mirror.example/v1/"},
		{"https://user:se/cr@et@mirror.example/", "https://***@mirror.example/"},
		{"https://user:a b\"c@mirror.example/", "https://***@mirror.example/"},
		{"user:secret@registry.example/${type}", "***@registry.example/${type}"},
		{`${"user:secret@"}registry.example/x`, `***@"}registry.example/x`},
		{"user:se/cret@registry.example/x", "***@registry.example/x"},
		{"oci://ghcr.io/acme/vpc@v1.0.7", "oci://ghcr.io/acme/vpc@v1.0.7"},
		{"oci://localhost:5000/acme/vpc@sha256:00", "oci://localhost:5000/acme/vpc@sha256:00"},
		{"oci://user:secret@ghcr.io/acme/vpc@v1.0.7", "oci://***@ghcr.io/acme/vpc@v1.0.7"},
		{"oci://user:se/cret@ghcr.io/acme/vpc", "oci://***@ghcr.io/acme/vpc"},
		{"https://user:se/cret@1.0.7", "https://***@1.0.7"},
		{"hashicorp/aws@5.0", "hashicorp/aws@5.0"},
		{"registry.example:5000/a/b@sha256:00", "registry.example:5000/a/b@sha256:00"},
		{"example.com:8443/acme/thing@1.x", "example.com:8443/acme/thing@1.x"},
		{"oci-layout:/home/a@b/{type}", "oci-layout:/home/a@b/{type}"},
	} {
		if got := text.RedactUserinfo(test.text); got != test.want {
			t.Errorf("%q became %q, want %q", test.text, got, test.want)
		}
	}
}

func TestUserinfoAtAdjustsOffset(t *testing.T) {
	t.Parallel()
	const written = "https://user:secret@host/bad"
	for _, test := range []struct {
		at   int
		want string
	}{{0, "https"}, {strings.Index(written, "bad"), "bad"}, {strings.Index(written, "secret"), "***@host"}} {
		shown, at := text.RedactUserinfoAt(written, test.at)
		if !strings.HasPrefix(shown[at:], test.want) {
			t.Errorf("byte %d of %q is at %d of %q, want it at %q", test.at, written, at, shown, test.want)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	const written = `fetching "https://u:p@a.example/x" and u:p@b.example/y, for hashicorp/aws@5.0`
	if got, want := text.Redact(written), `fetching "https://***@a.example/x" and ***@b.example/y, for hashicorp/aws@5.0`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
