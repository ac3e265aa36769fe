package repository

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// checkResponses is the layer of a registry's client that sees each request as it is sent,
// and each response first.
func checkResponses(next http.RoundTripper, login *loginState) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		login.sends(httpclient.SentWith(req))
		req = req.WithContext(req.Context()) // a copy, as is the header
		req.Header = req.Header.Clone()
		// Go would request gzip by itself, and then know no length.
		req.Header.Set("Accept-Encoding", "identity")
		resp, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		if err := cmp.Or(staysSecure(resp, req.URL), checkAnswer(req, resp)); err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
		if u, wanted := req.Context().Value(uploadKey{}).(*upload); wanted && resp.StatusCode == http.StatusAccepted {
			u.at, _ = resp.Location() // otherwise the library says what is wrong
		}
		return resp, nil
	})
}

// staysSecure looks at where a registry that was asked by https wants an upload
// to go. The library refuses http too, but with no type of error.
func staysSecure(resp *http.Response, asked *url.URL) error {
	if resp.StatusCode != http.StatusAccepted || asked.Scheme != "https" {
		return nil
	}
	// What is no URL at all is the library's to refuse.
	if to, err := asked.Parse(resp.Header.Get("Location")); err == nil && to.Scheme != "https" {
		return &provider.DowngradeError{To: httpclient.RedactURL(to)}
	}
	return nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
