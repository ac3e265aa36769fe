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
	// freshness is how long a response is valid. Registries request credentials several times
	// within seconds, for reading and for writing. Later, a token might have expired.
	freshness = time.Minute
	// helperTimeout is long enough for a helper to fetch a token. It is too short for user
	// input, which helpers should not need.
	helperTimeout = 30 * time.Second
	// maxResponse limits the output of a helper. Tokens are far smaller.
	maxResponse = 256 << 10
	// tokenUser is the user name that marks an identity token
	// (https://docs.docker.com/reference/cli/docker/login/#credential-helper-protocol).
	tokenUser = "<token>"
	// notFound is part of the output of helpers that have no credentials.
	notFound = "credentials not found"
)

// errNoCredentials is returned if a helper has no credentials.
var errNoCredentials = errors.New("no login")

// program returns the file name of a helper.
func program(name string) string { return "docker-credential-" + name }

// checkHelper returns an error for names that could be paths.
func checkHelper(name string) error {
	if name == "" || strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("invalid name %q of a credential helper", name)
	}
	return nil
}

// helperRequest is a query to a helper for a registry by one of its names.
type helperRequest struct{ helper, server string }

// helperResponse is the response of a helper. Errors are cached, too.
type helperResponse struct {
	login Credential
	err   error
}

// queryHelper returns the credentials of a helper, or empty credentials if it has none.
func (r *Resolver) queryHelper(ctx context.Context, q helperRequest) (Credential, error) {
	known, err := r.responses.Get(ctx, q, func(ctx context.Context) (helperResponse, error) {
		login, err := runGet(ctx, q)
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

// runGet queries a helper. Its output contains the secret, possibly even if it fails, so errors
// never contain the output.
func runGet(ctx context.Context, q helperRequest) (Credential, error) {
	out, err := command(ctx, q.helper, "get", extprog.Call{
		Stdin:       []byte(q.server),
		MayBeSilent: true, // the helper of Google Cloud prints nothing for unknown registries
		Private:     true,
		Refusal:     refusal,
		Timeout:     helperTimeout,
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

// command runs a helper with a command of its protocol.
func command(ctx context.Context, name, verb string, call extprog.Call) ([]byte, error) {
	return extprog.New(program(name), verb).Run(ctx, call)
}

// refusal returns an error if the output of a failed helper means that it has no credentials.
func refusal(stdout []byte) error {
	if strings.Contains(strings.ToLower(string(stdout)), notFound) {
		return errNoCredentials
	}
	return nil
}
