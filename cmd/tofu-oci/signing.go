package main

import (
	"bytes"
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// passphraseVariable has the passphrase of --sign-key, which is never a flag: those
// can be seen by everybody on the machine.
const passphraseVariable = "TOFU_OCI_SIGN_PASSPHRASE" //nolint:gosec // the name of a variable

// maxPassphrase bounds a file with a passphrase, in bytes.
const maxPassphrase = 4 << 10

// sign reads --sign-key. Where no keyring says otherwise, the key that signs is the
// one whose word counts.
func sign(c *cli.Context, o *publish.Options, judging *trust.Policy) error {
	signer, named, err := signerOf(c)
	if err != nil || !named {
		return err
	}
	if o.Signing.Signer = signer; judging.Keyring.IsZero() {
		judging.Keyring = signer.Keyring()
	}
	return nil
}

// signerOf reads the key of --sign-key, if one is named.
func signerOf(c *cli.Context) (signer trust.Signer, named bool, err error) {
	path, file := c.String("sign-key"), c.String("sign-passphrase-file")
	if path == "" {
		return signer, false, nil
	}
	passphrase := []byte(os.Getenv(passphraseVariable))
	if file != "" {
		text, err := bounded.ReadFileOrPipe(file, maxPassphrase)
		if err != nil {
			return signer, false, usagef("--sign-passphrase-file: %w", err)
		}
		passphrase = bytes.TrimRight(text, "\r\n")
	}
	signer, err = trust.ReadSigner(path, passphrase)
	if errors.Is(err, trust.ErrNoPassphrase) {
		return signer, false, usagef("--sign-key: %s: the key has a passphrase: set %s, or name --sign-passphrase-file FILE", path, passphraseVariable)
	}
	if err != nil {
		return signer, false, usagef("--sign-key: %w", err)
	}
	return signer, true, nil
}

// passphraseFlag is that of every command with --sign-key.
func passphraseFlag() cli.Flag {
	return &cli.StringFlag{Name: "sign-passphrase-file", Usage: "`FILE` with the passphrase of that key (default: $" + passphraseVariable + ")"}
}
