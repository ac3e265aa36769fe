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

// CheckCredentials requests /v2/ from a registry with the credentials from
// [Options.Credential]. host is "host" or "host:port". If the registry rejects the
// credentials, CheckCredentials returns an *[Error] whose Credentials field
// is set. required reports whether the registry requires credentials. A registry that
// permits anonymous access might accept any credentials. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#determining-support.
func CheckCredentials(ctx context.Context, host string, o Options) (required bool, err error) {
	if o, err = o.complete(); err != nil {
		return false, err
	}
	login := &credentialState{}
	at := registry.Reference{Registry: host}
	client := o.client(at, login)
	base := &remote.Registry{RepositoryOptions: remote.RepositoryOptions{
		Reference: at, Client: client, PlainHTTP: slices.Contains(o.PlainHTTP, host), MaxMetadataBytes: artifact.MaxManifestSize,
	}}
	err = base.Ping(ctx)
	required = login.lastUsed.Load() != nil
	if err == nil && !required && o.Credential != nil {
		required, err = sendUnrequested(ctx, base, client)
	}
	if err == nil {
		return required, nil
	}
	failure := login.fail(Error{Op: "logging in to", Registry: host}, err)
	if errors.Is(failure, ErrNotFound) {
		return required, fmt.Errorf("no OCI registry found, because /v2/ is missing: %w", failure)
	}
	return required, failure
}

// sendUnrequested sends the credentials to a registry that permits anonymous access,
// because some of these registries still verify the credentials they receive.
func sendUnrequested(ctx context.Context, at *remote.Registry, client *authenticator) (required bool, err error) {
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
		return false, nil // a token is sent only in response to a challenge
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
