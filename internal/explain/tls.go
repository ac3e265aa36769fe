package explain

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// tlsHint is the hint about a certificate that is not trusted. The error's own
// text does not name the authority that is missing.
func tlsHint(err error) string {
	if isA[x509.UnknownAuthorityError](err) {
		return fmt.Sprintf("the server's certificate is signed by %san authority that this machine does not know; give its certificate with --ca-file", authority(err))
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "the server's certificate, or one that it is signed by, is not valid at this time: check this machine's clock, and have the certificate renewed"
	}
	if isA[x509.HostnameError](err) {
		return "the server's certificate is for other host names: check the host name, and whether a proxy answers in the server's place"
	}
	if isA[*tls.CertificateVerificationError](err) {
		return "the server's certificate is not trusted; if an authority of one's own signed it, give that one's certificate with --ca-file"
	}
	return ""
}

// authority names who signed the last certificate that the server showed, quoted
// and with a comma; empty when that is not known.
func authority(err error) string {
	e, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok || len(e.UnverifiedCertificates) == 0 {
		return ""
	}
	last := e.UnverifiedCertificates[len(e.UnverifiedCertificates)-1]
	return fmt.Sprintf("%q, ", last.Issuer.String())
}

// plainHTTP knows an http server that was asked for https.
func plainHTTP(err error) bool { return isA[tls.RecordHeaderError](err) }
