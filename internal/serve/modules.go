package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// moduleAddress is the address of a module in lower case. The zero value represents an
// unknown address.
type moduleAddress template.Module

// moduleAddressOf converts an address to lower case.
func moduleAddressOf(a module.Address) moduleAddress {
	lower := strings.ToLower
	return moduleAddress{string(a.Hostname), lower(a.Namespace), lower(a.Name), lower(a.System)}
}

// parseModuleAddress parses an address and converts it to lower case.
func parseModuleAddress(text string) (moduleAddress, error) {
	a, err := module.ParseAddress(text)
	return moduleAddressOf(a), err
}

// ASCII implements [access.Address].
func (a moduleAddress) ASCII() string {
	return a.Hostname + "/" + a.Namespace + "/" + a.Name + "/" + a.System
}

// String returns the address with the host in Unicode.
func (a moduleAddress) String() string {
	return svchost.Hostname(a.Hostname).ForDisplay() + strings.TrimPrefix(a.ASCII(), a.Hostname)
}

// moduleView is a set of modules. If as is not empty, it is the host of all addresses,
// and the host of stored modules is ignored. Otherwise, the host is taken from the
// request path.
type moduleView struct {
	from []template.ModuleTemplate
	as   svchost.Hostname
}

// moduleQuery is a request for a module in a view on behalf of a caller, like
// [providerQuery].
type moduleQuery struct {
	moduleView
	address moduleAddress
	// requested is the address with the capitalization of the request, because names in
	// a module registry are case-sensitive.
	requested module.Address
	// host is the HOST element of the request path: a host name, or ownHost.
	host   string
	caller access.Caller
	byLink bool
}

// errForeignModule means that a repository contains a different module.
var errForeignModule = errors.New("the repository contains a different module")

// ownerOf returns the address under which a module is stored, or zero if the address is
// unknown. It returns errForeignModule if the module must not be served for the
// requested address.
func (q moduleQuery) ownerOf(m storedModule, unstated moduleAddress) (moduleAddress, error) {
	stored := unstated
	if text := m.Annotations[artifact.AnnotationModule]; text != "" {
		var err error
		if stored, err = parseModuleAddress(text); err != nil {
			return moduleAddress{}, errForeignModule
		}
	}
	requested := q.address
	if q.as != "" || stored == (moduleAddress{}) {
		requested.Hostname = stored.Hostname
	}
	if stored != (moduleAddress{}) && stored != requested {
		return moduleAddress{}, errForeignModule
	}
	return stored, nil
}

// authorizationError returns nil if the caller has access to the stored address, like
// [providerQuery.authorizationError].
func (q moduleQuery) authorizationError(stored moduleAddress, err error) error {
	switch {
	case err == nil && !q.caller.MayReadModule(stored):
		return q.refusal(stored)
	case isAbsent(err) && !q.caller.MayReadModule(q.address):
		return q.refusal(q.address)
	case isAbsent(err):
		return because(err, http.StatusNotFound, fmt.Sprintf("no repository has the module %s", q.address))
	}
	return err
}

// refusal returns the error for a caller without access to a stored address.
func (q moduleQuery) refusal(stored moduleAddress) error {
	var shown string
	if stored != (moduleAddress{}) {
		shown = stored.String()
	}
	return refusal(q.caller, q.byLink, q.address.String(), shown)
}

// moduleListing contains the versions of a module and their repository.
type moduleListing struct {
	taggedVersions
	repo repository.Reader
	ref  template.Reference
	// stored is the address under which the module is stored, or zero if the address is
	// unknown. unstated is the address of versions without an annotation.
	stored, unstated moduleAddress
}

// storedModule is the manifest of a version.
type storedModule struct {
	artifact.Manifest
	digest digest.Digest
	weight int64
}

// moduleRelease is a version of a module.
type moduleRelease struct {
	moduleListing
	storedModule
}

// unstatedModule returns the address of modules without an annotation in a repository,
// like [view.unstated].
func (rc *repositoryCache) unstatedModule(t template.ModuleTemplate, ref template.Reference) moduleAddress {
	all, _ := t.Match(ref)
	if len(all) != 1 {
		return moduleAddress{}
	}
	a := moduleAddress(all[0])
	if !t.UsesHostname() {
		if a.Hostname = string(rc.options.Unannotated); a.Hostname == "" {
			return moduleAddress{}
		}
	}
	return a
}

// modules returns the versions of a module if the caller can read it.
func (s *Server) modules(ctx context.Context, q moduleQuery) (moduleListing, cacheState, error) {
	l, state, err := s.findModule(ctx, q)
	if err := q.authorizationError(l.stored, err); err != nil {
		return moduleListing{}, state, err
	}
	return l, state, nil
}

// findModule returns the versions of a module in the first repository that contains the
// module. It doesn't check the caller's access. If no repository contains the module,
// the result contains the last repository.
func (s *Server) findModule(ctx context.Context, q moduleQuery) (l moduleListing, state cacheState, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.timeouts.response) // shared by the requests to all repositories
	defer cancel()
	candidates, err := s.repos.openModule(q)
	if err != nil {
		return l, state, err
	}
	err = errForeignModule
	for _, l = range candidates {
		if l.taggedVersions, state, err = s.repos.tags(ctx, l.repo, s.repos.listings.maxAge); err == nil {
			l.stored, err = s.repos.moduleOwner(ctx, q, l)
		}
		if repository.IsUnknownProvider(err) {
			err = fmt.Errorf("%w: no repository contains %s", provider.ErrProviderNotFound, q.address)
		}
		if !isAbsent(err) { // for any other error, the next repository must not replace this one
			return l, state, err
		}
	}
	return moduleListing{repo: l.repo, ref: l.ref}, cacheState{}, err
}

// openModule returns the repositories that might contain a module, in order of
// preference.
func (rc *repositoryCache) openModule(q moduleQuery) (candidates []moduleListing, err error) {
	for _, t := range q.from {
		ref, err := t.Repository(template.Module(q.address))
		if err != nil {
			continue // for example, a repository name can't contain a host with a port
		}
		repo, err := rc.openReference(ref)
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, moduleListing{ref: ref, repo: repo, unstated: rc.unstatedModule(t, ref)})
	}
	return candidates, nil
}

// module returns the requested version if the caller can read it.
func (s *Server) module(x *exchange) (found moduleRelease, state cacheState, err error) {
	q, ctx := x.module, x.r.Context()
	if found.moduleListing, state, err = s.findModule(ctx, q); err == nil {
		x.event.Repository = found.repo.String()
		if slices.Contains(found.versions, x.version) {
			var read cacheState
			found.storedModule, read, err = s.repos.module(ctx, found.repo, artifact.Tag(x.version), s.repos.indexes.maxAge)
			state = state.merge(read)
			if err == nil {
				found.stored, err = q.ownerOf(found.storedModule, found.unstated)
			}
		} else if err = q.authorizationError(found.stored, nil); err == nil {
			err = x.noModuleVersion(found.moduleListing)
		}
	}
	return found, state, q.authorizationError(found.stored, err)
}

// noModuleVersion returns the error for a version that the repository doesn't have.
func (x *exchange) noModuleVersion(known moduleListing) error {
	return because(provider.ErrVersionNotFound, http.StatusNotFound, fmt.Sprintf("%s has no version %s: %s", x.module.address, x.version, provider.SomeVersions(known.versions)))
}

// openReference opens a module's repository, or returns the open repository so that its tokens
// and connections are reused.
func (rc *repositoryCache) openReference(ref template.Reference) (repository.Reader, error) {
	if repo, found := rc.references.Lookup(ref); found {
		return repo, nil
	}
	repo, err := rc.options.Open(ref)
	if err != nil {
		rc.options.Events.onFailure(err)
		return nil, err
	}
	repo = repository.ModuleReader(repo)
	rc.references.Put(ref, repo)
	return repo, nil
}

// moduleOwner returns the address under which the versions in a repository are stored.
// The newest readable version determines this address.
func (rc *repositoryCache) moduleOwner(ctx context.Context, q moduleQuery, l moduleListing) (moduleAddress, error) {
	if len(l.newest) == 0 {
		return q.address, nil // an empty repository reveals nothing
	}
	for _, tag := range l.newest {
		m, _, err := rc.module(ctx, l.repo, tag, max(listAge, rc.indexes.maxAge))
		switch {
		case err == nil:
			return q.ownerOf(m, l.unstated)
		case !isUnreadable(err) && !isAbsent(err):
			return moduleAddress{}, err
		}
	}
	return l.unstated, nil
}

// module returns the manifest that a tag points to.
func (rc *repositoryCache) module(ctx context.Context, repo repository.Reader, tag string, maxAge time.Duration) (storedModule, cacheState, error) {
	return rc.modules.getWithin(ctx, contentKey{repo.String(), tag}, maxAge, func(ctx context.Context) (storedModule, error) {
		d, data, err := repo.Manifest(ctx, tag)
		if errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository) {
			err = fmt.Errorf("%w: the tag %s: %w", provider.ErrVersionNotFound, tag, err)
		}
		if err != nil {
			return storedModule{}, err
		}
		m, err := artifact.ParseModule(data)
		return storedModule{m, d.Digest, 4 * int64(len(data))}, err
	})
}

// authorizeModule parses the module in the path and authorizes the caller.
func (s *Server) authorizeModule(x *exchange) error {
	if err := s.locateModule(x); err != nil {
		return err
	}
	if err := s.identifyCaller(x); err != nil {
		return err
	}
	q := &x.module
	if q.caller = x.caller; q.as == "" && !q.caller.MayReadModule(q.address) {
		return q.refusal(q.address)
	}
	return nil
}

// authorizeModuleToken authorizes a request for a package by the token in its path.
func (s *Server) authorizeModuleToken(x *exchange) error {
	token, filename := x.r.PathValue("TOKEN"), x.r.PathValue("FILENAME")
	if token == anonymousToken || s.options.Rules().AllowAll() {
		if err := s.authorizeModule(x); err != nil {
			return err
		}
	} else {
		err := s.locateModule(x)
		if err != nil {
			return err
		}
		x.module.byLink = true
		x.module.caller, err = s.checkToken(x, token, access.Archive{Address: x.module.address, Version: x.version, Filename: filename})
		if err != nil {
			return err
		}
	}
	if filename != x.module.filename(x.version) {
		return &problem{http.StatusNotFound, fmt.Sprintf("%s %s has no archive with this file name", x.module.address, x.version)}
	}
	return nil
}

// locateModule sets the module and the version from the path.
func (s *Server) locateModule(x *exchange) error {
	view, element := moduleView{from: s.options.ModulesFrom}, cmp.Or(x.r.PathValue("HOST"), ownHost)
	var host svchost.Hostname
	var err error
	if element == ownHost {
		view = s.moduleViewOf(s.publishedHost(x.r))
	} else if host, err = x.host(); err != nil {
		return err
	} else if published, found := s.publishedHostOf(host); found {
		view = s.moduleViewOf(published, true)
	}
	host = cmp.Or(view.as, host)
	a, err := module.ParseAddress(host.ForDisplay() + "/" + x.r.PathValue("NAMESPACE") + "/" + x.r.PathValue("NAME") + "/" + x.r.PathValue("SYSTEM"))
	if err != nil {
		return &problem{http.StatusNotFound, err.Error()}
	}
	x.module = moduleQuery{moduleView: view, address: moduleAddressOf(a), requested: a, host: element}
	return x.readVersion()
}

// moduleViewOf returns the view for a published host. If isPublished is false, the view
// contains the modules of all hosts.
func (s *Server) moduleViewOf(h access.Host, isPublished bool) moduleView {
	switch {
	case !isPublished:
		return moduleView{s.options.ModulesFrom, provider.DefaultHost}
	case h.Modules == template.ModuleTemplate{}:
		return moduleView{as: h.As}
	}
	return moduleView{[]template.ModuleTemplate{h.Modules}, h.As}
}

// filename returns the file name of a version.
func (q moduleQuery) filename(v provider.Version) string {
	return q.address.Name + "_" + v.String() + ".zip"
}
