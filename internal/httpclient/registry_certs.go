package httpclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// ToRegistry returns a context for requests to an OCI registry. host is "host" or
// "host:port". For these requests, the client also uses the certificates in
// [Options.ClientCertificate] and [Options.RegistryCertDirs]. Requests to other hosts,
// including redirects, do not use these certificates, because a client certificate is a
// credential.
//
// The directories have the structure of Docker's certs.d. The first directory that has
// a subdirectory with the registry's name is used. Its *.crt files are CA certificates.
// Each *.cert file is a client certificate, whose private key is in the *.key file with
// the same name. [Options.ClientCertificate] replaces these client certificates. See
// https://docs.docker.com/engine/security/certificates/.
func ToRegistry(ctx context.Context, host string) context.Context {
	return context.WithValue(ctx, registryKey{}, host)
}

type registryKey struct{}

// registryOf returns the OCI registry to which a request is sent over HTTPS.
func registryOf(req *http.Request) (host string, ok bool) {
	host, ok = req.Context().Value(registryKey{}).(string)
	return host, ok && SameOrigin(req.URL, &url.URL{Scheme: "https", Host: host})
}

// connections contains the transports of a client. OCI registries for which certificates
// are configured have separate transports, so no other host can receive a client
// certificate.
type connections struct {
	options Options
	others  transports

	mu         sync.Mutex
	registries map[string]transports
}

func newConnections(o Options) (*connections, error) {
	c := &connections{options: o, registries: map[string]transports{}}
	roots, err := rootsWith(c.caFiles()...)
	if err != nil {
		return nil, err
	}
	c.others = newTransports(o, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, GetClientCertificate: offer(nil)})
	return c, nil
}

// RoundTrip implements http.RoundTripper.
func (c *connections) RoundTrip(req *http.Request) (*http.Response, error) {
	host, ok := registryOf(req)
	if !ok {
		return c.others.roundTrip(req)
	}
	t, err := c.registry(host)
	if err != nil {
		return nil, err
	}
	return t.roundTrip(req)
}

// CloseIdleConnections implements the optional interface of
// [http.Client.CloseIdleConnections].
func (c *connections) CloseIdleConnections() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others.closeIdleConnections()
	for _, t := range c.registries {
		t.closeIdleConnections()
	}
}

func (c *connections) registry(host string) (transports, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := c.registries[host]; ok {
		return t, nil
	}
	found, err := c.options.registryCerts(host)
	if err != nil {
		return transports{}, err
	}
	t := c.others
	if len(found.certificates)+len(found.caFiles) > 0 {
		if t, err = c.newRegistry(host, found); err != nil {
			return transports{}, err
		}
	}
	c.registries[host] = t
	return t, nil
}

func (c *connections) newRegistry(host string, with registryCerts) (transports, error) {
	roots, err := rootsWith(slices.Concat(c.caFiles(), with.caFiles)...)
	if err != nil {
		return transports{}, fmt.Errorf("reading the certificates for %s: %w", host, err)
	}
	t := newTransports(c.options, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, GetClientCertificate: offer(with.certificates)})
	t.hasCertificate = len(with.certificates) > 0
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: host}})
	if err == nil && proxy != nil && proxy.Scheme == "https" {
		// net/http would also offer the client certificate to the proxy.
		t.shared.DialTLSContext, t.dedicated.DialTLSContext = c.dialProxy, c.dialProxy
	}
	return t, nil
}

// dialProxy connects to a proxy that uses TLS.
func (c *connections) dialProxy(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := c.others.dedicated.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := c.others.dedicated.TLSClientConfig.Clone()
	if config.ServerName, _, err = net.SplitHostPort(address); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return tls.Client(conn, config), nil // net/http performs the handshake
}

func (c *connections) caFiles() []string {
	if c.options.CAFile == "" {
		return nil
	}
	return []string{c.options.CAFile}
}

// registryCerts contains the CA files and the client certificates for an OCI registry.
type registryCerts struct {
	caFiles      []string
	certificates []tls.Certificate
}

// HasClientCertificate reports whether the client would send a client certificate to an
// OCI registry. host is "host" or "host:port".
func (o Options) HasClientCertificate(host string) (bool, error) {
	found, err := o.registryCerts(host)
	return len(found.certificates) > 0, err
}

func (o Options) registryCerts(host string) (registryCerts, error) {
	found, err := readCertDir(o.RegistryCertDirs, host)
	if err != nil {
		return registryCerts{}, fmt.Errorf("reading the certificates for %s: %w", host, err)
	}
	if o.ClientCertificate != nil {
		found.certificates = []tls.Certificate{*o.ClientCertificate}
	}
	return found, nil
}

// readCertDir reads the first directory that exists. Other users' directories, such as
// /etc/docker/certs.d of a Docker daemon, are often unreadable, so they are skipped.
func readCertDir(parents []string, registry string) (found registryCerts, err error) {
	if runtime.GOOS == "windows" { // file names can't contain colons; Docker omits them, too
		registry = strings.ReplaceAll(registry, ":", "")
	}
	if !filepath.IsLocal(registry) || registry == "." {
		return registryCerts{}, nil
	}
	for _, parent := range parents {
		dir := filepath.Join(parent, registry)
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return registryCerts{}, err
		}
		var names []string
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return readCertFiles(dir, names)
	}
	return registryCerts{}, nil
}

func readCertFiles(dir string, names []string) (found registryCerts, err error) {
	for _, name := range names {
		path := filepath.Join(dir, name)
		base := strings.TrimSuffix(path, filepath.Ext(name))
		switch filepath.Ext(name) {
		case ".crt":
			found.caFiles = append(found.caFiles, path)
		case ".cert":
			certificate, err := ReadClientCertificate(path, base+".key")
			if err != nil {
				return registryCerts{}, err
			}
			found.certificates = append(found.certificates, certificate)
		case ".key":
			if want := filepath.Base(base) + ".cert"; !slices.Contains(names, want) {
				return registryCerts{}, fmt.Errorf("%s has no client certificate: expected %s in the same directory", path, want)
			}
		}
	}
	return found, nil
}

// ReadClientCertificate reads a client certificate and its private key in PEM format.
func ReadClientCertificate(certFile, keyFile string) (tls.Certificate, error) {
	certificate, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err == nil {
		return certificate, nil
	}
	if key, _ := os.ReadFile(keyFile); bytes.Contains(key, []byte("ENCRYPTED")) {
		err = fmt.Errorf("the private key in %s is encrypted; decrypt it with openssl pkey", keyFile)
	} else if _, isPath := errors.AsType[*fs.PathError](err); !isPath { // a path error already contains the file
		err = fmt.Errorf("%s with the private key in %s: %w", certFile, keyFile, text.WithText(err, strings.TrimPrefix(err.Error(), "tls: ")))
	}
	return tls.Certificate{}, fmt.Errorf("reading the client certificate: %w", err)
}
