package credentials

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxHelperOutput limits the part of a helper's output that errors contain, in bytes.
const maxHelperOutput = 300

// HelperError means that a credential helper failed to store or delete credentials.
type HelperError struct {
	// Op is the operation, for example "storing credentials for ghcr.io".
	Op string
	// Err contains the helper's output, or explains why the helper was not run, for
	// example with [exec.ErrNotFound].
	Err error
}

func (e *HelperError) Error() string { return fmt.Sprintf("%s: %v", e.Op, e.Err) }

// Unwrap returns Err.
func (e *HelperError) Unwrap() error { return e.Err }

// Kind returns [provider.Denied] if the helper does not exist. Otherwise, it returns
// [provider.Refused].
func (e *HelperError) Kind() provider.ErrorKind {
	if errors.Is(e.Err, exec.ErrNotFound) {
		return provider.Denied
	}
	return provider.Refused
}

// storeWith stores credentials with a helper
// (https://github.com/docker/docker-credential-helpers#development).
func (t timeouts) storeWith(ctx context.Context, helper, server string, c Credential) error {
	var sent bytes.Buffer
	encoder := json.NewEncoder(&sent)
	encoder.SetEscapeHTML(false) // helpers that are scripts might not decode escapes
	err := encoder.Encode(struct{ ServerURL, Username, Secret string }{server, c.Username, c.Password.Reveal()})
	if err == nil {
		err = t.runSilently(ctx, helper, "store", sent.Bytes(), c.Password)
	}
	if err != nil {
		return &HelperError{Op: fmt.Sprintf("storing credentials for %s", server), Err: err}
	}
	return nil
}

// eraseWith deletes a registry's credentials from a helper. It deletes them under each
// of the given names that the helper knows.
func (t timeouts) eraseWith(ctx context.Context, helper string, servers []string) (erased []string, err error) {
	for _, server := range servers {
		known, err := t.runGet(ctx, helperRequest{helper: helper, server: server})
		if err == nil && known.hasSecret() {
			err = t.runSilently(ctx, helper, "erase", []byte(server), cmp.Or(known.Password, known.IdentityToken))
		}
		switch {
		case err != nil:
			return erased, &HelperError{Op: fmt.Sprintf("deleting credentials for %s", server), Err: err}
		case known.hasSecret():
			erased = append(erased, server)
		}
	}
	return erased, nil
}

// runSilently runs a helper that returns no output. If the helper fails, the error
// contains its output. If the output contains the secret, runSilently omits it, because
// scripts can print their input.
func (t timeouts) runSilently(ctx context.Context, helper, verb string, stdin []byte, secret text.Secret) error {
	_, err := command(ctx, helper, verb, extprog.Call{
		Stdin: stdin, MayBeSilent: true, Private: true, Timeout: t.store, MaxOutput: maxResponse,
		Refusal: func(stdout []byte) error {
			said := extprog.OneLine(stdout[:min(len(stdout), maxHelperOutput)])
			if said == "" || secret.IsIn(string(stdout)) {
				return nil
			}
			return fmt.Errorf("helper failed: %s", said)
		},
	})
	if extprog.IsFailure(err, extprog.WrongOutput) {
		return nil // the helper succeeded, so its output is irrelevant
	}
	return withoutSecret(err, helper, secret)
}

// withoutSecret removes the helper's stderr from an error if stderr contains the
// secret.
func withoutSecret(err error, helper string, secret text.Secret) error {
	if e, ok := errors.AsType[*extprog.Error](err); ok && secret.IsIn(e.Stderr) {
		return fmt.Errorf("running %s: %w", program(helper), &extprog.Error{Failure: e.Failure, Problem: e.Problem})
	}
	return err
}
