package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func trustCommand() *cli.Command {
	selection := slices.Concat([]cli.Flag{
		fromFlag("read `REPO` (default: from the CLI configuration)"),
		sourcesFlag(),
	}, versionFlags("matching versions"), []cli.Flag{aliasFlag()})
	return &cli.Command{Name: "trust", Subcommands: []*cli.Command{
		newCommand("init", trustInit, selection, []cli.Flag{keyringFlag(), trustFileFlag("write the trust file to `FILE`")}, networkFlags(), outputFlags()),
	}}
}

// trustInit writes a trust file that pins providers to the keys that signed their
// releases.
func trustInit(cmd *command) error {
	wanted, err := requiredProviders(cmd)
	if err != nil {
		return err
	}
	if err := cmd.prepare(); err != nil {
		return err
	}
	if cmd.latest, err = latest(cmd.c, 1); err != nil {
		return err
	}
	src, err := cmd.source()
	if err != nil {
		return err
	}
	path := cmd.c.String("trust")
	if path == "" {
		return usagef("missing --trust: specify the FILE to write")
	}
	exists := usagef("--trust: %s already exists; write to a different file and copy the missing blocks", path)
	if _, err := os.Lstat(path); err == nil {
		return exists
	}
	file, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return err
	}
	defer file.Discard()
	rules, err := cmd.pinAll(src, wanted)
	if err != nil {
		return err
	}
	if _, err := trust.ParseRules(path, rules.Bytes()); err != nil {
		return usagef("%w", err) // the file contains a provider twice
	}
	if _, err := file.Write(rules.Bytes()); err != nil {
		return err
	}
	err = file.CommitNew()
	if errors.Is(err, fs.ErrExist) {
		return exists
	}
	if err == nil {
		cmd.out.Note("wrote %s; compare the fingerprints with the ones that the authors publish", path)
	}
	return err
}

// pinAll returns a rule for each requirement. If a requirement fails, it returns an
// error, because an incomplete file would not show which providers are missing.
func (cmd *command) pinAll(src provider.Source, wanted []provider.Requirement) (trust.Rules, error) {
	p, err := cmd.keyringPolicy()
	if err != nil {
		return nil, err
	}
	var rules trust.Rules
	for _, r := range wanted {
		rule, err := cmd.pin(src, p, r)
		if err != nil {
			cmd.out.Failed(r, provider.Version{}, "", err)
			continue
		}
		rules = append(rules, rule)
	}
	return rules, cmd.out.Finish()
}

// pin returns a rule with the keys that signed the releases that a requirement selects.
func (cmd *command) pin(src provider.Source, p trust.Policy, r provider.Requirement) (trust.Rule, error) {
	ctx := cmd.c.Context
	versions, err := source.Resolve(ctx, src, r, cmd.latest)
	if err != nil {
		return trust.Rule{}, err
	}
	var releases []provider.Release
	for _, v := range versions {
		release, err := src.Release(ctx, r.Address, v)
		if err != nil {
			return trust.Rule{}, err
		}
		releases = append(releases, release)
	}
	rule, verdicts, err := p.PinSigners(ctx, r.Address, releases...)
	if err == nil {
		history := &trust.SignerHistory{Source: src}
		for i, verdict := range verdicts {
			text := strings.Replace(verdict.String(), ", key not pinned", ", pinned now", 1)
			cmd.out.SignatureChecked(r.Address, releases[i].Version, verdict, text)
			switch before, signer, found := history.Previous(ctx, releases[i]); {
			case !found && len(releases) == 1:
				cmd.out.Note("the key of %s %s can't be compared, because no earlier version was found", r.Address, releases[i].Version)
			case signer != "" && signer != verdict.Fingerprint:
				cmd.out.Warn("%s %s is not signed with the key of version %s (%s); pin the new key only if the author confirms it, because an attacker might have signed the newer version",
					r.Address, releases[i].Version, before, signer)
			}
		}
	}
	return rule, err
}

// trustFlags returns the flags of commands that verify signatures.
func trustFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "signatures", Category: commandline.GroupTrust, Value: string(trust.ModeWarn), Usage: "verify signatures; `MODE` is require, warn, or off"},
		keyringFlag(),
		trustFileFlag("pin providers to the keys in the trust file `FILE`"),
	}
}

func keyringFlag() cli.Flag {
	return &cli.StringFlag{Name: "keyring", Category: commandline.GroupTrust, Usage: "trust the OpenPGP keys in `FILE` (or directory)"}
}

func trustFileFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "trust", Category: commandline.GroupTrust, Usage: usage}
}

// signaturePolicy parses the flags of [trustFlags].
func (cmd *command) signaturePolicy() (p trust.Policy, err error) {
	c := cmd.c
	if p, err = cmd.keyringPolicy(); err != nil {
		return p, err
	}
	p.Decisions, p.Mode = oci.Decisions, trust.Mode(c.String("signatures"))
	err = parseSet(c, "trust", &p.Rules, func(path string) (trust.Rules, error) {
		rules, err := trust.ReadRules(path)
		if err != nil {
			err = fmt.Errorf("reading the trust file: %w", err)
		}
		return rules, err
	})
	return p.WithEnvironment(os.Getenv), err
}

// keyringPolicy returns a policy that trusts the --keyring keys and requires nothing
// else.
func (cmd *command) keyringPolicy() (p trust.Policy, err error) {
	err = parseSet(cmd.c, "keyring", &p.Keyring, cmd.readKeyring)
	return p, err
}

// readKeyring reads a keyring and prints warnings about the keys and files that it
// skips.
func (cmd *command) readKeyring(path string) (trust.Keyring, error) {
	ring, err := trust.ReadKeyring(path)
	for _, skipped := range ring.Unread() {
		cmd.out.Warn("%v", skipped)
	}
	return ring, err
}

// passphraseVariable is the environment variable for the passphrase of --sign-key. A flag
// would be unsafe, because other users can see command lines.
const passphraseVariable = "TOFU_OCI_SIGN_PASSPHRASE" //nolint:gosec // the name of a variable

func signKeyFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "sign-key", Category: commandline.GroupTrust, Usage: usage}
}

func recordKeyFlag() cli.Flag {
	return signKeyFlag("sign decision records with the key in `FILE`")
}

// readSigner reads the --sign-key key. Without the flag, it returns nil.
func readSigner(c *cli.Context) (artifact.Signer, error) {
	path := c.String("sign-key")
	if path == "" {
		return nil, nil
	}
	signer, err := trust.ReadSigner(path, []byte(os.Getenv(passphraseVariable)))
	if errors.Is(err, trust.ErrNoPassphrase) {
		return nil, usagef("--sign-key: %s requires a passphrase; set %s", path, passphraseVariable)
	}
	return signer, flagError("sign-key", err)
}
