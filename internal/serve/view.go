package serve

import (
	"errors"
	"fmt"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// ownHost is the HOST element of paths that refer to the view of the host to which the
// request was sent. In other paths, HOST is the host in the address.
const ownHost = "-"

// view is a set of providers: the repositories to read, and the aliases that apply.
type view struct {
	from    []template.Template
	aliases provider.Aliases
	// unannotated is the assumed host of releases without a provider annotation, in
	// repositories whose template doesn't contain {hostname}. If empty, the host of
	// these releases is unknown.
	unannotated svchost.Hostname
	// as overrides the host of every address. If empty, the host is taken from the request
	// path.
	as svchost.Hostname
}

// providerQuery is a request for a provider in a view on behalf of a caller.
type providerQuery struct {
	*view
	address provider.Address
	// shown is the address that users write. For a published host, it differs from the
	// address in the repositories.
	shown provider.Address
	// caller is the sender of the request. The zero value can't read anything. byLink
	// reports whether a signed link grants access.
	caller access.Caller
	byLink bool
}

// host returns the HOST element of request paths. It is ownHost for a view with a fixed
// host. Otherwise, it is the host in the address.
func (p providerQuery) host() string {
	if p.as != "" {
		return ownHost
	}
	return string(p.address.Host)
}

// candidate is a repository that might contain a provider.
type candidate struct {
	template template.Template
	ref      template.Reference
	repo     repository.Reader
	// unstated is the address of releases without a provider annotation in the
	// repository. It is zero if the address is unknown.
	unstated provider.Address
}

// open returns the repositories that might contain a provider, in order of preference.
// It skips templates that can't be expanded for the address. For example, a repository
// name can't contain a host with a port.
func (rc *repositoryCache) open(q providerQuery) ([]candidate, error) {
	if all, found := rc.opened.Lookup(q.key()); found {
		return all, nil
	}
	var all []candidate
	for _, t := range q.from {
		ref, err := t.Repository(q.address)
		if _, invalid := errors.AsType[*template.ReferenceError](err); invalid {
			continue
		}
		if err != nil {
			return nil, err
		}
		repo, err := rc.options.Open(ref)
		if err != nil {
			rc.options.Events.onFailure(err)
			return nil, err
		}
		all = append(all, candidate{t, ref, repo, q.unstated(t, ref)})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no repository can contain %s", provider.ErrProviderNotFound, q.address)
	}
	return all, nil
}

// published returns a view that ignores the host of stored releases.
func published(from []template.Template, as, unannotated svchost.Hostname) *view {
	anyHost, _ := provider.ParseAlias(as.ForDisplay() + "/*/*=*/*/*") // if as is not a valid host, the alias matches nothing
	return &view{from: from, aliases: provider.Aliases{anyHost}, unannotated: unannotated, as: as}
}

// viewOfHost returns the view of a published host. It always returns the same pointer for a
// host, because caches use views in keys.
func (s *Server) viewOfHost(h access.Host) *view {
	known, _ := s.hosts.LoadOrStore(h, published([]template.Template{h.Repository}, h.As, s.options.Unannotated))
	v, _ := known.(*view)
	return v
}
