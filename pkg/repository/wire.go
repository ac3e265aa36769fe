package repository

import (
	"net/http"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
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
		if err := checkAnswer(req, resp); err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
		return resp, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
