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
	// freshness is how long an answer is good. Registries ask for the login a few
	// times in the first seconds, for reading and for writing; when they ask again
	// after that, a token has expired.
	freshness = time.Minute
	// helperTimeout lets a helper fetch a token; nobody should have to type here.
	helperTimeout = 30 * time.Second
	// maxAnswer is many times a token.
	maxResponse = 256 << 10
	// tokenUser is the username that stands before an identity token
	// (https://docs.docker.com/reference/cli/docker/login/#credential-helper-protocol).
	tokenUser = "<token>"
	// notFound is in what helpers print when they know no login.
	notFound = "credentials not found"
)

// errNoLogin says that a helper knows no login.
var errNoCredentials = errors.New("no login")

// program returns the file name of a helper.
func program(name string) string { return "docker-credential-" + name }

// checkHelper refuses names that would be paths.
func checkHelper(name string) error {
	if name == "" || strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("there can't be a credential helper named %q", name)
	}
	return nil
}

// question is what a helper is asked: for a registry, by one of its names.
type helperRequest struct{ helper, server string }

// reply is what a helper answered. Its error is kept too.
type helperResponse struct {
	login Credential
	err   error
}

// askHelper returns the login that a helper knows, the zero one for none.
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

// run asks a helper. Its output holds the secret when all goes well, and may do
// so when not: no error tells it.
func runGet(ctx context.Context, q helperRequest) (Credential, error) {
	out, err := command(ctx, q.helper, "get", extprog.Call{
		Stdin:       []byte(q.server),
		MayBeSilent: true, // that of Google Cloud says nothing to what it doesn't know
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
		return Credential{}, fmt.Errorf("running %s: its answer has a Username or Secret that is no string", program(q.helper))
	}
	if known.Username == tokenUser {
		return Credential{IdentityToken: text.NewSecret(known.Secret)}, nil
	}
	return Credential{Username: known.Username, Password: text.NewSecret(known.Secret)}, nil
}

// command runs a helper for one of the verbs of its protocol.
func command(ctx context.Context, name, verb string, call extprog.Call) ([]byte, error) {
	return extprog.New(program(name), verb).Run(ctx, call)
}

// refusal tells from what a helper printed, and failed, that it knows no login.
func refusal(stdout []byte) error {
	if strings.Contains(strings.ToLower(string(stdout)), notFound) {
		return errNoCredentials
	}
	return nil
}
