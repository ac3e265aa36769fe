package repository

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Reachable reports whether the registry of a reference answers at all: it may want a
// login, and need not have the repository. It is asked once. An image layout is
// always reachable, as one that is not there is empty.
//
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#determining-support
func Reachable(ctx context.Context, ref template.Reference, o Options) error {
	if ref.IsLayout() {
		return nil
	}
	client := o.HTTP
	if client == nil {
		var err error
		if client, err = httpclient.New(httpclient.Options{}); err != nil {
			return err
		}
	}
	at := &url.URL{Scheme: "https", Host: ref.Registry, Path: "/v2/"}
	if slices.Contains(o.PlainHTTP, ref.Registry) {
		at.Scheme = "http"
	}
	req, err := http.NewRequestWithContext(httpclient.Once(ctx), http.MethodGet, at.String(), nil)
	if err != nil {
		return fmt.Errorf("asking the registry %s: %w", ref.Registry, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("asking the registry %s: %w", ref.Registry, httpclient.RedactError(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests {
		return &provider.StatusError{Method: req.Method, URL: httpclient.RedactURL(at), Status: resp.StatusCode}
	}
	_, _ = io.CopyN(io.Discard, resp.Body, httpclient.MaxAhead) // so that the connection can be used again
	return nil
}
