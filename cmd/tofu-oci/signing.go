package main

import (
	"bytes"
	"errors"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// passphraseVariable is the environment variable for the passphrase of --sign-key. There is no
// flag for it, because other users can see command lines.
const passphraseVariable = "TOFU_OCI_SIGN_PASSPHRASE" //nolint:gosec // the name of a variable

// maxPassphrase limits the size of a passphrase file in bytes.
const maxPassphrase = 4 << 10

func signKeyFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "sign-key", Category: commandline.GroupTrust, Usage: usage}
}

func passphraseFlag() cli.Flag {
	return &cli.StringFlag{Name: "sign-passphrase-file", Category: commandline.GroupTrust, Usage: "`FILE`: its passphrase (default: $" + passphraseVariable + ")"}
}

// sign sets the signer of --sign-key. Without --keyring, its key is the only trusted key.
func sign(c *cli.Context, o *publish.Options, policy *trust.Policy) error {
	signer, found, err := readSigner(c)
	if err != nil || !found {
		return err
	}
	if o.Signing.Signer = signer; policy.Keyring.IsZero() {
		policy.Keyring = signer.Keyring()
	}
	return nil
}

// readSigner reads the key of --sign-key and reports whether the flag is set.
func readSigner(c *cli.Context) (signer trust.Signer, found bool, err error) {
	path, file := c.String("sign-key"), c.String("sign-passphrase-file")
	if path == "" {
		return signer, false, nil
	}
	passphrase := []byte(os.Getenv(passphraseVariable))
	if file != "" {
		text, err := bounded.ReadFileOrPipe(file, maxPassphrase)
		if err != nil {
			return signer, false, flagError("sign-passphrase-file", err)
		}
		passphrase = bytes.TrimRight(text, "\r\n")
	}
	signer, err = trust.ReadSigner(path, passphrase)
	if errors.Is(err, trust.ErrNoPassphrase) {
		return signer, false, usagef("--sign-key: %s requires a passphrase; set %s or use --sign-passphrase-file FILE", path, passphraseVariable)
	}
	return signer, true, flagError("sign-key", err)
}
