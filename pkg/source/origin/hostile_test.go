package origin_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// otherDigest is a checksum that matches no content.
var otherDigest = digest.FromString("something else")

// TestRegistryHostilePackageDocuments changes the package document of one platform.
func TestRegistryHostilePackageDocuments(t *testing.T) {
	t.Parallel()
	const document = "describing HOST/acme/thing 1.2.3: package metadata https://HOST/v1/providers/acme/thing/1.2.3/download/haiku/riscv64: "
	const name = "terraform-provider-thing_1.2.3_haiku_riscv64.zip"
	const conventional = "the name for haiku_riscv64 is " + name
	const checking = "checking HOST/acme/thing 1.2.3 for haiku_riscv64: "
	set := func(field string, value any) func(map[string]any) {
		return func(doc map[string]any) { doc[field] = value }
	}
	state := func(field string, value any) func(map[string]any) {
		return func(doc map[string]any) {
			doc["packages"].(map[string]any)[haiku.String()].(map[string]any)[field] = value
		}
	}
	right := digest.FromBytes(zipOf(t, "haiku"))
	tests := map[string]struct {
		change func(map[string]any)
		as     any
		want   string
	}{
		"name leaves the directory": {set("filename", "../../etc/passwd"), new(*provider.IdentityError),
			document + `filename: "../../etc/passwd" is not a package file name; ` + conventional},
		"name of a configuration": {set("filename", "zz_override.tf"), new(*provider.IdentityError),
			document + `filename: "zz_override.tf" is not a package file name; ` + conventional},
		"no name": {set("filename", ""), new(*provider.IdentityError), document + `filename: "" is not a package file name; ` + conventional},
		"name of an older version": {set("filename", "terraform-provider-thing_1.2.2_haiku_riscv64.zip"), new(*provider.IdentityError),
			document + `filename: "terraform-provider-thing_1.2.2_haiku_riscv64.zip" is the name of thing 1.2.2 for haiku_riscv64, not of thing 1.2.3 for haiku_riscv64`},
		"another platform": {set("arch", "amd64"), nil, document + `unexpected platform "haiku_amd64", want haiku_riscv64`},
		"other shasum": {set("shasum", otherDigest.Encoded()), new(*sums.MismatchError),
			checking + "the package metadata disagrees with SHA256SUMS: checksum of " + name + " is " + otherDigest.String() + ", not " + right.String()},
		"shasum that is none": {set("shasum", "cafe"), nil, document + `invalid shasum "cafe": want a SHA-256 checksum`},
		"other zh": {state("hashes", []string{sums.ZH(otherDigest)}), new(*sums.MismatchError),
			checking + "the hashes that the registry lists disagree: checksum of " + name + " is " + otherDigest.String() + ", not " + right.String()},
		"two zh": {state("hashes", []string{sums.ZH(right), sums.ZH(otherDigest)}), nil,
			document + "packages: haiku_riscv64 has two different zh hashes"},
		"h1 that is none": {state("hashes", []string{"h1:x"}), nil,
			document + `packages: invalid hash "h1:x": want "h1:" followed by the base64 encoding of 32 bytes`},
		"zip without TLS": {set("download_url", "http://127.0.0.1/z?sig=secret"), nil,
			document + "download_url: invalid URL http://127.0.0.1/z: want https"},
		"zip from disk":    {set("download_url", "file:///etc/passwd"), nil, document + "download_url: invalid URL file:///etc/passwd: want https"},
		"no download_url":  {set("download_url", ""), nil, document + "download_url is not set"},
		"sums without TLS": {set("shasums_url", "http://127.0.0.1/"), nil, document + "shasums_url: invalid URL http://127.0.0.1/: want https"},
		"signature without TLS": {set("shasums_signature_url", "http://127.0.0.1/"), nil,
			document + "shasums_signature_url: invalid URL http://127.0.0.1/: want https"},
		"no checksum at all": {func(doc map[string]any) { delete(doc, "shasum"); delete(doc, "shasums_url") }, nil,
			document + "neither shasum nor shasums_url is set, so the zip can't be verified"},
	}
	for label, test := range tests {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			r := w.release()
			r.Edit = func(p provider.Platform, doc map[string]any) {
				if p == haiku {
					test.change(doc)
				}
			}
			w.add(t, r)
			_, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"))
			if diff := cmp.Diff(test.want, w.text(err)); diff != "" {
				t.Error(diff)
			}
			if test.as != nil && !errors.As(err, test.as) {
				t.Errorf("not a %T", test.as)
			}
			if n := w.origin.Requests()[origintest.Zip]; n != 0 {
				t.Errorf("got requests for %d zips", n)
			}
		})
	}
}

func TestRegistrySumsOfAnotherRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	r := w.release()
	r.Sums = sums.New(map[string]digest.Digest{"terraform-provider-thing_1.2.0_haiku_riscv64.zip": otherDigest}).Bytes()
	w.add(t, r)
	_, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"))
	var missing *sums.FileError
	if !errors.As(err, &missing) || missing.Missing != "terraform-provider-thing_1.2.3_haiku_riscv64.zip" {
		t.Errorf("got %v", err)
	}
}

func TestRegistrySumsPerPlatform(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path string // path of the other SHA256SUMS
		want string
	}{
		"same document elsewhere": {"/files/acme/thing/1.2.3/terraform-provider-thing_1.2.3_SHA256SUMS?2", "<nil>"},
		"another document": {"/files/acme/thing/1.2.0/terraform-provider-thing_1.2.0_SHA256SUMS",
			"fetching checksums of HOST/acme/thing 1.2.3: the platforms of the release refer to different documents: " +
				"https://HOST/files/acme/thing/1.2.3/terraform-provider-thing_1.2.3_SHA256SUMS and " +
				"https://HOST/files/acme/thing/1.2.0/terraform-provider-thing_1.2.0_SHA256SUMS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			r := w.release()
			r.Edit = func(p provider.Platform, doc map[string]any) {
				if p == plan9 {
					doc["shasums_url"] = test.path
				}
			}
			w.add(t, r)
			_, err := w.source().Release(t.Context(), w.address, version(t, "1.2.3"))
			if diff := cmp.Diff(test.want, w.text(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
