package trust_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/gpgtest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// world contains gpg keys and signatures. It is created once and not modified.
var world struct {
	sums []byte
	// The names of keys and signatures are defined in makeWorld.
	fingerprints map[string]string
	public       map[string][]byte // armored
	binary       map[string][]byte
	signatures   map[string][]byte
	armored      map[string][]byte
}

// then is the creation time of the expired keys and their signatures.
var then = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	flag.Parse()
	if fuzzing := flag.Lookup("test.fuzz").Value.String() != ""; !fuzzing { // each fuzzing worker would create separate keys
		gpg, err := gpgtest.New()
		if err == nil {
			err = makeWorld(context.Background(), gpg)
			_ = gpg.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// makeWorld creates a key of each kind and signs with it.
func makeWorld(ctx context.Context, gpg *gpgtest.GPG) error {
	world.sums = []byte("0000000000000000000000000000000000000000000000000000000000000000  terraform-provider-thing_1.0.0_plan9_mips.zip\n")
	world.fingerprints, world.public, world.binary = map[string]string{}, map[string][]byte{}, map[string][]byte{}
	world.signatures, world.armored = map[string][]byte{}, map[string][]byte{}
	for name, at := range map[string]gpgtest.At{
		"rsa": {Algorithm: "rsa2048"}, "ed25519": {Algorithm: "ed25519"}, "nistp256": {Algorithm: "nistp256"}, "dsa": {Algorithm: "dsa1024"},
		"expired": {Algorithm: "ed25519", Time: then, Lifetime: "1y"}, "revoked": {Algorithm: "ed25519"},
		"subkey": {Algorithm: "ed25519", Usage: "cert"}, "old-subkey": {Algorithm: "ed25519", Usage: "cert", Time: then},
		"prolonged": {Algorithm: "ed25519", Time: then, Lifetime: "1y"}, "encrypts": {Algorithm: "rsa2048", Usage: "sign,cert,encr"},
	} {
		fingerprint, err := gpg.Key(ctx, name+" <"+name+"@example.com>", at)
		if err != nil {
			return err
		}
		world.fingerprints[name] = fingerprint
		var when time.Time
		if !at.Time.IsZero() {
			when = at.Time.AddDate(0, 1, 0)
		}
		switch name {
		case "subkey":
			err = gpg.AddSubkey(ctx, fingerprint, gpgtest.At{Algorithm: "ed25519"})
		case "old-subkey":
			err = gpg.AddSubkey(ctx, fingerprint, gpgtest.At{Algorithm: "ed25519", Time: then, Lifetime: "1y"})
		}
		if err != nil {
			return err
		}
		if err := sign(ctx, gpg, name, world.sums, when, nil, name); err != nil {
			return err
		}
	}
	for _, other := range []struct {
		name     string
		document string
		options  []string
		keys     []string
	}{
		{"other document", "something else", nil, []string{"rsa"}},
		{"both", "", nil, []string{"rsa", "ed25519"}},
		{"both, other order", "", nil, []string{"ed25519", "rsa"}},
		{"short-lived", "", []string{"--default-sig-expire", "1d"}, []string{"rsa"}},
		{"text", "", []string{"--textmode"}, []string{"rsa"}},
		{"sha1", "", []string{"--digest-algo", "SHA1"}, []string{"rsa"}},
	} {
		document, when := world.sums, time.Time{}
		if other.document != "" {
			document = []byte(other.document)
		}
		if other.name == "short-lived" {
			when = time.Now().AddDate(0, 0, -3)
			other.options = append(other.options, "--ignore-time-conflict")
		}
		if err := sign(ctx, gpg, other.name, document, when, other.options, other.keys...); err != nil {
			return err
		}
	}
	if err := export(ctx, gpg); err != nil {
		return err
	}
	world.public["prolonged, before"] = world.public["prolonged"]
	if err := gpg.SetExpiry(ctx, world.fingerprints["prolonged"], "never"); err != nil {
		return err
	}
	if err := gpg.Revoke(ctx, world.fingerprints["revoked"]); err != nil {
		return err
	}
	world.public["revoked, before"] = world.public["revoked"]
	return export(ctx, gpg)
}

func sign(ctx context.Context, gpg *gpgtest.GPG, name string, document []byte, when time.Time, options []string, keys ...string) (err error) {
	var by []string
	for _, key := range keys {
		by = append(by, world.fingerprints[key])
	}
	if world.signatures[name], err = gpg.Sign(ctx, document, when, slices.Clone(options), by...); err != nil {
		return err
	}
	world.armored[name], err = gpg.Sign(ctx, document, when, append(slices.Clone(options), "--armor"), by...)
	return err
}

func export(ctx context.Context, gpg *gpgtest.GPG) (err error) {
	for name, fingerprint := range world.fingerprints {
		if world.binary[name], err = gpg.Export(ctx, nil, fingerprint); err != nil {
			return err
		}
		if world.public[name], err = gpg.Export(ctx, []string{"--armor"}, fingerprint); err != nil {
			return err
		}
	}
	return nil
}

// release returns example.com/acme/thing 1.0.0 with the checksums of the world.
func release(t *testing.T, documents ...provider.Document) provider.Release {
	t.Helper()
	a, err := provider.ParseAddress("example.com/acme/thing")
	if err != nil {
		t.Fatal(err)
	}
	v, err := provider.ParseVersion("1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	platform := provider.Platform{OS: "plan9", Arch: "mips"}
	return provider.Release{Address: a, Version: v, Documents: documents, Packages: []provider.Package{{
		Address: a, Version: v, Platform: platform, Filename: provider.Filename(a, v, platform), Digest: digest.FromString("zip"), Size: 3,
	}}}
}

func document(kind provider.DocumentKind, name string, content []byte) provider.Document {
	return provider.Document{Kind: kind, Scope: provider.ScopeRelease, Name: name}.WithBytes(content)
}

// signed returns a release with a signature and keys of the world.
func signed(t *testing.T, signature []byte, keys ...string) provider.Release {
	t.Helper()
	documents := []provider.Document{document(provider.KindSums, "SHA256SUMS", world.sums)}
	if signature != nil {
		documents = append(documents, document(provider.KindSignature, "SHA256SUMS.sig", signature))
	}
	var ring []byte
	for _, name := range keys {
		ring = append(ring, world.public[name]...)
	}
	if ring != nil {
		documents = append(documents, document(provider.KindKeys, "SHA256SUMS.keys.asc", ring))
	}
	return release(t, documents...)
}

// keyring returns a keyring that contains the given keys of the world.
func keyring(t *testing.T, names ...string) trust.Keyring {
	t.Helper()
	if len(names) == 0 {
		return trust.Keyring{}
	}
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(dir+"/"+name+".asc", world.public[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ring, err := trust.ReadKeyring(dir)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}
