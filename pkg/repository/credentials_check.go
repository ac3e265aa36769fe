package repository

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// CheckCredentials asks a registry, "host" or "host:port", whether it takes the login of
// [Options.Credential]: by /v2/, where registries ask for one. A login that is refused
// is the Login of an *[Error]. Asked tells whether the registry wanted it; one that lets
// everybody in takes any.
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#determining-support
func CheckCredentials(ctx context.Context, host string, o Options) (asked bool, err error) {
	if o, err = o.complete(); err != nil {
		return false, err
	}
	login := &credentialState{}
	at := registry.Reference{Registry: host}
	client := o.client(at, login)
	asking := &remote.Registry{RepositoryOptions: remote.RepositoryOptions{
		Reference: at, Client: client, PlainHTTP: slices.Contains(o.PlainHTTP, host), MaxMetadataBytes: artifact.MaxManifestSize,
	}}
	err = asking.Ping(ctx)
	asked = login.lastUsed.Load() != nil
	if err == nil && !asked && o.Credential != nil {
		asked, err = sendUnrequested(ctx, asking, client)
	}
	if err == nil {
		return asked, nil
	}
	failure := login.fail(Error{Op: "logging in to", Registry: host}, err)
	if errors.Is(failure, ErrNotFound) {
		return asked, fmt.Errorf("there is no /v2/, which every OCI registry has: %w", failure)
	}
	return asked, failure
}

// unasked sends the login to a registry that asks nobody for one: some let everybody
// read, and look at a login all the same.
func sendUnrequested(ctx context.Context, at *remote.Registry, client *authenticator) (asked bool, err error) {
	scheme := "https"
	if at.PlainHTTP {
		scheme = "http"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+at.Reference.Host()+"/v2/", nil)
	if err != nil {
		return false, err
	}
	c, err := client.credential(ctx)
	if err != nil {
		return false, err
	}
	if c.Username == "" || c.Password == "" {
		return false, nil // a token is for those who ask for it
	}
	req.SetBasicAuth(c.Username, c.Password)
	resp, err := at.Client.Do(req)
	if err != nil {
		return false, err
	}
	wanted, _, _ := strings.Cut(resp.Header.Get("Www-Authenticate"), " ")
	if resp.StatusCode == http.StatusUnauthorized && !strings.EqualFold(wanted, "bearer") {
		return true, responseError(resp)
	}
	return false, resp.Body.Close()
}
