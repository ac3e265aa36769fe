package main

import (
	"os"

	"github.com/urfave/cli/v2"

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
