package serve

import (
	"crypto/tls"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
)

// TLSConfig returns a configuration with a certificate, its chain and its key from files in
// PEM form. The files are read again when they change. failed is called if they can't be
// used then, and the older certificate stays in use; it may be nil.
func TLSConfig(certFile, keyFile string, failed func(error)) (*tls.Config, error) {
	parse := func(contents [][]byte) (*tls.Certificate, error) {
		read, err := tls.X509KeyPair(contents[0], contents[1])
		if err != nil {
			return nil, fmt.Errorf("reading the certificate %s with the key %s: %w", certFile, keyFile, err)
		}
		return &read, nil
	}
	certificate, err := access.Watch(parse, func(err error) {
		if err != nil && failed != nil {
			failed(err)
		}
	}, certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.Get(), nil },
	}, nil
}
