package explain

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// tlsHint returns the hint for an untrusted certificate, or "". The hint names the
// missing authority, which the error message does not include.
func tlsHint(err error) string {
	if isA[x509.UnknownAuthorityError](err) {
		return fmt.Sprintf("use --ca-file to trust the certificate authority%s that issued the server's certificate", authority(err))
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "check this machine's clock, or renew the server's certificate; it or an issuing certificate is expired or not yet valid"
	}
	if isA[x509.HostnameError](err) {
		return "check the host name, and whether a proxy responds instead of the server; the certificate is for a different host name"
	}
	if isA[*tls.CertificateVerificationError](err) {
		return "if the server's certificate was issued by a private certificate authority, specify it with --ca-file"
	}
	return ""
}

// authority returns the issuer of the last certificate that the server sent, quoted and
// in parentheses. If the issuer is unknown, authority returns "".
func authority(err error) string {
	e, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok || len(e.UnverifiedCertificates) == 0 {
		return ""
	}
	last := e.UnverifiedCertificates[len(e.UnverifiedCertificates)-1]
	return fmt.Sprintf(" (%q)", last.Issuer.String())
}

// plainHTTP reports whether the server responded with HTTP instead of TLS.
func plainHTTP(err error) bool { return isA[tls.RecordHeaderError](err) }
