package httpclient

import (
	"fmt"
	"net/http"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ProxyError reports that a proxy from the environment did not establish a connection.
type ProxyError struct {
	// Proxy is the URL of the proxy without the password.
	Proxy string
	// Status is the HTTP status of the proxy's response, or 0 if the proxy did not
	// respond.
	Status int
	// HasLogin reports whether the URL contains credentials. Username is the user name
	// in these credentials. If the credentials have no password, Username is empty,
	// because the user name could be a secret.
	HasLogin bool
	Username string
	Err      error
}

func (e *ProxyError) Error() string {
	text := fmt.Sprintf("proxy %s: %v", e.Proxy, e.Err)
	switch {
	case e.Status != http.StatusProxyAuthRequired || !e.HasLogin:
		return text
	case e.Username == "":
		return text + "; credentials from the proxy URL were used"
	}
	return text + fmt.Sprintf("; credentials of %s from the proxy URL were used", e.Username)
}

// Unwrap returns the underlying error.
func (e *ProxyError) Unwrap() error { return e.Err }

// Kind returns [provider.Denied] if the proxy requires different credentials. Otherwise, it
// returns [provider.Transient].
func (e *ProxyError) Kind() provider.ErrorKind {
	if e.Status == http.StatusProxyAuthRequired {
		return provider.Denied
	}
	return provider.Transient
}

// ClientCertificateError reports that a server requires a client certificate, or that it
// rejected the certificate that the client sent.
type ClientCertificateError struct {
	// Sent reports whether the client sent a certificate.
	Sent bool
	// IsRegistry reports whether the server is an OCI registry. Other servers don't receive
	// client certificates.
	IsRegistry bool
	Err        error
}

func (e *ClientCertificateError) Error() string {
	if e.Sent {
		return fmt.Sprintf("server rejected the client certificate: %v", e.Err)
	}
	return fmt.Sprintf("server requires a client certificate: %v", e.Err)
}

// Kind returns [provider.Denied].
func (e *ClientCertificateError) Kind() provider.ErrorKind { return provider.Denied }

// Unwrap returns the cause.
func (e *ClientCertificateError) Unwrap() error { return e.Err }
