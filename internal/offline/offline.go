// Package offline runs programs that install providers and modules only from a bundle:
//
//	bundle → source of providers, module registry on loopback → exec.Run
//
// Package exec fetches the providers and starts the program.
package offline

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/internal/exec"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Run is one execution of a program that installs only from a bundle. The caller must
// close it.
type Run struct {
	// Source is the source of the providers in the bundle.
	Source provider.Source
	// Exec configures package exec.
	Exec exec.Offline

	bundle *bundle.Bundle
	// verify verifies the signatures of modules.
	verify func(context.Context, provider.Release) (provider.Verdict, error)
	server *http.Server
	// secret is the first element of the paths in the module registry.
	secret  string
	modules http.Handler

	// mu prevents Close from removing a module that is being unpacked.
	mu       sync.Mutex
	isClosed bool
	dir      string
	unpacked map[string]configuration.Package
}

// Start starts a module registry for a bundle. It listens on loopback, at a random
// path. verify verifies the signatures of the modules that the program needs.
func Start(ctx context.Context, b *bundle.Bundle, aliases provider.Aliases, verify func(context.Context, provider.Release) (provider.Verdict, error)) (*Run, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return start(listener, b, aliases, verify)
}

// start is like [Start], but serves on the given listener, which it closes.
func start(listener net.Listener, b *bundle.Bundle, aliases provider.Aliases, verify func(context.Context, provider.Release) (provider.Verdict, error)) (r *Run, err error) {
	wanted := b.Requirements()
	r = &Run{bundle: b, verify: verify, secret: rand.Text(), unpacked: map[string]configuration.Package{}}
	base := &url.URL{Scheme: "http", Host: listener.Addr().String()}
	r.Source = oci.New(func(a provider.Address) (repository.Reader, error) { return r.repository(wanted, a, aliases) }, aliases...)
	r.Exec = exec.Offline{Proxy: base.String(), Fetch: r.fetch}
	base.Path = "/" + r.secret
	if r.dir, err = atomicfile.NewScratchDir(""); err == nil {
		r.Exec.Modules, r.modules, err = r.registry(wanted, base)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close(), os.RemoveAll(r.dir))
	}
	r.server = &http.Server{
		Handler: r, ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), //nolint:forbidigo // http.Server accepts only a *log.Logger
	}
	go func() { _ = r.server.Serve(listener) }()
	return r, nil
}

// Close stops the module registry and removes temporary files.
func (r *Run) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isClosed = true
	return errors.Join(r.server.Close(), os.RemoveAll(r.dir))
}

// repository returns the repository of a provider in the bundle. If the bundle contains
// the provider only under a different address, an alias must allow this address.
func (r *Run) repository(wanted []provider.Requirement, a provider.Address, aliases provider.Aliases) (repository.Reader, error) {
	repo, err := r.bundle.Reader(a, nil)
	for _, stored := range wanted {
		if err != nil && !stored.Address.IsModule() && aliases.Allow(a, stored.Address) {
			return r.bundle.Reader(stored.Address, nil)
		}
	}
	return repo, err
}

// registry returns a module registry for the modules in the bundle, and the URLs of its
// service for each host.
func (r *Run) registry(wanted []provider.Requirement, base *url.URL) (map[svchost.Hostname]string, http.Handler, error) {
	t, err := template.ParseModule("bundle.invalid/{hostname}/{namespace}/{name}/{system}")
	if err != nil {
		return nil, nil, err
	}
	services, stored := map[svchost.Hostname]string{}, map[template.Reference]provider.Address{}
	add := func(host svchost.Hostname) { services[host] = base.String() + "/v1/modules/" + string(host) + "/" }
	// The registry responds for these hosts even if the bundle contains none of their
	// modules, because its error is clearer than a connection error.
	add(provider.DefaultHost)
	add(terraformHost)
	for _, w := range wanted {
		if !w.Address.IsModule() {
			continue
		}
		a, err := module.ParseAddress(w.Address.Type)
		if err != nil {
			return nil, nil, err
		}
		ref, err := a.Repository(t)
		if err != nil {
			return nil, nil, err
		}
		stored[ref] = w.Address
		add(a.Hostname)
	}
	server, err := serve.New(serve.Options{
		ModulesFrom: []template.ModuleTemplate{t}, BaseURL: base, MaxAge: 24 * time.Hour,
		Open: func(ref template.Reference) (repository.Reader, error) {
			a, found := stored[ref]
			if !found {
				return repository.NewLayout(filepath.Join(r.dir, "none")), nil // doesn't exist
			}
			repo, err := r.bundle.Reader(a, nil)
			return &acceptedModule{Reader: repo, run: r, address: a}, err
		},
	})
	return services, server, err
}

// ServeHTTP responds to requests for modules. It rejects requests whose path doesn't
// start with the secret. As the proxy for other hosts, it rejects all requests to them.
func (r *Run) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	first, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	switch {
	case req.Method == http.MethodConnect || req.URL.Host != "":
		block(w)
	case subtle.ConstantTimeCompare([]byte(first), []byte(r.secret)) != 1:
		http.NotFound(w, req)
	default:
		r.modules.ServeHTTP(w, req)
	}
}

// block rejects a request to another host. The reason is in the status line, because
// clients print it if a proxy rejects a connection.
func block(w http.ResponseWriter) {
	const reason = "403 tofu-oci exec --bundle blocks the network"
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		http.Error(w, reason, http.StatusForbidden)
		return
	}
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 "+reason+"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	_ = conn.Close()
}
