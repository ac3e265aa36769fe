package serve

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// certificateAge is how long the files of a certificate are not looked at again.
const certificateAge = 10 * time.Second

// Certificate is a server's certificate in files, which is read again when they
// change, as those who renew certificates do.
type Certificate struct {
	certFile, keyFile string
	// now is the clock.
	now func() time.Time
	// failed is told that the files changed and cannot be used.
	failed func(error)

	mu      sync.Mutex
	current *tls.Certificate
	looked  time.Time
	stamp   [2]fileStamp
}

// fileStamp tells whether a file has changed.
type fileStamp struct {
	size     int64
	modified time.Time
}

// ReadCertificate reads a certificate with its chain, and its key, in PEM form. failed
// is told later when the files change and cannot be read: then the older certificate
// goes on to be used. now is the clock; nil is [time.Now].
func ReadCertificate(certFile, keyFile string, failed func(error), now func() time.Time) (*Certificate, error) {
	if now == nil {
		now = time.Now
	}
	c := &Certificate{certFile: certFile, keyFile: keyFile, now: now, failed: failed}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config is a configuration of TLS with the certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(), nil },
	}
}

// get gives the certificate of now.
func (c *Certificate) get() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Sub(c.looked) < certificateAge {
		return c.current
	}
	stamp, err := c.stamps()
	if c.looked = c.now(); err == nil && stamp == c.stamp {
		return c.current
	}
	if err == nil {
		err = c.read()
	}
	if err != nil && c.failed != nil {
		c.failed(err)
	}
	return c.current
}

func (c *Certificate) read() error {
	stamp, err := c.stamps()
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	read, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("reading the certificate %s with the key %s: %w", c.certFile, c.keyFile, err)
	}
	c.current, c.stamp, c.looked = &read, stamp, c.now()
	return nil
}

// stamps are taken before the files are read: what changes in between is read again.
func (c *Certificate) stamps() (s [2]fileStamp, err error) {
	for i, path := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(path)
		if err != nil {
			return s, err
		}
		s[i] = fileStamp{info.Size(), info.ModTime()}
	}
	return s, nil
}
