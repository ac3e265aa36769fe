package credentials

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// keepTimeout leaves time to unlock a keychain: somebody is there when a login is
	// kept.
	storeTimeout = 2 * time.Minute
	// maxSaid is how much of what a helper says is told, in bytes.
	maxHelperOutput = 300
)

// HelperError says that a credential helper did not keep or remove a login.
type HelperError struct {
	// Doing is what it should do: "storing the login for ghcr.io".
	Op string
	// Err is what it said, or why it did not run: [exec.ErrNotFound].
	Err error
}

func (e *HelperError) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

// Unwrap returns Err.
func (e *HelperError) Unwrap() error { return e.Err }

// Kind is [provider.Denied] if the helper does not exist, and else [provider.Refused].
func (e *HelperError) Kind() provider.ErrorKind {
	if errors.Is(e.Err, exec.ErrNotFound) {
		return provider.Denied
	}
	return provider.Refused
}

// storeWith hands a login to a helper
// (https://github.com/docker/docker-credential-helpers#development).
func storeWith(ctx context.Context, helper, server string, c Credential) error {
	var sent bytes.Buffer
	encoder := json.NewEncoder(&sent)
	encoder.SetEscapeHTML(false) // some helpers are scripts
	err := encoder.Encode(struct{ ServerURL, Username, Secret string }{server, c.Username, c.Password.Reveal()})
	if err == nil {
		err = runSilently(ctx, helper, "store", sent.Bytes(), c.Password)
	}
	if err != nil {
		return &HelperError{Op: fmt.Sprintf("storing the login for %s", server), Err: err}
	}
	return nil
}

// eraseWith lets a helper forget a registry, by those of its names that it knows.
func eraseWith(ctx context.Context, helper string, servers []string) (erased []string, err error) {
	for _, server := range servers {
		known, err := runGet(ctx, helperRequest{helper: helper, server: server})
		if err == nil && known.hasSecret() {
			err = runSilently(ctx, helper, "erase", []byte(server), cmp.Or(known.Password, known.IdentityToken))
		}
		switch {
		case err != nil:
			return erased, &HelperError{Op: fmt.Sprintf("removing the login for %s", server), Err: err}
		case known.hasSecret():
			erased = append(erased, server)
		}
	}
	return erased, nil
}

// tell runs a helper that answers nothing. What it says to explain a failure is told,
// unless the secret is in it: scripts print what they read.
func runSilently(ctx context.Context, helper, verb string, stdin []byte, secret text.Secret) error {
	_, err := command(ctx, helper, verb, extprog.Call{
		Stdin: stdin, MayBeSilent: true, Private: true, Timeout: storeTimeout, MaxOutput: maxResponse,
		Refusal: func(stdout []byte) error {
			said := extprog.OneLine(stdout[:min(len(stdout), maxHelperOutput)])
			if said == "" || secret.IsIn(string(stdout)) {
				return nil
			}
			return fmt.Errorf("it refuses: %s", said)
		},
	})
	if extprog.IsFailure(err, extprog.WrongOutput) {
		return nil // it ended well, and nobody reads what it says
	}
	return withoutSecret(err, helper, secret)
}

// withoutSecret leaves out what a helper said on stderr, if the secret is in it.
func withoutSecret(err error, helper string, secret text.Secret) error {
	if e, ok := errors.AsType[*extprog.Error](err); ok && secret.IsIn(e.Stderr) {
		return fmt.Errorf("running %s: %w", program(helper), &extprog.Error{Failure: e.Failure, Problem: e.Problem})
	}
	return err
}
