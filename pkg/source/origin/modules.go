package origin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxLocation is the maximum size of a response with the location of a module.
const maxLocation = 64 << 10

// ErrModuleNotFound is returned if a module registry does not have the module.
var ErrModuleNotFound = provider.Errorf(provider.NotFound, "module not found")

// Modules provides the modules in module registries. The address of a module is a
// provider address whose type is NAME/SYSTEM. Use [Modules.Location] instead of Release
// and Open, because the packages of modules have no platforms.
//
// See https://opentofu.org/docs/internals/module-registry-protocol/.
type Modules struct{ source *Source }

var _ provider.Capable = (*Modules)(nil)

// NewModules returns a source of modules in module registries.
func NewModules(o Options) *Modules { return &Modules{newSource(o, modulesService)} }

// Versions returns the versions that the registry lists. Invalid versions are ignored.
func (m *Modules) Versions(ctx context.Context, a provider.Address) ([]provider.Version, error) {
	return m.source.Versions(ctx, a)
}

// Release always returns an error.
func (*Modules) Release(context.Context, provider.Address, provider.Version, ...provider.Platform) (provider.Release, error) {
	return provider.Release{}, provider.ErrWrongSource
}

// Open always returns an error.
func (*Modules) Open(context.Context, provider.Package) (io.ReadCloser, int64, error) {
	return nil, 0, provider.ErrWrongSource
}

// Capabilities reports that module versions are complete and don't change. It returns a
// function that looks up publication dates in version lists.
func (m *Modules) Capabilities() provider.Capabilities {
	return provider.Capabilities{Published: true, Date: func(ctx context.Context, a provider.Address, v provider.Version) (time.Time, error) {
		version, err := m.source.versionOf(ctx, a, v)
		return version.published, err
	}}
}

// Location is the location of a module package.
type Location struct {
	// Source is an absolute module source, such as
	// "git::https://example.org/vpc.git//modules/a?ref=v1".
	Source string
	// IsArchive reports whether Source is the URL of an archive in any format, without
	// a subdirectory.
	IsArchive bool
	// token is the registry's token if the archive requires it.
	token Token
}

// Location returns the location of a version of a module.
func (m *Modules) Location(ctx context.Context, a provider.Address, v provider.Version) (Location, error) {
	l, err := m.location(ctx, a, v)
	if err != nil {
		return Location{}, &provider.Error{Op: "locating", Address: a, Version: v, Err: err}
	}
	return l, nil
}

func (m *Modules) location(ctx context.Context, a provider.Address, v provider.Version) (l Location, err error) {
	registry, err := m.source.protocol.discover(ctx, a.Host)
	if err != nil {
		return l, err
	}
	release, err := m.source.downloads.Pool.Acquire(ctx, registry.base.Host)
	if err != nil {
		return l, err
	}
	defer release()
	at := registry.at(a, v.String(), "download")
	doc, err := httpclient.Get(ctx, m.source.downloads.Client, at, httpclient.Request{Header: registry.header(), Limit: maxLocation})
	if httpclient.IsNotFound(err) {
		return l, fmt.Errorf("%w: %w", provider.ErrVersionNotFound, err)
	}
	if err != nil {
		return l, registry.token.Refused(err)
	}
	var response struct {
		Location               string `json:"location"`
		UseRegistryCredentials *bool  `json:"use_registry_credentials"`
	}
	if len(doc.Bytes) > 0 {
		if err := doc.DecodeJSON(&response, maxDiscoveryValues); err != nil {
			return l, err
		}
	}
	if l.Source = response.Location; l.Source == "" {
		l.Source = doc.Header.Get("X-Terraform-Get")
	}
	if err := httpclient.CheckLength(l.Source); err != nil {
		return l, doc.Error(fmt.Errorf("location: %w", err))
	}
	if use := response.UseRegistryCredentials; use != nil {
		l.IsArchive = true
		if *use {
			l.token = registry.token
		}
	}
	if isRelative := strings.HasPrefix(l.Source, "/") || strings.HasPrefix(l.Source, "./") || strings.HasPrefix(l.Source, "../"); isRelative || l.IsArchive {
		resolved, err := httpclient.Resolve(at, l.Source)
		if err != nil {
			return l, doc.Error(fmt.Errorf("location: %w", err))
		}
		l.Source = resolved.String()
	}
	if l.Source == "" {
		return l, errors.New("the registry returned no location")
	}
	return l, nil
}

// OpenArchive starts the download of an archive at a URL of the location. The
// registry's token is sent only if the registry has requested this for the archive.
func (m *Modules) OpenArchive(ctx context.Context, l Location, at *url.URL) (io.ReadCloser, error) {
	header := http.Header{}
	l.token.Authorize(header)
	return m.source.downloads.OpenArchive(ctx, at, header)
}
