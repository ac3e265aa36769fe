package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

const (
	// freshness is how long a response is cached. A run needs the same credentials
	// several times within seconds. If a response were cached for much longer, its
	// token might expire.
	freshness = time.Minute
	// maxResponse limits a helper's output in bytes. Tokens are far smaller.
	maxResponse = 256 << 10
	// tokenUser is the user name that marks an identity token
	// (https://docs.docker.com/reference/cli/docker/login/#credential-helper-protocol).
	tokenUser = "<token>"
	// notFound is part of the output of a helper that has no credentials.
	notFound = "credentials not found"
)

// errNoCredentials means that a helper has no credentials.
var errNoCredentials = errors.New("no credentials")

// program returns a helper's file name.
func program(name string) string { return "docker-credential-" + name }

// checkHelper returns an error for names that could be paths.
func checkHelper(name string) error {
	if name == "" || strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("invalid credential helper name %q", name)
	}
	return nil
}

// helperRequest is a query to a helper. server is one of the registry's names.
type helperRequest struct{ helper, server string }

// helperResponse is a helper's response. Errors are also cached.
type helperResponse struct {
	login Credential
	err   error
}

// queryHelper returns a helper's credentials, or empty credentials if the helper has
// none.
func (r *Resolver) queryHelper(ctx context.Context, q helperRequest) (Credential, error) {
	known, err := r.responses.Get(ctx, q, func(ctx context.Context) (helperResponse, error) {
		login, err := r.timeouts.runGet(ctx, q)
		if err != nil && ctx.Err() != nil {
			return helperResponse{}, err
		}
		return helperResponse{login, err}, nil
	})
	if err == nil {
		err = known.err
	}
	return known.login, err
}

// runGet queries a helper. The helper's output contains the secret, possibly even after
// a failure, so errors contain only output that is a message. See [message].
func (t timeouts) runGet(ctx context.Context, q helperRequest) (Credential, error) {
	out, err := command(ctx, q.helper, "get", extprog.Call{
		Stdin:       []byte(q.server),
		MayBeSilent: true, // Google Cloud's helper prints nothing for unknown registries
		Private:     true,
		Refusal:     refusal,
		Timeout:     t.get,
		MaxOutput:   maxResponse,
	})
	if errors.Is(err, errNoCredentials) || err == nil && out == nil {
		return Credential{}, nil
	}
	if err != nil {
		return Credential{}, err
	}
	var known struct{ Username, Secret string }
	if err := json.Unmarshal(out, &known); err != nil {
		return Credential{}, fmt.Errorf("running %s: Username or Secret in the output is not a string", program(q.helper))
	}
	if known.Username == tokenUser {
		return Credential{IdentityToken: text.NewSecret(known.Secret)}, nil
	}
	return Credential{Username: known.Username, Password: text.NewSecret(known.Secret)}, nil
}

// command runs a helper with a verb of the helper protocol.
func command(ctx context.Context, name, verb string, call extprog.Call) ([]byte, error) {
	return extprog.New(program(name), verb).Run(ctx, call)
}

// refusal returns [errNoCredentials] if a failed helper's output means that the helper
// has no credentials. Otherwise, it returns an error with the helper's message, which
// Docker's helpers print on stdout.
func refusal(stdout []byte) error {
	if strings.Contains(strings.ToLower(string(stdout)), notFound) {
		return errNoCredentials
	}
	if said := message(stdout); said != "" {
		return &extprog.Error{Failure: extprog.Exited, Problem: "helper failed", Stderr: said}
	}
	return nil
}

// message returns the message in a failed helper's output on one line. If the output
// could be credentials (a JSON document or fewer than three words), it returns "". It
// hides words that could be tokens.
func message(stdout []byte) string {
	said := extprog.OneLine(stdout[:min(len(stdout), maxHelperOutput)])
	words := strings.Fields(said)
	if len(words) < 3 || strings.ContainsAny(said, `{}`) {
		return ""
	}
	for i, word := range words {
		if len(word) >= maxWord && strings.ContainsAny(word, "0123456789") {
			words[i] = "***"
		}
	}
	return strings.Join(words, " ")
}

// maxWord is the minimum length of a word with digits that could be a token.
const maxWord = 12
