package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/serve/page"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// versionPage is a page of the versions of a provider or module. It also contains the
// first pending and denied versions that the caller can see.
type versionPage struct {
	known                     listing
	versions, pending, denied []summary
	// next is the URL of the next page. It is empty on the last page.
	next    string
	isStale bool
}

// describeVersions describes the versions of the requested provider or module.
func (s *Server) describeVersions(x *exchange) (p versionPage, err error) {
	number, err := x.page()
	if err != nil {
		return p, err
	}
	known, state, err := s.repos.list(x.r.Context(), x.query)
	if err != nil {
		return p, err
	}
	x.setCacheHeaders(state)
	x.event.Repository = known.repo.String()
	p.known, p.isStale = known, state.stale != nil
	items, more := pageOf(known.versions, number, versionsOnPage)
	if p.versions = s.summaries(x, known, items, s.repos.releasedSummary); more {
		p.next = x.query.url(x.base) + "?page=" + strconv.Itoa(number+1)
	}
	if !s.seesPending(x) {
		return p, nil
	}
	denied, _ := pageOf(provider.NewestFirst(known.denied), 1, maxPending)
	for _, v := range denied {
		p.denied = append(p.denied, deniedSummary(known, v))
	}
	pending, _ := pageOf(known.pending, 1, maxPending)
	p.pending = slices.DeleteFunc(s.summaries(x, known, pending, s.repos.pendingSummary), func(found summary) bool { return !x.query.caller.MayRead(found.stored) })
	return p, nil
}

// summaries calls summarize for each version. It returns after the response timeout at the
// latest. Later results are cached for the next caller.
func (s *Server) summaries(x *exchange, known listing, versions []provider.Version, summarize func(context.Context, query, listing, provider.Version) summary) []summary {
	ctx, cancel := context.WithTimeout(x.r.Context(), s.options.timeouts.response)
	defer cancel()
	found := make([]summary, len(versions))
	_ = schedule.All(ctx, maxConcurrentReleases, versions, func(ctx context.Context, n int, v provider.Version) error {
		found[n] = summarize(ctx, x.query, known, v) // the summary contains the error
		return nil
	})
	return found
}

// provider describes a provider for the API.
func (s *Server) provider(x *exchange, p versionPage) api.Provider {
	return api.Provider{
		ProviderRef: x.query.ref(x.base, p.known.repo.String(), newest(p.known.versions)), Versions: x.versionRefs(p.versions), Total: len(p.known.versions), Next: p.next,
		Pending: x.versionRefs(p.pending), MorePending: max(0, len(p.known.pending)-maxPending), Denied: x.versionRefs(p.denied), MoreDenied: max(0, len(p.known.denied)-maxPending),
		Installation: x.query.installation(x.base), Stale: p.isStale,
	}
}

// module describes a module for the API.
func (s *Server) module(x *exchange, p versionPage) api.Module {
	return api.Module{
		ModuleRef: x.query.moduleRef(x.base, p.known.repo.String(), newest(p.known.versions)), Versions: s.moduleRefs(x, p.versions), Total: len(p.known.versions), Next: p.next,
		Pending: s.moduleRefs(x, p.pending), MorePending: max(0, len(p.known.pending)-maxPending), Denied: s.moduleRefs(x, p.denied), MoreDenied: max(0, len(p.known.denied)-maxPending),
		Installation: x.query.installation(x.base), Stale: p.isStale,
	}
}

// versionRefs describes versions of a provider in a list.
func (x *exchange) versionRefs(versions []summary) []api.VersionRef {
	refs := make([]api.VersionRef, len(versions))
	for n, v := range versions {
		refs[n] = v.VersionRef
		refs[n].URL = x.query.url(x.base, v.Version)
	}
	return refs
}

// moduleRefs describes versions of a module in a list.
func (s *Server) moduleRefs(x *exchange, versions []summary) []api.ModuleVersion {
	refs := make([]api.ModuleVersion, len(versions))
	for n, v := range versions {
		refs[n] = s.moduleVersion(x, v)
	}
	return refs
}

// moduleVersion describes a version of a module. Only released versions have a link to
// the zip.
func (s *Server) moduleVersion(x *exchange, found summary) api.ModuleVersion {
	v := found.module
	v.Version, v.Tag, v.Status, v.Problem, v.URL = found.Version, found.Tag, found.Status, found.Problem, x.query.url(x.base, found.Version)
	v.Digest, v.Size, v.Documents = found.digest, found.Size, found.documentsOfAll()
	for _, zip := range found.packages {
		v.Zip = zip.Digest
		if released, err := provider.ParseVersion(found.Version); err == nil && found.Status != api.StatusPending {
			v.ZipURL = x.base.String() + s.archivePath(x, released, x.query.filename(released, x.platform), found.stored)
		}
	}
	return v
}

func (s *Server) renderProvider(f page.Frame, x *exchange, p versionPage, number int) ([]byte, error) {
	position, err := paginate(number, len(p.known.versions), versionsOnPage)
	if err != nil {
		return nil, err
	}
	return f.Provider(page.Provider{Provider: s.provider(x, p), Lock: s.newestLock(x, p.known), Waiting: x.waiting(p), Held: s.held(x)}, position)
}

func (s *Server) renderModule(f page.Frame, x *exchange, p versionPage, number int) ([]byte, error) {
	position, err := paginate(number, len(p.known.versions), versionsOnPage)
	if err != nil {
		return nil, err
	}
	return f.Module(page.Module{Module: s.module(x, p), Waiting: x.waiting(p), Held: s.held(x)}, position)
}

// waiting describes the pending versions with the commands that approve them.
func (x *exchange) waiting(p versionPage) (all []page.PendingVersion) {
	for n, ref := range x.versionRefs(p.pending) {
		all = append(all, page.PendingVersion{VersionRef: ref, Documents: p.pending[n].documentsOfAll(), Promote: promoteCommand(p.known, ref.Version)})
	}
	return all
}

// promoteCommand returns the command that approves a pending version.
func promoteCommand(known listing, version string) string {
	if known.subject.IsModule() {
		return "tofu-oci promote " + text.Quote(known.subject.String()+"@"+version)
	}
	a := cmp.Or(known.stored, known.subject)
	return fmt.Sprintf("tofu-oci promote %s --to %s", text.Quote(a.String()+"@"+version), text.Quote(known.template.Redacted()))
}

// held returns the versions of the requested provider or module that the last run of sync
// held back, if the caller can see them.
func (s *Server) held(x *exchange) []page.ListedVersion {
	if !s.seesPending(x) {
		return nil
	}
	return s.lastSync(x).held(func(i syncedItem) bool { return i.address == x.query.address })
}

// newestLock returns the lock file block of a provider's newest version, or "" if it can't
// be read.
func (s *Server) newestLock(x *exchange, known listing) string {
	v, err := provider.ParseVersion(newest(known.versions))
	if err != nil {
		return ""
	}
	i, _, err := s.repos.indexIn(x.r.Context(), x.query, known, v, max(reportAge, s.options.MaxAge))
	if err != nil {
		return ""
	}
	found, err := s.repos.summary(x.r.Context(), x.query, i)
	if err != nil {
		return ""
	}
	return lockOf(x.query.shown, v, found.packages)
}

// ref returns a reference to a provider, which includes its URL in the API.
func (q query) ref(base *url.URL, repository, latest string) api.ProviderRef {
	a := q.shown
	return api.ProviderRef{Address: a.String(), Host: a.Host.ForDisplay(), Namespace: a.Namespace, Type: a.Type, Repository: repository, Latest: latest, URL: q.url(base)}
}

// moduleRef returns a reference to a module, which includes its URL in the API.
func (q query) moduleRef(base *url.URL, repository, latest string) api.ModuleRef {
	return api.ModuleRef{Address: q.shown.String(), Repository: repository, Latest: latest, URL: q.url(base)}
}

// url returns the URL of a provider or module in the API, with additional path elements.
func (q query) url(base *url.URL, more ...string) string {
	return base.String() + "/api/v1/" + collectionOf(q.shown) + pathOf(append(strings.Split(q.shown.String(), "/"), more...)...)
}

// collectionOf returns the path element that precedes the address of a provider or module
// in the API and the pages.
func collectionOf(a provider.Address) string {
	if a.IsRegistryModule() {
		return "modules"
	}
	return "providers"
}

// installation returns the CLI configuration for installing a provider or module from
// this server. It is empty for a published host, which requires no configuration. It is
// also empty for a provider whose host has a port, because network mirrors don't
// support ports.
func (q query) installation(base *url.URL) string {
	switch {
	case q.as != "" || !q.isModule() && strings.Contains(string(q.shown.Host), ":"):
		return ""
	case q.isModule():
		return fmt.Sprintf("host %q {\n  services = {\n    \"modules.v1\" = %q\n  }\n}\n", q.shown.Host.ForDisplay(), base.String()+"/v1/modules/"+string(q.shown.Host)+"/")
	}
	pattern, err := provider.ParsePattern(q.shown.String())
	if err != nil {
		return ""
	}
	return cliconfig.NetworkMirrorBlock(base.String()+"/mirror/", pattern)
}
