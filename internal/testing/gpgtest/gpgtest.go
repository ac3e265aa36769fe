// Package gpgtest creates keys and signatures with gpg. They are used to test
// signatures that tofu-oci did not create.
package gpgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// GPG runs gpg with a separate home directory and without access to the machine's keys.
// Its methods are not safe for concurrent use.
type GPG struct{ home string }

// New creates a GPG. Close stops the agent and removes the keys.
func New() (*GPG, error) {
	if _, err := exec.LookPath("gpg"); err != nil {
		return nil, fmt.Errorf("the tests sign with gpg: install GnuPG (%w)", err)
	}
	// The path of the agent's socket is limited to about 100 bytes, so the directory's
	// path must be short.
	home, err := os.MkdirTemp("", "gpg")
	if err != nil {
		return nil, err
	}
	// By default, the agent takes 0.1 s to derive a key from a passphrase, even an empty one.
	config := []byte("s2k-count 65536\n")
	return &GPG{home}, errors.Join(os.Chmod(home, 0o700), os.WriteFile(filepath.Join(home, "gpg-agent.conf"), config, 0o600))
}

// Close stops gpg's processes and removes the keys.
func (g *GPG) Close() error {
	kill := exec.CommandContext(context.Background(), "gpgconf", "--homedir", g.home, "--kill", "all")
	_ = kill.Run()
	return os.RemoveAll(g.home)
}

// At configures a new key.
type At struct {
	// Algorithm is gpg's name for the algorithm, such as ed25519 or rsa3072.
	Algorithm string
	// Usage is gpg's name for the key's usage, such as encrypt or cert. If empty,
	// "sign" is used.
	Usage string
	// Time is the creation time. If zero, the current time is used.
	Time time.Time
	// Lifetime is the key's validity in gpg's format, such as 1y. If empty, the key
	// never expires.
	Lifetime string
	// Passphrase protects the key. If empty, the key is not protected.
	Passphrase string
}

// Key creates a key and returns its fingerprint.
func (g *GPG) Key(ctx context.Context, name string, at At) (fingerprint string, err error) {
	usage, lifetime := at.Usage, at.Lifetime
	if usage == "" {
		usage = "sign"
	}
	if lifetime == "" {
		lifetime = "never"
	}
	args := faked(at.Time, "--passphrase", at.Passphrase, "--status-fd", "1", "--quick-generate-key", name, at.Algorithm, usage, lifetime)
	status, err := g.run(ctx, nil, args...)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); len(words) == 4 && words[1] == "KEY_CREATED" {
			return words[3], nil
		}
	}
	return "", fmt.Errorf("gpg generated no key: %s", status)
}

// AddSubkey adds a subkey. Its default usage is signing.
func (g *GPG) AddSubkey(ctx context.Context, fingerprint string, at At) error {
	usage, lifetime := at.Usage, at.Lifetime
	if usage == "" {
		usage = "sign"
	}
	if lifetime == "" {
		lifetime = "never"
	}
	_, err := g.run(ctx, nil, faked(at.Time, "--passphrase", at.Passphrase, "--quick-add-key", fingerprint, at.Algorithm, usage, lifetime)...)
	return err
}

// Sign creates a detached signature with the given keys. If when is zero, the signature
// has the current time.
func (g *GPG) Sign(ctx context.Context, document []byte, when time.Time, options []string, keys ...string) ([]byte, error) {
	args := faked(when, options...)
	for _, key := range keys {
		args = append(args, "--local-user", key)
	}
	return g.run(ctx, document, append(args, "--passphrase", "", "--detach-sign", "--output", "-")...)
}

// Export returns binary public keys. With the option --armor, the keys are armored.
func (g *GPG) Export(ctx context.Context, options []string, keys ...string) ([]byte, error) {
	return g.run(ctx, nil, append(append(options, "--export"), keys...)...)
}

// ExportSecret returns an armored secret key. The key is still protected by its
// passphrase.
func (g *GPG) ExportSecret(ctx context.Context, passphrase, key string) ([]byte, error) {
	return g.run(ctx, nil, "--passphrase", passphrase, "--armor", "--export-secret-keys", key)
}

// Verify verifies a signature with gpg.
func (g *GPG) Verify(ctx context.Context, document, signature []byte) error {
	dir, err := os.MkdirTemp(g.home, "verify")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "signature")
	if err := os.WriteFile(path, signature, 0o600); err != nil {
		return err
	}
	_, err = g.run(ctx, document, "--verify", path, "-")
	return err
}

// Revoke revokes a key with the certificate that gpg created together with the key.
// Afterward, the key cannot sign.
func (g *GPG) Revoke(ctx context.Context, fingerprint string) error {
	certificate, err := g.revocation(fingerprint)
	if err != nil {
		return err
	}
	_, err = g.run(ctx, certificate, "--import")
	return err
}

// Revoked revokes a copy of a key in another GPG and returns the armored public key. In
// g, the key can still sign.
func (g *GPG) Revoked(ctx context.Context, other *GPG, fingerprint string) ([]byte, error) {
	public, err := g.Export(ctx, nil, fingerprint)
	if err != nil {
		return nil, err
	}
	certificate, err := g.revocation(fingerprint)
	if err != nil {
		return nil, err
	}
	for _, content := range [][]byte{public, certificate} {
		if _, err := other.run(ctx, content, "--import"); err != nil {
			return nil, err
		}
	}
	return other.Export(ctx, []string{"--armor"}, fingerprint)
}

func (g *GPG) revocation(fingerprint string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(g.home, "openpgp-revocs.d", fingerprint+".rev"))
	// gpg adds a colon before the armor to prevent accidental imports.
	return bytes.Replace(text, []byte(":-----BEGIN"), []byte("-----BEGIN"), 1), err
}

// SetExpiry sets a key's lifetime in gpg's format.
func (g *GPG) SetExpiry(ctx context.Context, fingerprint, lifetime string) error {
	_, err := g.run(ctx, nil, "--passphrase", "", "--quick-set-expire", fingerprint, lifetime)
	return err
}

// faked adds the option that sets the time that gpg uses.
func faked(when time.Time, args ...string) []string {
	if when.IsZero() {
		return args
	}
	return append([]string{"--faked-system-time", when.UTC().Format("20060102T150405") + "!"}, args...)
}

func (g *GPG) run(ctx context.Context, input []byte, args ...string) ([]byte, error) {
	all := append([]string{"--homedir", g.home, "--batch", "--yes", "--no-tty", "--quiet", "--pinentry-mode", "loopback"}, args...)
	cmd := exec.CommandContext(ctx, "gpg", all...)
	var out, problem bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &problem
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("gpg %s: %w: %s", strings.Join(args, " "), err, problem.Bytes())
	}
	return out.Bytes(), nil
}
