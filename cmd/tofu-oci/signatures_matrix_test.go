package main_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// matrix contains combinations of a signature and trusted keys. For each combination,
// it lists the expected verdicts with --signatures require, warn, and off, and whether
// the release is rejected.
var matrix = map[string]struct {
	by, document  string
	keyring, pins string // names of keys
	want          [3]string
}{
	"good":             {"good", "", "good", "", [3]string{"signed", "signed", "signed"}},
	"expired":          {"expired", "", "expired", "", [3]string{"expired", "expired", "expired"}},
	"revoked":          {"revoked", "", "revoked", "", [3]string{"revoked, refused", "revoked, refused", "revoked"}},
	"unknown":          {"good", "", "", "", [3]string{"unknown-key, refused", "unknown-key", "unknown-key"}},
	"other pinned key": {"other", "", "", "good", [3]string{"untrusted, refused", "untrusted, refused", "unknown-key"}},
	"bad":              {"good", "other sums", "good", "", [3]string{"bad, refused", "bad, refused", "bad, refused"}},
	"missing":          {"", "", "", "", [3]string{"unsigned, refused", "unsigned", "unsigned"}},
}

// TestSignaturesMatrix runs commands with all kinds of signatures, in both forms and in
// all modes. A rejected release must cause exit code 4, and no file must be written.
func TestSignaturesMatrix(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	if err := makeSigners(t.Context()); err != nil {
		t.Fatal(err)
	}
	for form, options := range map[string][]string{"binary": nil, "armored": {"--armor"}} {
		for name, test := range matrix {
			dir := t.TempDir()
			listed, zip := buildSigned(t, dir)
			var signature []byte
			if test.by != "" {
				document := listed
				if test.document != "" {
					document = []byte(test.document)
				}
				signature = signatureBy(t, test.by, document, options...)
				write(t, filepath.Join(dir, stem+"_SHA256SUMS.sig"), signature)
			}
			flags := policyFlags(t, test.keyring, test.pins)
			stored := storeUnverified(t, dir)
			origin := originOf(t, listed, zip, signature)
			for i, mode := range []string{"require", "warn", "off"} {
				t.Run(strings.Join([]string{form, name, mode}, "/"), func(t *testing.T) {
					t.Parallel()
					flags := append([]string{"--signatures", mode, "--output", "json"}, flags...)
					out := filepath.ToSlash(filepath.Join(t.TempDir(), "out"))
					config := filepath.Join(t.TempDir(), "none.tofurc")
					write(t, config, nil)
					for command, args := range map[string][]string{
						"publish": {dir, "--provider", "acme/thing", "--skip-checks", "--to", "oci-layout:" + out + "/publish", "--config", config},
						"pull":    {"acme/thing", "--from", stored, "--platform", nouns.Plan9.String(), "--dir", out + "/pull", "--config", config},
						"mirror":  append([]string{"acme/thing", "--to", "oci-layout:" + out + "/mirror"}, origin...),
					} {
						if got := runVerified(t, append(append([]string{command}, args...), flags...), out+"/"+command); got != test.want[i] {
							t.Errorf("%s: got %q, want %q", command, got, test.want[i])
						}
					}
				})
			}
		}
	}
}

const stem = "terraform-provider-thing_1.0.0"

// runVerified runs a command and returns its verdict and whether the release was
// rejected. It checks that the exit code and the directory's files match.
func runVerified(t *testing.T, args []string, dir string) string {
	t.Helper()
	code, stdout, stderr := execute(t, args...)
	var report struct {
		Items []struct {
			Status    string
			Signature struct{ Verdict string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || len(report.Items) != 1 {
		t.Fatalf("%v: exit code %d, %v: %s%s", args, code, err, stdout, stderr)
	}
	result := report.Items[0]
	_, err := os.Stat(dir)
	written := !errors.Is(err, fs.ErrNotExist)
	switch {
	case code == 0 && written && result.Status != "failed":
		return result.Signature.Verdict
	case code == 4 && !written && result.Status == "failed" && strings.Contains(stderr, " is refused: "):
		return result.Signature.Verdict + ", refused"
	}
	t.Errorf("%v: exit code %d, %s, written: %v: %s", args, code, result.Status, written, stderr)
	return ""
}

// buildSigned creates a release of acme/thing 1.0.0 in a directory.
func buildSigned(t *testing.T, dir string) (listed, zip []byte) {
	t.Helper()
	zip = nouns.Zip(t, "a provider")
	name := stem + "_" + nouns.Plan9.String() + ".zip"
	listed = sums.New(map[string]digest.Digest{name: digest.FromBytes(zip)}).Bytes()
	write(t, filepath.Join(dir, name), zip)
	write(t, filepath.Join(dir, stem+"_SHA256SUMS"), listed)
	return listed, zip
}

// storeUnverified publishes a directory without verification and returns the repository.
func storeUnverified(t *testing.T, dir string) string {
	t.Helper()
	a := nouns.Address(t, "acme/thing")
	src, err := builddir.New(a, dir)
	if err != nil {
		t.Fatal(err)
	}
	layout := filepath.ToSlash(t.TempDir())
	if _, err := publish.Release(t.Context(), src, repository.NewLayout(layout), a, nouns.Version(t, "1.0.0"), publish.Options{}); err != nil {
		t.Fatal(err)
	}
	return "oci-layout:" + layout
}

// originOf serves a release at registry.opentofu.org and returns the flags that make
// commands use the server.
func originOf(t *testing.T, listed, zip, signature []byte) []string {
	t.Helper()
	o := origintest.New(origintest.Options{})
	err := o.Add(t.Context(), origintest.Release{
		Namespace: "acme", Type: "thing", Version: "1.0.0", Protocols: []string{"6.0"}, Sums: listed, Signature: signature,
		Archives: map[provider.Platform]origintest.Archive{nouns.Plan9: {Bytes: zip}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	host := registrytest.Serve(t, ca, o)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ca.pem"), ca.PEM())
	write(t, filepath.Join(dir, "tofurc"), []byte("host \"registry.opentofu.org\" {\n  services = { \"providers.v1\" = \"https://"+host+"/v1/providers/\" }\n}\n"))
	return []string{"--config", filepath.Join(dir, "tofurc"), "--ca-file", filepath.Join(dir, "ca.pem")}
}

// policyFlags returns flags for a keyring with one key, or for a trust file that pins
// acme/thing to one key.
func policyFlags(t *testing.T, keyring, pins string) (flags []string) {
	t.Helper()
	dir := t.TempDir()
	if keyring != "" {
		key, err := publicKey(t.Context(), keyring)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "keys.asc"), key)
		flags = append(flags, "--keyring", filepath.Join(dir, "keys.asc"))
	}
	if pins != "" {
		write(t, filepath.Join(dir, "trust.hcl"), []byte("trust \"acme/*\" {\n  fingerprints = [\""+signers.fingerprints[pins]+"\"]\n}\n"))
		flags = append(flags, "--trust", filepath.Join(dir, "trust.hcl"))
	}
	return flags
}

// signatureBy returns a signature of a document.
func signatureBy(t *testing.T, name string, document []byte, options ...string) []byte {
	t.Helper()
	signature, err := signedBy(t.Context(), name, document, options...)
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
