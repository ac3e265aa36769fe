//go:build linux

package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// open opens a provider's repository for pushing releases.
func (w *world) open(text string, a provider.Address) (repository.Repository, error) {
	t, err := template.Parse(text)
	if err != nil {
		return nil, err
	}
	ref, err := t.Repository(a)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.ca.PEM())
	return repository.Open(ref, repository.Options{
		HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}},
	})
}
