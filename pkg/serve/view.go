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

// ownHost stands in paths for the host that is asked, in the place of the host of an
// address.
const ownHost = "-"

// view is the providers that are served in one way: where they lie, and whose
// releases may stand for them.
type view struct {
	from    []template.Template
	aliases provider.Aliases
	// unannotated is the host of releases without a provider annotation, in repositories
	// whose template has no {hostname}; empty if unknown.
	unannotated svchost.Hostname
	// as is the host of all addresses; empty where the path says it.
	as svchost.Hostname
}

// place is a provider in a view, for a caller.
type providerQuery struct {
	*view
	address provider.Address
	// shown is the address that users write, which for a published host is not the address
	// in the repositories.
	shown provider.Address
	// caller is the one whose request it is; the zero value may read nothing. byLink reports
	// that the right to the archive comes from a signed link.
	caller access.Caller
	byLink bool
}

// host is how paths name the view, or the host of the address.
func (p providerQuery) host() string {
	if p.as != "" {
		return ownHost
	}
	return string(p.address.Host)
}

// candidate is a repository that may have a provider.
type candidate struct {
	template template.Template
	ref      template.Reference
	repo     repository.Reader
	// unstated is the address of its releases without a provider annotation, or zero if
	// unknown.
	unstated provider.Address
}

// open returns the repositories that may have a provider, the first choice first. A template
// that makes no repository of the address is none of them: a registry has no names for
// hosts with a port.
func (rc *repositoryCache) open(q providerQuery) ([]candidate, error) {
	if all, found := rc.opened.Lookup(q.key()); found {
		return all, nil
	}
	var all []candidate
	for _, t := range q.from {
		ref, err := t.Repository(q.address)
		if _, unfit := errors.AsType[*template.ReferenceError](err); unfit {
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
		return nil, fmt.Errorf("%w: no repository can have %s", provider.ErrProviderNotFound, q.address)
	}
	return all, nil
}

// published is a view in which the host does not count.
func published(from []template.Template, as, unannotated svchost.Hostname) *view {
	anyHost, _ := provider.ParseAlias(as.ForDisplay() + "/*/*=*/*/*") // if as is no host, the alias allows nothing
	return &view{from: from, aliases: provider.Aliases{anyHost}, unannotated: unannotated, as: as}
}

// viewOfHost returns the view of a published host, which is the same each time because
// caches use it in keys.
func (s *Server) viewOfHost(h access.Host) *view {
	known, _ := s.hosts.LoadOrStore(h, published([]template.Template{h.Repository}, h.As, s.options.Unannotated))
	v, _ := known.(*view)
	return v
}
