package main

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
)

func unknownAuthority(err error) bool {
	return isA[x509.UnknownAuthorityError](err) || isA[*tls.CertificateVerificationError](err)
}

// plainHTTP knows Go's complaint about an http server that was asked for https;
// it has no type of its own.
func plainHTTP(err error) bool {
	return isA[tls.RecordHeaderError](err) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}
