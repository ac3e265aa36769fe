package httpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// describe returns err with a readable message that does not reveal the request's
// credentials. Secrets must be removed, because net/http quotes malformed responses,
// which might repeat secrets. The error keeps its kind.
func describe(req *http.Request, err error) error {
	return SentWith(req).Error(describeProxy(req, err))
}

func describeProxy(req *http.Request, err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		return &ProxyError{Proxy: proxyOf(req), Err: describeError(op.Err)}
	}
	if proxy, ok := errors.AsType[*ProxyError](err); ok {
		proxy.Proxy = proxyOf(req)
		proxy.HasLogin, proxy.Username = proxyCredentials(req)
		return proxy
	}
	return describeError(err)
}

// describeError rewords a connection error.
func describeError(err error) error {
	// net/http wraps the message of this package in internal details.
	if timeout, ok := errors.AsType[*timeoutError](err); ok {
		return timeout
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if words := errorText(err); words != "" {
		return text.WithText(err, words)
	}
	return err
}

// errorText returns a clearer message for an error, or "" if the error's own message is
// clear enough.
func errorText(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dnsText(dns)
	}
	if words := tlsText(err); words != "" {
		return words
	}
	op, isOp := errors.AsType[*net.OpError](err)
	at := ""
	if isOp && op.Addr != nil {
		at = " to " + op.Addr.String()
	}
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case isNet && timeout.Timeout() && isOp && op.Op == "dial":
		return "connecting" + at + ": timed out"
	case isNet && timeout.Timeout():
		return "timed out waiting for a response"
	case isOp && op.Op == "dial":
		return "connecting" + at + ": " + reason(op)
	case isOp && (op.Op == "read" || op.Op == "write"):
		return "connection" + at + " broke: " + reason(op)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "server closed the connection mid-response"
	case errors.Is(err, io.EOF):
		return "server closed the connection without a response"
	}
	return ""
}

func dnsText(e *net.DNSError) string {
	switch {
	case e.IsNotFound:
		return "no such host: " + e.Name
	case e.IsTimeout:
		return "looking up host " + e.Name + ": timed out waiting for the name server"
	}
	return "looking up host " + e.Name + " failed"
}

// reason returns the system's message for a connection error.
func reason(op *net.OpError) string {
	if errno, ok := errors.AsType[syscall.Errno](op.Err); ok {
		return errno.Error()
	}
	if inner, ok := errors.AsType[*net.OpError](op.Err); ok {
		return reason(inner)
	}
	return op.Err.Error()
}

// tlsText returns the message for a TLS error.
func tlsText(err error) string {
	if isHTTP, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		if string(isHTTP.RecordHeader[:]) == "HTTP/" {
			return "server responded over plain HTTP to an HTTPS request"
		}
		return "server does not use TLS, which HTTPS requires"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		return ""
	}
	const untrusted = "server certificate is not trusted: "
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return untrusted + "signed by an unknown authority"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return untrusted + "expired or not yet valid"
	}
	if host, ok := errors.AsType[x509.HostnameError](err); ok {
		names := slices.Clip(host.Certificate.DNSNames)
		for _, ip := range host.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		return fmt.Sprintf("%sissued for %s, not for %s", untrusted, strings.Join(names, ", "), host.Host)
	}
	return ""
}

// proxyOf returns the request's proxy without its password.
func proxyOf(req *http.Request) string {
	if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy != nil {
		return RedactURL(proxy)
	}
	return ""
}

// IsProxied reports whether a client sends requests to a URL through a proxy.
func IsProxied(client *http.Client, u *url.URL) bool {
	find := func(*http.Request) (*url.URL, error) { return nil, nil }
	switch t := client.Transport.(type) {
	case nil, *retrier:
		find = http.ProxyFromEnvironment
	case *http.Transport:
		if t.Proxy != nil {
			find = t.Proxy
		}
	}
	proxy, err := find(&http.Request{URL: u})
	return err == nil && proxy != nil
}

// proxyCredentials reports whether the proxy's URL contains credentials and returns the
// user name. It does not return a user name without a password, because some proxies
// expect a key in the user name.
func proxyCredentials(req *http.Request) (has bool, username string) {
	proxy, err := http.ProxyFromEnvironment(req)
	if err != nil || proxy == nil || proxy.User == nil {
		return false, ""
	}
	if password, _ := proxy.User.Password(); password != "" {
		username = proxy.User.Username()
	}
	return true, username
}

// checkProxy returns an error if a proxy refused to connect. The type of net/http's
// error does not identify this case.
func checkProxy(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return proxyRefusal(resp.StatusCode)
}

func proxyRefusal(status int) error {
	return &ProxyError{Status: status, Err: fmt.Errorf("responded with %d %s", status, http.StatusText(status))}
}
