package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// trustFlags are those of every command that judges signatures.
func trustFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "signatures", Value: string(trust.ModeWarn), Usage: "what is demanded of signatures: `MODE` require, warn or off; a bad one is refused in any case"},
		&cli.StringFlag{Name: "keyring", Usage: "`FILE` or directory of OpenPGP keys that count, in place of those that come with a release"},
		&cli.StringFlag{Name: "trust", Usage: "trust `FILE` that pins providers to keys"},
	}
}

// policy reads them.
func policy(c *cli.Context) (p trust.Policy, err error) {
	if p, err = keyringOnly(c); err != nil {
		return p, err
	}
	if p.Mode, err = trust.ParseMode(c.String("signatures")); err != nil {
		return p, usagef("--signatures: %w", err)
	}
	if path := c.String("trust"); path != "" {
		if p.Rules, err = trust.ReadRules(path); err != nil {
			return p, usagef("--trust: reading the trust file: %w", err)
		}
	}
	return p.WithEnvironment(os.Getenv), nil
}

// keyringOnly is a policy that knows keys, and demands nothing yet.
func keyringOnly(c *cli.Context) (p trust.Policy, err error) {
	if path := c.String("keyring"); path != "" {
		if p.Keyring, err = trust.ReadKeyring(path); err != nil {
			return p, usagef("--keyring: %w", err)
		}
	}
	return p, nil
}

// signatureItem is a verdict as --output json shows it.
type signatureItem struct {
	Verdict     string `json:"verdict"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// Expired is when the key or the signature did, a day.
	Expired string `json:"expired,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Warning says what is wrong with it, though it was let pass.
	Warning string `json:"warning,omitempty"`
	// Refused says why it would not be let pass, in lists.
	Refused string `json:"refused,omitempty"`
}

// describeVerdict gives nil when nobody has judged.
func describeVerdict(v provider.Verdict) *signatureItem {
	if v.Trust == "" {
		return nil
	}
	item := &signatureItem{Verdict: string(v.Trust), Fingerprint: v.Fingerprint, Reason: v.Reason, Warning: v.Warning}
	if !v.Expired.IsZero() {
		item.Expired = v.Expired.UTC().Format("2006-01-02")
	}
	return item
}

// verdict shows what was judged of a release, and warns where it says so.
func (o *output) verdict(a provider.Address, version string, v provider.Verdict) (line string) {
	if v.Trust == "" {
		return ""
	}
	if advice := ""; v.Warning != "" {
		if v.Trust == provider.TrustUnknown {
			advice = ": give it with --keyring FILE"
		}
		o.warn("%s %s: %s: %s%s", a, version, v, v.Warning, advice)
	}
	return "  " + oneLine(v.String()) + "\n"
}
