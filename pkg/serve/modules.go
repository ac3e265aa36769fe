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

// moduleAddress is the address of a module in lower case. The zero value is the address
// of modules whose address is unknown.
type moduleAddress template.Module

// parseModuleAddress parses an address in any case.
func parseModuleAddress(text string) (moduleAddress, error) {
	a, err := module.ParseAddress(text)
	if err != nil {
		return moduleAddress{}, err
	}
	lower := strings.ToLower
	return moduleAddress{string(a.Hostname), lower(a.Namespace), lower(a.Name), lower(a.System)}, nil
}

// ASCII implements [access.Address].
func (a moduleAddress) ASCII() string {
	return a.Hostname + "/" + a.Namespace + "/" + a.Name + "/" + a.System
}

// String returns the address with the host in Unicode.
func (a moduleAddress) String() string {
	return svchost.Hostname(a.Hostname).ForDisplay() + strings.TrimPrefix(a.ASCII(), a.Hostname)
}

// moduleView is a set of modules. Its field as is the host of all addresses, and then
// the host of stored modules is ignored. If it is empty, the host is taken from the
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
	// host is the path element for the host.
	host   string
	caller access.Caller
	byLink bool
}

// errForeignModule means that a repository contains a different module.
var errForeignModule = errors.New("the repository contains a different module")

// ownerOf returns the address that a module is stored as, or zero if the address is
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

// authorizationError returns nil if the caller can read the stored address, like
// [providerQuery.authorizationError].
func (q moduleQuery) authorizationError(stored moduleAddress, err error) error {
	isMissing := isAbsent(err) || errors.Is(err, errForeignModule)
	switch {
	case err == nil && !q.caller.MayReadModule(stored):
		return q.refusal(stored)
	case isMissing && !q.caller.MayReadModule(q.address):
		return q.refusal(q.address)
	case isMissing:
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
	// stored is the address that the module is stored as, or zero if the address is
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
func (s *Server) unstatedModule(t template.ModuleTemplate, ref template.Reference) moduleAddress {
	all, _ := t.Match(ref)
	if len(all) != 1 {
		return moduleAddress{}
	}
	a := moduleAddress(all[0])
	if !t.UsesHostname() {
		if a.Hostname = string(s.options.Unannotated); a.Hostname == "" {
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
// module. It doesn't check the caller's access.
func (s *Server) findModule(ctx context.Context, q moduleQuery) (none moduleListing, state cacheState, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait) // limits all repositories together
	defer cancel()
	for _, t := range q.from {
		ref, err := t.Repository(template.Module(q.address))
		if err != nil {
			continue // for example, a repository name can't contain a host with a port
		}
		l := moduleListing{ref: ref, unstated: s.unstatedModule(t, ref)}
		if l.repo, err = s.repos.openReference(ref); err != nil {
			return none, state, err
		}
		if l.taggedVersions, state, err = s.repos.tags(ctx, l.repo, s.repos.listings.maxAge); err == nil {
			l.stored, err = s.repos.moduleOwner(ctx, q, l)
		}
		if repository.IsUnknownProvider(err) || errors.Is(err, errForeignModule) {
			continue // for any other error, the next repository must not replace this one
		}
		return l, state, err
	}
	return none, cacheState{}, errForeignModule
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
			err = &problem{http.StatusNotFound, fmt.Sprintf("%s has no version %s: %s", q.address, x.version, provider.SomeVersions(found.versions))}
		}
	}
	return found, state, q.authorizationError(found.stored, err)
}

// openReference opens a repository. It keeps repositories, which keep tokens and
// connections.
func (rc *repositoryCache) openReference(ref template.Reference) (repository.Reader, error) {
	if repo, found := rc.references.Lookup(ref); found {
		return repo, nil
	}
	repo, err := rc.options.Open(ref)
	if err != nil {
		rc.options.Events.onFailure(err)
		return nil, err
	}
	rc.references.Put(ref, repo)
	return repo, nil
}

// moduleOwner returns the address that the versions of a repository are stored as. The
// newest readable version determines it.
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
	a, err := parseModuleAddress(host.ForDisplay() + "/" + x.r.PathValue("NAMESPACE") + "/" + x.r.PathValue("NAME") + "/" + x.r.PathValue("SYSTEM"))
	if err != nil {
		return &problem{http.StatusNotFound, err.Error()}
	}
	x.module = moduleQuery{moduleView: view, address: a, host: element}
	return x.readVersion()
}

// moduleViewOf returns the view of a published host or, without a published host, of
// the modules of all hosts.
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
