package catalog

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Probes returns one reference per template, for use with [Reachable]. It skips
// templates that apply only to certain addresses.
func Probes(providers []template.Template, modules []template.ModuleTemplate) (all []template.Reference) {
	for _, t := range providers {
		if ref, err := t.Repository(provider.Address{Host: provider.DefaultHost, Namespace: "tofu", Type: "oci"}); err == nil {
			all = append(all, ref)
		}
	}
	for _, t := range modules {
		if ref, err := t.Repository(provider.Address{Host: provider.DefaultHost, Namespace: "tofu", Type: "oci/tofu"}); err == nil {
			all = append(all, ref)
		}
	}
	return all
}

// Reachable sends a request to the registry of each reference. If a registry does not
// respond, Reachable returns an error. A response that demands credentials is not an
// error. Image layouts are always reachable. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#determining-support.
func Reachable(ctx context.Context, from []template.Reference, o repository.Options) error {
	for _, ref := range from {
		if ref.IsLayout() {
			continue
		}
		base := &url.URL{Scheme: "https", Host: ref.Registry, Path: "/v2/"}
		if slices.Contains(o.PlainHTTP, ref.Registry) {
			base.Scheme = "http"
		}
		if err := ping(ctx, o.HTTP, base); err != nil {
			return err
		}
	}
	return nil
}

func ping(ctx context.Context, client *http.Client, base *url.URL) error {
	req, err := http.NewRequestWithContext(httpclient.WithoutRetry(ctx), http.MethodGet, base.String(), nil)
	if err != nil {
		return fmt.Errorf("contacting registry %s: %w", base.Host, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("contacting registry %s: %w", base.Host, httpclient.RedactError(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests {
		return &provider.StatusError{Method: req.Method, URL: httpclient.RedactURL(base), Status: resp.StatusCode}
	}
	_, _ = io.CopyN(io.Discard, resp.Body, httpclient.MaxAhead) // allows the connection to be reused
	return nil
}
