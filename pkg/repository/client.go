package repository

import (
	"net"
	"net/http"
	"net/url"
	"slices"

	"oras.land/oras-go/v2/registry"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
)

// complete returns the options with defaults for missing values.
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

// client returns the HTTP client for one repository. It is a chain of layers, which a
// request passes through in this order:
//
//  1. authentication: adds the credentials or the token (auth.go)
//  2. realm policy: restricts token services and redirects (realm.go, redirect.go)
//  3. responses: records the credentials of requests, marks requests to the registry,
//     checks responses (responses.go)
//  4. retries, concurrency limit, tracing, transport: [httpclient.New]
func (o Options) client(at registry.Reference, login *credentialState) *authenticator {
	realms := realmPolicy{
		registry: at.Host(), plain: slices.Contains(o.PlainHTTP, at.Registry), allowed: o.TokenRealms,
		isProxied: func(u *url.URL) bool { return httpclient.IsProxied(o.HTTP, u) }, lookup: net.DefaultResolver.LookupNetIP,
	}
	checked := checkResponses(o.HTTP.Transport, at.Host(), login)
	return &authenticator{
		at: at, find: o.Credential, state: login, realms: realms,
		registry: &http.Client{Transport: checked, Timeout: o.HTTP.Timeout, CheckRedirect: follow(o.HTTP.CheckRedirect, stopAtRedirect)},
		tokens:   &http.Client{Transport: checked, Timeout: o.HTTP.Timeout, CheckRedirect: follow(o.HTTP.CheckRedirect, realms.checkRedirect)},
	}
}
