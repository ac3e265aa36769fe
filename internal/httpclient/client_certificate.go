package httpclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// certificateAlerts are the TLS alerts with which servers reject a missing or unsuitable client
// certificate (RFC 8446, section 6.2).
var certificateAlerts = []tls.AlertError{
	42,  // bad_certificate, which many servers also send if the certificate is missing
	43,  // unsupported_certificate
	44,  // certificate_revoked
	45,  // certificate_expired
	46,  // certificate_unknown
	48,  // unknown_ca
	116, // certificate_required, since TLS 1.3
}

// errHandshakeFailure is the alert that TLS 1.2 servers send if the client certificate is missing. It
// has other causes, too.
const errHandshakeFailure tls.AlertError = 40

// certificateRequest records whether a server requested a client certificate during a handshake.
type certificateRequest struct{ received atomic.Bool }

type certificateRequestKey struct{}

// offer returns a function for [tls.Config] that selects a client certificate for the
// server. If no certificate meets the server's request, the function selects the first
// certificate, so that the server reports what it rejects. By default, crypto/tls would
// send no certificate.
func offer(certificates []tls.Certificate) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if r, ok := info.Context().Value(certificateRequestKey{}).(*certificateRequest); ok {
			r.received.Store(true)
		}
		if len(certificates) == 0 {
			return &tls.Certificate{}, nil
		}
		i := slices.IndexFunc(certificates, func(c tls.Certificate) bool { return info.SupportsCertificate(&c) == nil })
		return &certificates[max(i, 0)], nil
	}
}

// roundTrip sends a request. If the server rejects it because of the client certificate, the error
// is a *[ClientCertificateError].
func (t transports) roundTrip(req *http.Request) (*http.Response, error) {
	requested := &certificateRequest{}
	resp, err := t.of(req).RoundTrip(req.WithContext(context.WithValue(req.Context(), certificateRequestKey{}, requested)))
	if err == nil {
		err = certificatePage(resp)
	} else if alert := certificateAlert(err, requested.received.Load()); alert != "" {
		err = text.WithText(err, fmt.Sprintf("TLS alert %q", alert))
	} else {
		return nil, err
	}
	if err != nil {
		_, isRegistry := registryOf(req)
		return nil, &ClientCertificateError{Sent: t.hasCertificate, IsRegistry: isRegistry, Err: err}
	}
	return resp, nil
}

// certificateAlert returns the name of the TLS alert if a server closed the connection
// because of the client certificate. Otherwise, it returns "". requested reports
// whether the server requested a certificate.
func certificateAlert(err error, requested bool) string {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return ""
	}
	// Alerts on TCP connections have an unexported type but the same text.
	is := func(a tls.AlertError) bool { return a.Error() == op.Err.Error() }
	if slices.ContainsFunc(certificateAlerts, is) || requested && is(errHandshakeFailure) {
		return strings.TrimPrefix(op.Err.Error(), "tls: ")
	}
	return ""
}

// maxCertificatePage is the maximum size, in bytes, of nginx's page about client certificates.
const maxCertificatePage = 4 << 10

// certificatePage returns an error if a response is the page with which nginx reports a
// missing or unsuitable client certificate. nginx sends this page after it has
// completed the handshake.
func certificatePage(resp *http.Response) error {
	if resp.StatusCode != http.StatusBadRequest || resp.Body == nil {
		return nil
	}
	start, _ := io.ReadAll(io.LimitReader(resp.Body, maxCertificatePage)) // the caller reads an error again
	page := strings.ToLower(string(start))
	if strings.Contains(page, "no required ssl certificate was sent") || strings.Contains(page, "the ssl certificate error") {
		_ = resp.Body.Close()
		return fmt.Errorf("responded with %d %s: %s", resp.StatusCode, http.StatusText(resp.StatusCode), Excerpt(resp.Header.Get("Content-Type"), start, SentWith(resp.Request)))
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
	return nil
}
