package testca_test

import (
	"crypto/x509"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
)

func TestCertificateHosts(t *testing.T) {
	t.Parallel()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca.PEM()) {
		t.Fatal("the PEM holds no certificate")
	}
	config, err := ca.ServerConfig("localhost", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	leaf := config.Certificates[0].Leaf
	for host, valid := range map[string]bool{"localhost": true, "127.0.0.1": true, "example.com": false} {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
		if (err == nil) != valid {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: x509.NewCertPool()}); err == nil {
		t.Error("valid under no authority")
	}
}
