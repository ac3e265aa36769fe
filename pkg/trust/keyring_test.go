package trust_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadKeyring(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".hidden"), []byte("no key"))
	write(t, filepath.Join(dir, "armored.asc"), slices.Concat(world.public["rsa"], []byte("a comment\n"), world.public["ed25519"]))
	write(t, filepath.Join(dir, "binary.gpg"), slices.Concat(world.binary["subkey"], world.binary["dsa"]))
	if err := os.Mkdir(filepath.Join(dir, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	all := func(names ...string) (fingerprints []string) {
		for _, name := range names {
			fingerprints = append(fingerprints, world.fingerprints[name])
		}
		slices.Sort(fingerprints)
		return fingerprints
	}
	for path, want := range map[string][]string{
		dir: all("rsa", "ed25519", "subkey", "dsa"), filepath.Join(dir, "armored.asc"): all("rsa", "ed25519"), filepath.Join(dir, "binary.gpg"): all("subkey", "dsa"),
	} {
		ring, err := trust.ReadKeyring(path)
		if err != nil || ring.IsZero() || !cmp.Equal(ring.Fingerprints(), want) {
			t.Errorf("%s: got %v, %v; want %v", path, ring.Fingerprints(), err, want)
		}
	}
}

func TestReadKeyringRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"text":         {[]byte("no key"), "reading a key"},
		"nothing":      {nil, "no OpenPGP keys found"},
		"a signature":  {world.armored["rsa"], "reading a key"},
		"damaged":      {[]byte(strings.Replace(string(world.public["rsa"]), "\nm", "\nX", 1)), "reading a key"},
		"keybox":       {[]byte("\x00\x00\x00\x20\x01\x01\x00\x02KBXf\x00\x00\x00\x00"), "keybox"},
		"huge numbers": {hugeKey(), "exceeds the size limit"},
	} {
		path := filepath.Join(t.TempDir(), "keys")
		write(t, path, test.content)
		_, err := trust.ReadKeyring(path)
		if provider.KindOf(err) != provider.Malformed || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := trust.ReadKeyring(t.TempDir()); err == nil || !strings.Contains(err.Error(), "contains no key files") {
		t.Errorf("an empty directory: got %v", err)
	}
	if _, err := trust.ReadKeyring(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	large := filepath.Join(t.TempDir(), "large")
	write(t, large, make([]byte, 4<<20+1))
	if _, err := trust.ReadKeyring(large); err == nil || !strings.Contains(err.Error(), "exceeds 4194304 bytes") {
		t.Errorf("a large file: got %v", err)
	}
}

// TestReadKeyringSkips checks that unreadable keys, and files without keys in a directory,
// are reported and don't hide the other keys.
func TestReadKeyringSkips(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "rsa.asc"), world.public["rsa"])
	write(t, filepath.Join(dir, "README.md"), []byte("These are our keys."))
	damaged := "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n"
	write(t, filepath.Join(files, "armored"), append(slices.Clone(world.public["rsa"]), damaged...))
	// A key of version 3 with an algorithm that doesn't exist.
	unsupported := []byte{0x98, 12, 3, 0, 0, 0, 1, 0, 0, 99, 0, 1, 1, 1}
	write(t, filepath.Join(files, "binary"), slices.Concat(unsupported, world.binary["rsa"]))
	for path, unread := range map[string]string{
		dir: "README.md", filepath.Join(files, "armored"): "skipping unreadable keys", filepath.Join(files, "binary"): "skipping unreadable keys",
	} {
		ring, err := trust.ReadKeyring(path)
		if err != nil || !slices.Equal(ring.Fingerprints(), []string{world.fingerprints["rsa"]}) {
			t.Errorf("%s: got %v, %v", path, ring.Fingerprints(), err)
		}
		if problems := ring.Unread(); len(problems) != 1 || !strings.Contains(problems[0].Error(), unread) {
			t.Errorf("%s: got %v", path, problems)
		}
	}
	none := t.TempDir()
	write(t, filepath.Join(none, "README.md"), []byte("There is no key yet."))
	if _, err := trust.ReadKeyring(none); provider.KindOf(err) != provider.Malformed || !strings.Contains(err.Error(), "README.md") {
		t.Errorf("got %v", err)
	}
}

// hugeKey returns an RSA key of 65,528 bits in the format of RFC 9580.
func hugeKey() []byte {
	number := slices.Concat([]byte{0xff, 0xf8}, slices.Repeat([]byte{0xff}, 8191))
	body := slices.Concat([]byte{4, 0, 0, 0, 1, 1}, number, []byte{0, 17, 1, 0, 1})
	return slices.Concat([]byte{0xc6, 0xff, 0, 0, byte(len(body) >> 8), byte(len(body))}, body)
}

// TestUnreadableKeys checks that unreadable keys of a release are skipped.
func TestUnreadableKeys(t *testing.T) {
	t.Parallel()
	r := signed(t, world.signatures["rsa"], "rsa")
	garbage := []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n")
	r.Documents[2] = document(provider.KindKeys, "keys", slices.Concat(garbage, world.public["rsa"]))
	if v, err := (trust.Policy{}).VerifyOffered(t.Context(), r); v.Trust != provider.TrustSigned || err != nil {
		t.Errorf("got %s, %v", v, err)
	}
	// Even if the origin registry offers only unreadable keys, the releases must be
	// signed.
	r.Documents[2] = document(provider.KindKeys, "keys", garbage)
	if v, err := (trust.Policy{}).VerifyOffered(t.Context(), r); v.Trust != provider.TrustUntrusted || err == nil {
		t.Errorf("got %s, %v", v, err)
	}
}

// FuzzVerify checks that arbitrary keys and signatures cause neither a crash nor a
// verdict that a pinned key signed the release. The seeds are gpg signatures of other
// documents, and their keys are pinned.
func FuzzVerify(f *testing.F) {
	seed := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join("testdata", "seeds", name))
		if err != nil {
			f.Fatal(err)
		}
		return content
	}
	f.Add(seed("rsa.sig"), seed("rsa.asc"))
	f.Add(seed("rsa.sig.asc"), seed("rsa.gpg"))
	f.Add(seed("ed.sig"), seed("ed.gpg"))
	f.Add(slices.Concat(seed("ed.sig"), seed("rsa.sig")), slices.Concat(seed("ed.asc"), seed("rsa.asc")))
	rules, err := trust.ParseRules("f", []byte(`trust "example.com/acme/thing" {
  fingerprints = ["6A5312A9E03AE4CA4E0368BCBF7A945C560449F1", "983D56C2D71C29780FEA90FE0AD3C34560AAF924"]
}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, signature, keys []byte) {
		r := release(t, document(provider.KindSums, "SHA256SUMS", []byte("other sums")),
			document(provider.KindSignature, "SHA256SUMS.sig", signature), document(provider.KindKeys, "keys", keys))
		v, err := trust.Policy{Rules: rules}.Verify(t.Context(), r)
		if err == nil || v.Trust == provider.TrustSigned {
			t.Errorf("got %s, %v", v, err)
		}
	})
}

// FuzzParseRules checks that writing and parsing rules is lossless.
func FuzzParseRules(f *testing.F) {
	f.Add(example)
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := trust.ParseRules("f", []byte(text))
		if err != nil {
			return
		}
		again, err := trust.ParseRules("f", rules.Bytes())
		if err != nil || string(again.Bytes()) != string(rules.Bytes()) {
			t.Errorf("%v: got\n%s\nof\n%s", err, again.Bytes(), rules.Bytes())
		}
	})
}
