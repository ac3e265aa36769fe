package trust_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// TestVerdicts checks the verdict for each kind of gpg key and signature. The keyring
// contains the key.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		signature string
		keys      []string
		want      provider.Trust
		signer    string
	}{
		"RSA":                                   {"rsa", []string{"rsa"}, provider.TrustSigned, "rsa"},
		"Ed25519":                               {"ed25519", []string{"ed25519"}, provider.TrustSigned, "ed25519"},
		"NIST P-256":                            {"nistp256", []string{"nistp256"}, provider.TrustSigned, "nistp256"},
		"DSA":                                   {"dsa", []string{"dsa"}, provider.TrustSigned, "dsa"},
		"one of several keys":                   {"rsa", []string{"ed25519", "expired", "rsa"}, provider.TrustSigned, "rsa"},
		"a subkey":                              {"subkey", []string{"subkey"}, provider.TrustSigned, "subkey"},
		"an expired key":                        {"expired", []string{"expired"}, provider.TrustExpired, "expired"},
		"an expired subkey":                     {"old-subkey", []string{"old-subkey"}, provider.TrustExpired, "old-subkey"},
		"an expired signature":                  {"short-lived", []string{"rsa"}, provider.TrustExpired, "rsa"},
		"a key with an extended expiration":     {"prolonged", []string{"prolonged"}, provider.TrustSigned, "prolonged"},
		"its older copy":                        {"prolonged", []string{"prolonged, before"}, provider.TrustExpired, "prolonged"},
		"both copies":                           {"prolonged", []string{"prolonged, before", "prolonged"}, provider.TrustSigned, "prolonged"},
		"a revoked key":                         {"revoked", []string{"revoked"}, provider.TrustRevoked, "revoked"},
		"before it was revoked":                 {"revoked", []string{"revoked, before"}, provider.TrustSigned, "revoked"},
		"a revoked key and an older copy":       {"revoked", []string{"revoked", "revoked, before"}, provider.TrustRevoked, "revoked"},
		"another key":                           {"rsa", []string{"ed25519"}, provider.TrustUntrusted, "rsa"},
		"two signatures, the first's key":       {"both", []string{"rsa"}, provider.TrustSigned, "rsa"},
		"two signatures, the second's key":      {"both", []string{"ed25519"}, provider.TrustSigned, "ed25519"},
		"two signatures, another key":           {"both", []string{"nistp256"}, provider.TrustUntrusted, ""},
		"of another document":                   {"other document", []string{"rsa"}, provider.TrustBad, "rsa"},
		"of another document, by another":       {"other document", []string{"ed25519"}, provider.TrustBad, "rsa"},
		"a signature of the text":               {"text", []string{"rsa"}, provider.TrustSigned, "rsa"},
		"over SHA-1, accepted like in OpenTofu": {"sha1", []string{"rsa"}, provider.TrustSigned, "rsa"},
	} {
		for form, signatures := range map[string]map[string][]byte{"binary": world.signatures, "armored": world.armored} {
			t.Run(name+", "+form, func(t *testing.T) {
				t.Parallel()
				r := signed(t, signatures[test.signature])
				v, err := trust.Policy{Keyring: keyring(t, test.keys...)}.Verify(t.Context(), r)
				if v.Trust != test.want {
					t.Errorf("got %s (%v), want %s", v, err, test.want)
				}
				if want := world.fingerprints[test.signer]; test.signer != "" && v.Fingerprint != want {
					t.Errorf("got fingerprint %s, want %s", v.Fingerprint, want)
				}
				passes := test.want == provider.TrustSigned || test.want == provider.TrustExpired
				if refused, ok := errors.AsType[*trust.RefusedError](err); ok == passes || ok && refused.Verdict != v {
					t.Errorf("got the error %v", err)
				}
				if test.want == provider.TrustExpired && (v.Expired.IsZero() || v.Warning == "" || !strings.Contains(v.String(), "expired on 20")) {
					t.Errorf("the verdict has no expiration: %+v", v)
				}
			})
		}
	}
}

// TestExpiredSince checks the expiration date.
func TestExpiredSince(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"expired", "old-subkey"} {
		v, err := trust.Policy{Keyring: keyring(t, name)}.Verify(t.Context(), signed(t, world.signatures[name]))
		if got, want := v.Expired.UTC(), then.AddDate(1, 0, 0); err != nil || got.Sub(want).Abs().Hours() > 48 {
			t.Errorf("%s: expired %s, want about %s (%v)", name, got, want, err)
		}
	}
}

// rulesOf parses a trust file.
func rulesOf(t *testing.T, text string) trust.Rules {
	t.Helper()
	rules, err := trust.ParseRules("trust.hcl", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// pin returns a trust file that pins example.com/acme/thing to the given keys of the
// world.
func pin(t *testing.T, more string, names ...string) trust.Rules {
	t.Helper()
	var list []string
	for _, name := range names {
		list = append(list, `"`+world.fingerprints[name]+`"`)
	}
	return rulesOf(t, "trust \"example.com/acme/thing\" {\n  fingerprints = ["+strings.Join(list, ", ")+"]\n"+more+"\n}\n")
}

// TestTrustedKeys verifies the same signature with keys from different sources.
func TestTrustedKeys(t *testing.T) {
	t.Parallel()
	by := func(name string, keys ...string) provider.Release { return signed(t, world.signatures[name], keys...) }
	for name, test := range map[string]struct {
		policy  trust.Policy
		release provider.Release
		offered bool
		want    provider.Trust
		refused bool
	}{
		"offered by the origin":                    {trust.Policy{Mode: trust.ModeRequire}, by("rsa", "rsa"), true, provider.TrustSigned, false},
		"in the artifact":                          {trust.Policy{}, by("rsa", "rsa"), false, provider.TrustUnpinned, false},
		"in the artifact, required":                {trust.Policy{Mode: trust.ModeRequire}, by("rsa", "rsa"), false, provider.TrustUnpinned, true},
		"in the artifact and pinned":               {trust.Policy{Mode: trust.ModeRequire, Rules: pin(t, "", "rsa")}, by("rsa", "rsa"), false, provider.TrustSigned, false},
		"pinned by its subkey's primary":           {trust.Policy{Rules: pin(t, "", "subkey")}, by("subkey", "subkey"), false, provider.TrustSigned, false},
		"pinned, another key offered":              {trust.Policy{Rules: pin(t, "", "rsa")}, by("ed25519", "ed25519"), true, provider.TrustUntrusted, true},
		"pinned, another in the keyring":           {trust.Policy{Rules: pin(t, "", "rsa"), Keyring: keyring(t, "ed25519")}, by("ed25519"), true, provider.TrustUntrusted, true},
		"pinned, its key is missing":               {trust.Policy{Rules: pin(t, "", "rsa")}, by("rsa", "ed25519"), false, provider.TrustUnknown, true},
		"pinned, its key in the keyring":           {trust.Policy{Rules: pin(t, "", "rsa"), Keyring: keyring(t, "rsa")}, by("rsa"), false, provider.TrustSigned, false},
		"pinned to two, signed by one":             {trust.Policy{Rules: pin(t, "", "rsa", "ed25519")}, by("ed25519", "ed25519"), false, provider.TrustSigned, false},
		"signed by two, one is pinned":             {trust.Policy{Rules: pin(t, "", "ed25519")}, by("both", "rsa", "ed25519"), false, provider.TrustSigned, false},
		"keyring over the origin":                  {trust.Policy{Keyring: keyring(t, "ed25519")}, by("rsa", "rsa"), true, provider.TrustUntrusted, true},
		"keyring over the origin's old copy":       {trust.Policy{Mode: trust.ModeRequire, Keyring: keyring(t, "prolonged")}, by("prolonged", "prolonged, before"), true, provider.TrustSigned, false},
		"keyring over the origin's revocation":     {trust.Policy{Keyring: keyring(t, "revoked, before")}, by("revoked", "revoked"), true, provider.TrustSigned, false},
		"the origin offers another":                {trust.Policy{}, by("rsa", "ed25519"), true, provider.TrustUntrusted, true},
		"the origin offers none":                   {trust.Policy{}, by("rsa"), true, provider.TrustUnknown, false},
		"the origin offers none, as OpenTofu":      {trust.Policy{EnforceValidation: true}, by("rsa"), true, provider.TrustUnknown, true},
		"unknown key, required":                    {trust.Policy{Mode: trust.ModeRequire}, by("rsa"), false, provider.TrustUnknown, true},
		"unsigned":                                 {trust.Policy{}, by("nobody"), true, provider.TrustUnsigned, false},
		"unsigned, as OpenTofu":                    {trust.Policy{EnforceValidation: true}, by("nobody"), true, provider.TrustUnsigned, true},
		"unsigned, required":                       {trust.Policy{Mode: trust.ModeRequire}, by("nobody", "rsa"), true, provider.TrustUnsigned, true},
		"unsigned, pinned":                         {trust.Policy{Rules: pin(t, "", "rsa")}, by("nobody", "rsa"), true, provider.TrustUnsigned, true},
		"unsigned, pinned, accepted":               {trust.Policy{Mode: trust.ModeRequire, Rules: pin(t, `unsigned = "accept"`, "rsa")}, by("nobody"), true, provider.TrustUnsigned, false},
		"unsigned, pinned since later":             {trust.Policy{Rules: pin(t, `signed_since = "1.0.1"`, "rsa")}, by("nobody"), true, provider.TrustUnsigned, false},
		"unsigned, pinned since now":               {trust.Policy{Rules: pin(t, `signed_since = "1.0.0"`, "rsa")}, by("nobody"), true, provider.TrustUnsigned, true},
		"other key, pinned since later":            {trust.Policy{Rules: pin(t, `signed_since = "1.0.1"`, "rsa")}, by("ed25519", "ed25519"), true, provider.TrustUntrusted, true},
		"expired":                                  {trust.Policy{Mode: trust.ModeRequire}, by("expired", "expired"), true, provider.TrustExpired, false},
		"expired, as OpenTofu":                     {trust.Policy{EnforceExpiration: true}, by("expired", "expired"), true, provider.TrustExpired, true},
		"expired, as OpenTofu, accepted by a rule": {trust.Policy{EnforceExpiration: true, Rules: pin(t, `expired = "accept"`, "expired")}, by("expired", "expired"), true, provider.TrustExpired, false},
		"expired, refused by a rule":               {trust.Policy{Rules: pin(t, `expired = "refuse"`, "expired")}, by("expired", "expired"), true, provider.TrustExpired, true},
		"expired in the artifact, as OpenTofu":     {trust.Policy{EnforceExpiration: true}, by("expired", "expired"), false, provider.TrustUnpinned, true},
		"off: another key than pinned":             {trust.Policy{Mode: trust.ModeOff, Rules: pin(t, "", "rsa")}, by("ed25519", "ed25519"), false, provider.TrustUnpinned, false},
		"off: revoked":                             {trust.Policy{Mode: trust.ModeOff}, by("revoked", "revoked"), true, provider.TrustRevoked, false},
		"off: bad":                                 {trust.Policy{Mode: trust.ModeOff}, by("other document", "rsa"), true, provider.TrustBad, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verify := test.policy.Verify
			if test.offered {
				verify = test.policy.VerifyOffered
			}
			v, err := verify(t.Context(), test.release)
			_, refused := errors.AsType[*trust.RefusedError](err)
			if v.Trust != test.want || refused != test.refused || err != nil && !refused {
				t.Errorf("got %s, %v; want %s, refused: %v", v, err, test.want, test.refused)
			}
		})
	}
}

// TestDocumentsOfEachPackage checks artifacts of other tools, in which each package has
// separate checksums. The weakest verdict applies.
func TestDocumentsOfEachPackage(t *testing.T) {
	t.Parallel()
	whole := signed(t, world.signatures["rsa"], "rsa")
	r := release(t)
	first, second := r.Packages[0], r.Packages[0]
	first.Documents = whole.Documents
	second.Platform.Arch = "riscv64"
	for name, test := range map[string]struct {
		second []provider.Document
		want   provider.Trust
	}{
		"both signed":     {whole.Documents, provider.TrustSigned},
		"one is unsigned": {whole.Documents[:1], provider.TrustUnsigned},
		"one has no sums": {nil, provider.TrustUnsigned},
	} {
		second.Documents = test.second
		r.Packages = []provider.Package{first, second}
		v, err := trust.Policy{}.VerifyOffered(t.Context(), r)
		if v.Trust != test.want || err != nil {
			t.Errorf("%s: got %s, %v", name, v, err)
		}
		_, err = trust.Policy{Rules: pin(t, "", "rsa")}.Verify(t.Context(), r)
		if _, refused := errors.AsType[*trust.RefusedError](err); refused != (test.want == provider.TrustUnsigned) {
			t.Errorf("%s, pinned: got %v", name, err)
		}
	}
}

// TestSumsWithoutVersion checks signed checksums whose file names contain no version. The
// checksums could belong to an older release.
func TestSumsWithoutVersion(t *testing.T) {
	t.Parallel()
	r := signed(t, world.signatures["rsa"], "rsa")
	r.Packages[0].ListedAs = "bundle.zip"
	v, err := trust.Policy{Rules: pin(t, "", "rsa")}.Verify(t.Context(), r)
	if _, refused := errors.AsType[*trust.RefusedError](err); !refused || !strings.Contains(err.Error(), "bundle.zip, a file name without a version") {
		t.Errorf("got %s, %v", v, err)
	}
	if v, err := (trust.Policy{}).VerifyOffered(t.Context(), r); v.Trust != provider.TrustUnpinned || err != nil || v.Warning == "" {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestMultipleDocuments checks that one bad signature makes the release bad, even if
// another signature is good.
func TestMultipleDocuments(t *testing.T) {
	t.Parallel()
	r := signed(t, world.signatures["rsa"], "rsa", "ed25519")
	policy := trust.Policy{Rules: pin(t, "", "ed25519")}
	if v, err := policy.Verify(t.Context(), r); v.Trust != provider.TrustUntrusted || err == nil {
		t.Errorf("one: got %s, %v", v, err)
	}
	r.Documents = append(r.Documents, document(provider.KindSignature, "SHA256SUMS.asc", world.armored["ed25519"]))
	if v, err := policy.Verify(t.Context(), r); v.Trust != provider.TrustSigned || err != nil {
		t.Errorf("two: got %s, %v", v, err)
	}
	for _, content := range [][]byte{nil, []byte("a signature"), world.public["rsa"], world.armored["other document"], world.signatures["rsa"][:40]} {
		bad := r
		bad.Documents = slices.Concat(r.Documents, []provider.Document{document(provider.KindSignature, "SHA256SUMS.gpg", content)})
		if v, err := policy.Verify(t.Context(), bad); v.Trust != provider.TrustBad || err == nil || !strings.Contains(err.Error(), "SHA256SUMS.gpg") {
			t.Errorf("with %.20q: got %s, %v", content, v, err)
		}
	}
}

// TestVerifyIsBounded checks the limits on documents.
func TestVerifyIsBounded(t *testing.T) {
	t.Parallel()
	large := make([]byte, 5<<20)
	for kind, problem := range map[provider.DocumentKind]string{
		provider.KindSums: "exceeds 1048576 bytes", provider.KindSignature: "exceeds 262144 bytes", provider.KindKeys: "exceeds 2097152 bytes",
	} {
		_, err := trust.Policy{}.Verify(t.Context(), release(t, document(kind, "X", large)))
		if _, refused := errors.AsType[*trust.RefusedError](err); refused || err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: got %v", kind, err)
		}
	}
	r := signed(t, world.signatures["rsa"], "rsa")
	for range 16 {
		r.Documents = append(r.Documents, document(provider.KindSignature, "SHA256SUMS.sig", world.signatures["rsa"]))
	}
	if _, err := (trust.Policy{}).Verify(t.Context(), r); err == nil || !strings.Contains(err.Error(), "more than 16 signatures") {
		t.Errorf("got %v", err)
	}
	r = signed(t, world.signatures["ed25519"], slices.Repeat([]string{"ed25519"}, 101)...)
	if _, err := (trust.Policy{}).Verify(t.Context(), r); err == nil || !strings.Contains(err.Error(), "contains more than 100 keys") {
		t.Errorf("got %v", err)
	}
	r = signed(t, bytes.Repeat(world.signatures["ed25519"], 9), "ed25519")
	r.Documents = append(r.Documents, document(provider.KindSignature, "SHA256SUMS.gpg", bytes.Repeat(world.signatures["ed25519"], 8)))
	if v, err := (trust.Policy{}).Verify(t.Context(), r); v.Trust != provider.TrustBad || err == nil {
		t.Errorf("got %s, %v", v, err)
	}
	r = signed(t, bytes.Repeat(world.signatures["ed25519"], 17), "ed25519")
	if v, err := (trust.Policy{}).Verify(t.Context(), r); v.Trust != provider.TrustBad || err == nil {
		t.Errorf("got %s, %v", v, err)
	}
}

// TestEnvironment checks that OpenTofu's variables take effect only if their value is
// exactly "true".
func TestEnvironment(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"true": true, "TRUE": false, "1": false, "": false} {
		p := trust.Policy{}.WithEnvironment(func(name string) string {
			return map[string]string{"OPENTOFU_ENFORCE_GPG_EXPIRATION": value}[name]
		})
		if p.EnforceExpiration != want || p.EnforceValidation {
			t.Errorf("%q: got %+v", value, p)
		}
	}
}

// TestRegistryModule checks that unsigned modules from a module registry cause no
// warning, unless the policy or an earlier version has signatures.
func TestRegistryModule(t *testing.T) {
	t.Parallel()
	mirrored := signed(t, nil)
	mirrored.RegistryModule = "registry.opentofu.org/acme/vpc/aws"
	earlier := &trust.SignerHistory{Source: &stored{releases: map[string]provider.Release{"0.9.0": signed(t, world.signatures["rsa"], "rsa")}}}
	for name, test := range map[string]struct {
		policy  trust.Policy
		warning string
		refused bool
	}{
		"default":         {},
		"require":         {policy: trust.Policy{Mode: trust.ModeRequire}, refused: true},
		"warn":            {policy: trust.Policy{Rules: rulesOf(t, "trust \"*/*/*\" {\n  unsigned = \"warn\"\n}")}, warning: "nothing proves its origin"},
		"pinned":          {policy: trust.Policy{Rules: pin(t, "", "rsa")}, refused: true},
		"signed earlier":  {policy: trust.Policy{History: earlier}, warning: "the existing version 0.9.0 is signed by "},
		"without history": {policy: trust.Policy{History: &trust.SignerHistory{Source: &stored{}}}},
	} {
		v, err := test.policy.Verify(t.Context(), mirrored)
		_, refused := errors.AsType[*trust.RefusedError](err)
		if refused != test.refused || v.Trust != provider.TrustUnsigned || !strings.HasPrefix(v.Warning, test.warning) || (test.warning == "") != (v.Warning == "") {
			t.Errorf("%s: got %q, %v", name, v.Warning, err)
		}
	}
}
