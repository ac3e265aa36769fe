package httpclient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// clientCerts contains a certificate authority and its files, among them a client certificate.
type clientCerts struct {
	*testca.CA
	dir, caFile, cert, key string
}

func newClientCerts(t *testing.T) clientCerts {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := ca.ClientPEM()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := clientCerts{ca, dir, filepath.Join(dir, "ca.pem"), filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key")}
	for file, text := range map[string][]byte{c.caFile: ca.PEM(), c.cert: cert, c.key: key} {
		write(t, file, text)
	}
	return c
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// serve starts a server that responds with the number of client certificates that it received.
func (c clientCerts) serve(t *testing.T, edit func(*tls.Config), http2 bool) (host string) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		fmt.Fprintf(w, "%d in %s", len(r.TLS.PeerCertificates), r.Proto)
	}))
	config, err := c.ServerConfig("localhost")
	if err != nil {
		t.Fatal(err)
	}
	edit(config)
	s.TLS, s.EnableHTTP2, s.Config.ErrorLog = config, http2, discardLog()
	s.StartTLS()
	t.Cleanup(s.Close)
	return "localhost" + s.URL[strings.LastIndex(s.URL, ":"):]
}

// withCert returns the options for a client with the client certificate.
func (c clientCerts) withCert(t *testing.T) httpclient.Options {
	t.Helper()
	certificate, err := httpclient.ReadClientCertificate(c.cert, c.key)
	if err != nil {
		t.Fatal(err)
	}
	return httpclient.Options{CAFile: c.caFile, ClientCertificate: &certificate}
}

// send sends a request to the registry at host and returns the response body. If host is empty,
// the request is not for a registry.
func send(t *testing.T, o httpclient.Options, host, url string) (string, error) {
	t.Helper()
	ctx := t.Context()
	if host != "" {
		ctx = httpclient.ToRegistry(ctx, host)
	}
	return sendWith(ctx, t, newClient(t, o), url)
}

func sendWith(ctx context.Context, t *testing.T, client *http.Client, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// TestRequiredClientCertificate checks that the client recognizes a server that requires a client
// certificate, and that the certificate is sufficient.
func TestRequiredClientCertificate(t *testing.T) {
	t.Parallel()
	c, other := newClientCerts(t), newClientCerts(t)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s http2=%t", tls.VersionName(version), http2), func(t *testing.T) {
				t.Parallel()
				host := c.serve(t, func(config *tls.Config) {
					c.RequireClients(config)
					config.MaxVersion = version
				}, http2)
				protocol := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[http2]
				if got, err := send(t, c.withCert(t), host, "https://"+host); got != "1 in "+protocol || err != nil {
					t.Errorf("with a certificate: got %q, %v", got, err)
				}
				wrong := other.withCert(t)
				wrong.CAFile = c.caFile
				for name, test := range map[string]struct {
					options httpclient.Options
					host    string
					want    httpclient.ClientCertificateError
				}{
					"no certificate":            {httpclient.Options{CAFile: c.caFile}, host, httpclient.ClientCertificateError{IsRegistry: true}},
					"not for a registry":        {c.withCert(t), "", httpclient.ClientCertificateError{}},
					"another registry":          {c.withCert(t), "registry.example.com", httpclient.ClientCertificateError{}},
					"certificate of another CA": {wrong, host, httpclient.ClientCertificateError{IsRegistry: true, Sent: true}},
				} {
					_, err := send(t, test.options, test.host, "https://"+host)
					got, ok := errors.AsType[*httpclient.ClientCertificateError](err)
					if !ok || got.Sent != test.want.Sent || got.IsRegistry != test.want.IsRegistry || provider.KindOf(err) != provider.Denied {
						t.Errorf("%s: got %#v, %v", name, got, err)
					}
				}
			})
		}
	}
}

// TestOtherHandshakeFailure checks that a failed handshake without a request for a client
// certificate is not attributed to the certificate.
func TestOtherHandshakeFailure(t *testing.T) {
	t.Parallel()
	c := newClientCerts(t)
	host := c.serve(t, func(config *tls.Config) {
		config.MaxVersion, config.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}
	}, false)
	_, err := send(t, c.withCert(t), host, "https://"+host)
	if _, isCertificate := errors.AsType[*httpclient.ClientCertificateError](err); err == nil || isCertificate || !strings.Contains(err.Error(), "handshake failure") {
		t.Errorf("got %v", err)
	}
}

// TestClientCertificateStaysAtRegistry checks that only the registry receives the client
// certificate, even if another host requests one, and even after a redirect.
func TestClientCertificateStaysAtRegistry(t *testing.T) {
	t.Parallel()
	c := newClientCerts(t)
	curious := func(config *tls.Config) { config.ClientAuth = tls.RequestClientCert }
	registry, other := c.serve(t, curious, false), c.serve(t, curious, false)
	client := newClient(t, c.withCert(t))
	ctx := httpclient.ToRegistry(t.Context(), registry)
	want := func(ctx context.Context, url, want string) {
		t.Helper()
		if got, err := sendWith(ctx, t, client, url); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", url, got, err, want)
		}
	}
	want(ctx, "https://"+registry, "1 in HTTP/1.1")
	want(ctx, "https://"+other, "0 in HTTP/1.1")
	want(ctx, "https://"+registry+"?to=https://"+other, "0 in HTTP/1.1")
	want(ctx, "https://"+other+"?to=https://"+registry, "1 in HTTP/1.1")
	want(httpclient.WithDedicatedConnection(ctx), "https://"+registry, "1 in HTTP/1.1")
	want(httpclient.WithDedicatedConnection(ctx), "https://"+other, "0 in HTTP/1.1")
	want(t.Context(), "https://"+registry, "0 in HTTP/1.1") // as an origin registry
}

// TestRegistryCertDirs checks that a registry's certificates are read from the first directory that
// has a subdirectory with its name.
func TestRegistryCertDirs(t *testing.T) {
	t.Parallel()
	c := newClientCerts(t)
	cert, key := read(t, c.cert), read(t, c.key)
	for name, test := range map[string]struct {
		// files contains the files below two directories. HOST is replaced with the registry's
		// name.
		files map[string][]byte
		want  string
	}{
		"pair":               {map[string][]byte{"1/HOST/ca.crt": c.PEM(), "1/HOST/client.cert": cert, "1/HOST/client.key": key}, "1 in HTTP/1.1"},
		"second directory":   {map[string][]byte{"2/HOST/ca.crt": c.PEM(), "2/HOST/x.cert": cert, "2/HOST/x.key": key}, "1 in HTTP/1.1"},
		"first directory":    {map[string][]byte{"1/HOST/ca.crt": c.PEM(), "2/HOST/x.cert": cert, "2/HOST/x.key": key}, "server requires a client certificate"},
		"another registry":   {map[string][]byte{"1/localhost/ca.crt": c.PEM()}, "server certificate is not trusted"},
		"no CA":              {map[string][]byte{"1/HOST/x.cert": cert, "1/HOST/x.key": key}, "server certificate is not trusted"},
		"no key":             {map[string][]byte{"1/HOST/x.cert": cert}, filepath.Join("HOST", "x.key")},
		"no certificate":     {map[string][]byte{"1/HOST/ca.crt": c.PEM(), "1/HOST/x.key": key}, "x.key has no client certificate: expected x.cert"},
		"key does not match": {map[string][]byte{"1/HOST/x.cert": cert, "1/HOST/x.key": read(t, newClientCerts(t).key)}, "private key does not match public key"},
		"invalid CA":         {map[string][]byte{"1/HOST/x.crt": []byte("x")}, "no PEM certificate found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, dir := c.serve(t, c.RequireClients, false), t.TempDir()
			// On Windows, file names can't contain colons.
			inDir := strings.ReplaceAll(host, ":", map[bool]string{true: "", false: ":"}[os.PathSeparator == '\\'])
			for file, text := range test.files {
				write(t, filepath.Join(dir, strings.ReplaceAll(file, "HOST", inDir)), text)
			}
			got, err := send(t, httpclient.Options{RegistryCertDirs: []string{filepath.Join(dir, "1"), filepath.Join(dir, "2")}}, host, "https://"+host)
			if err != nil {
				got = err.Error()
			}
			if want := strings.ReplaceAll(test.want, "HOST", inDir); !strings.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestUnusableClientCertificates(t *testing.T) {
	t.Parallel()
	c := newClientCerts(t)
	encrypted, missing := filepath.Join(c.dir, "encrypted.key"), filepath.Join(c.dir, "missing")
	write(t, encrypted, []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMA==\n-----END ENCRYPTED PRIVATE KEY-----\n"))
	for _, test := range []struct{ cert, key, want string }{
		{missing, c.key, "open " + missing},
		{c.cert, missing, "open " + missing},
		{c.cert, newClientCerts(t).key, "does not match"},
		{c.cert, encrypted, "is encrypted; decrypt it"},
		{c.key, c.key, "failed to find certificate PEM data"},
	} {
		_, err := httpclient.ReadClientCertificate(test.cert, test.key)
		if err == nil || !strings.HasPrefix(err.Error(), "reading the client certificate: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// TestCertificatePage checks that nginx's pages about client certificates are recognized, and that
// other error responses remain unchanged.
func TestCertificatePage(t *testing.T) {
	t.Parallel()
	const page = "<html>\r\n<head><title>400 %[1]s</title></head>\r\n<body>\r\n<center><h1>400 Bad Request</h1></center>\r\n<center>%[1]s</center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
	for text, want := range map[string]bool{
		fmt.Sprintf(page, "No required SSL certificate was sent"): true,
		fmt.Sprintf(page, "The SSL certificate error"):            true,
		fmt.Sprintf(page, "Request Header Or Cookie Too Large"):   false,
		strings.Repeat("long ", 10_000):                           false,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(s.Close)
		got, err := send(t, httpclient.Options{}, "", s.URL)
		failed, ok := errors.AsType[*httpclient.ClientCertificateError](err)
		if ok != want || !ok && (got != text || err != nil) || ok && !strings.Contains(failed.Error(), "SSL certificate") {
			t.Errorf("got %q, %v", got, err)
		}
	}
}
