package repository

import (
	"net/http"
	"slices"

	"oras.land/oras-go/v2/registry"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
)

// complete fills in what is not given.
func (o Options) complete() (Options, error) {
	if o.HTTP == nil {
		var err error
		if o.HTTP, err = httpclient.New(httpclient.Options{}); err != nil {
			return o, err
		}
	}
	if o.Buffers == nil {
		o.Buffers = &transfer.BufferPool{}
	}
	return o, nil
}

// client makes the client of one repository of a registry, a chain of layers. A request
// passes them in this order:
//
//  1. authentication: the login or a token for the request (auth.go)
//  2. realm policy: which token services are asked, and where redirects lead (realm.go, redirect.go)
//  3. responses: the credentials of requests are recorded, responses are checked (responses.go)
//  4. retries, concurrency limit, tracing, transport: [httpclient.New]
func (o Options) client(at registry.Reference, login *credentialState) *authenticator {
	realms := realmPolicy{registry: at.Host(), plain: slices.Contains(o.PlainHTTP, at.Registry), allowed: o.TokenRealms}
	checked := checkResponses(o.HTTP.Transport, login)
	return &authenticator{
		at: at, find: o.Credential, state: login, realms: realms,
		registry: &http.Client{Transport: checked, Timeout: o.HTTP.Timeout, CheckRedirect: follow(o.HTTP.CheckRedirect, stopAtRedirect)},
		tokens:   &http.Client{Transport: checked, Timeout: o.HTTP.Timeout, CheckRedirect: follow(o.HTTP.CheckRedirect, realms.checkRedirect)},
	}
}
