package trust_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/gpgtest"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// approvers contains keys that sign decisions.
type approvers struct {
	jane, mallory      trust.Signer
	janes, mallorys    string // fingerprints
	janesRevokedPublic trust.Keyring
}

func newApprovers(t *testing.T) approvers {
	t.Helper()
	gpg := newGPG(t)
	signer := func(name string) (trust.Signer, string) {
		fingerprint, err := gpg.Key(t.Context(), name+" <"+name+"@example.com>", gpgtest.At{Algorithm: "ed25519"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := trust.ReadSigner(secret(t, gpg, fingerprint, ""), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s, fingerprint
	}
	var a approvers
	a.jane, a.janes = signer("jane")
	a.mallory, a.mallorys = signer("mallory")
	if err := gpg.Revoke(t.Context(), a.janes); err != nil {
		t.Fatal(err)
	}
	public, err := gpg.Export(t.Context(), nil, a.janes)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/revoked.asc"
	write(t, path, public)
	if a.janesRevokedPublic, err = trust.ReadKeyring(path); err != nil {
		t.Fatal(err)
	}
	return a
}

// at returns a signed decision that was made the given number of hours ago.
func at(t *testing.T, hours int, signer artifact.Signer, change func(*artifact.Decision)) artifact.SignedDecision {
	t.Helper()
	d := artifact.Decision{Kind: artifact.DecisionPromote, Verdict: artifact.VerdictAllow, Reason: "tested", Time: time.Now().Add(-time.Duration(hours) * time.Hour)}
	if change != nil {
		change(&d)
	}
	r, err := d.Pack(ocispec.Descriptor{Digest: digest.FromString("index")}, signer)
	if err != nil {
		t.Fatal(err)
	}
	signed := artifact.SignedDecision{Statement: r.Document.Bytes}
	if len(r.More) == 2 {
		signed.Signature, signed.Keys = r.More[0].Bytes, r.More[1].Bytes
	}
	if signed.Decision, err = artifact.ParseDecision(signed.Statement); err != nil {
		t.Fatal(err)
	}
	return signed
}

// TestCheckApproval checks which recorded decisions approve a release. Decisions that
// anyone with write access to the registry can forge neither approve nor revoke. A signed
// denial revokes earlier approvals.
func TestCheckApproval(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	who := newApprovers(t)
	release := provider.Release{Address: nouns.Address(t, "acme/thing"), Version: nouns.Version(t, "1.2.3")}
	pattern, err := provider.ParsePattern("acme/*")
	if err != nil {
		t.Fatal(err)
	}
	p := trust.Policy{Rules: trust.Rules{{Pattern: pattern, ApprovalKeys: []string{who.janes}}}}
	deny := func(d *artifact.Decision) { d.Kind, d.Verdict = artifact.DecisionDeny, artifact.VerdictDeny }
	force := func(d *artifact.Decision) { d.Kind = artifact.DecisionForce }
	good := at(t, 5, who.jane, nil)
	swapped, altered := at(t, 5, who.mallory, nil), at(t, 5, who.jane, force)
	swapped.Keys = good.Keys
	altered.Statement, altered.Decision = good.Statement, good.Decision
	foreign := at(t, 6, nil, nil)
	foreign.Signature, foreign.Keys = good.Signature, good.Keys
	for name, test := range map[string]struct {
		problem   string
		decisions []artifact.SignedDecision
	}{
		"signed":                    {"", []artifact.SignedDecision{good}},
		"nothing":                   {"no approval is recorded", nil},
		"unsigned":                  {"not signed by an approval key", []artifact.SignedDecision{at(t, 5, nil, nil)}},
		"signed by another key":     {"not signed by an approval key", []artifact.SignedDecision{at(t, 5, who.mallory, nil)}},
		"with the key of another":   {"not signed by an approval key", []artifact.SignedDecision{swapped}},
		"signature of another one":  {"not signed by an approval key", []artifact.SignedDecision{altered}},
		"moved signature":           {"not signed by an approval key", []artifact.SignedDecision{foreign}},
		"forged after a valid one":  {"", []artifact.SignedDecision{good, at(t, 4, who.mallory, force), at(t, 3, nil, nil)}},
		"denied later":              {"the last decision is a denial", []artifact.SignedDecision{good, at(t, 4, who.jane, deny)}},
		"forged denial":             {"", []artifact.SignedDecision{good, at(t, 4, nil, deny), at(t, 3, who.mallory, deny)}},
		"denied, approved again":    {"", []artifact.SignedDecision{good, at(t, 4, who.jane, deny), at(t, 3, who.jane, force)}},
		"denied, unsigned override": {"not signed by an approval key", []artifact.SignedDecision{good, at(t, 4, who.jane, deny), at(t, 3, nil, force)}},
		"a gate":                    {"no approval is recorded", []artifact.SignedDecision{at(t, 5, who.jane, func(d *artifact.Decision) { d.Kind = artifact.DecisionGate })}},
		"a signed denial":           {"the last decision is a denial", []artifact.SignedDecision{at(t, 5, who.jane, deny)}},
	} {
		p.Decisions = func(context.Context, provider.Release) ([]artifact.SignedDecision, error) { return test.decisions, nil }
		err := p.CheckApproval(t.Context(), release)
		refused, is := errors.AsType[*trust.RefusedError](err)
		if test.problem == "" && err != nil || test.problem != "" && (!is || !refused.Unapproved || !strings.Contains(refused.Problem, test.problem)) {
			t.Errorf("%s: %v, want %q", name, err, test.problem)
		}
	}
	// Verify requires an approval in all modes, VerifySignature and VerifyOffered never do.
	off := p
	off.Mode = trust.ModeOff
	for _, decisions := range []func(context.Context, provider.Release) ([]artifact.SignedDecision, error){nil, func(context.Context, provider.Release) ([]artifact.SignedDecision, error) {
		return nil, provider.ErrWrongSource
	}} {
		off.Decisions = decisions
		if _, err := off.Verify(t.Context(), release); err == nil || !strings.Contains(err.Error(), "acme/thing 1.2.3 is not approved: an approval is required, and only releases in OCI repositories") {
			t.Errorf("got %v", err)
		}
	}
	_, signature := off.VerifySignature(t.Context(), release)
	_, offered := off.VerifyOffered(t.Context(), release)
	if err := errors.Join(signature, offered); err != nil {
		t.Errorf("got %v", err)
	}
	failure := errors.New("no connection")
	off.Decisions = func(context.Context, provider.Release) ([]artifact.SignedDecision, error) { return nil, failure }
	if err := off.CheckApproval(t.Context(), release); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	other := provider.Release{Address: nouns.Address(t, "other/thing"), Version: release.Version}
	if err := p.CheckApproval(t.Context(), other); err != nil {
		t.Errorf("another provider: %v", err)
	}
	// A keyring with a revocation overrides the key that is stored with the decision.
	p.Keyring = who.janesRevokedPublic
	p.Decisions = func(context.Context, provider.Release) ([]artifact.SignedDecision, error) {
		return []artifact.SignedDecision{good}, nil
	}
	if err := p.CheckApproval(t.Context(), release); err == nil {
		t.Error("a revoked key approved")
	}
	if got := (trust.Keyring{}).DecisionSigner(good); got != who.janes {
		t.Errorf("signed by %s", got)
	}
}

// TestApprovalRules checks the arguments of a trust file about approvals.
func TestApprovalRules(t *testing.T) {
	t.Parallel()
	const fingerprint = "0123 4567 89AB CDEF 0123 4567 89AB CDEF 0123 4567"
	rules, err := trust.ParseRules("trust.hcl", []byte(`trust "acme/*" {
  approval      = "signed"
  approval_keys = ["`+fingerprint+`"]
}`))
	if err != nil || len(rules) != 1 || len(rules[0].ApprovalKeys) != 1 || rules[0].ApprovalKeys[0] != strings.ReplaceAll(fingerprint, " ", "") {
		t.Fatalf("got %+v, %v", rules, err)
	}
	if again, err := trust.ParseRules("again", rules.Bytes()); err != nil || len(again) != 1 || len(again[0].ApprovalKeys) != 1 {
		t.Errorf("got %+v, %v", again, err)
	}
	for body, problem := range map[string]string{
		`approval = "signed"`:                                      "must be used together",
		`approval_keys = ["` + fingerprint + `"]`:                  "must be used together",
		`approval = "yes"` + "\napproval_keys = [\"x\"]":           `approval must be "signed"`,
		`approval = "signed"` + "\napproval_keys = []":             "must be a non-empty list",
		`approval = "signed"` + "\napproval_keys = [\"89ABCDEF\"]": "invalid fingerprint",
	} {
		if _, err := trust.ParseRules("trust.hcl", []byte("trust \"acme/*\" {\n"+body+"\n}")); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
