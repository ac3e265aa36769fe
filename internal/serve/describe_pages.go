package serve

import (
	"cmp"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/serve/page"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// describeProviderPage describes a provider in more detail than the API.
func (s *Server) describeProviderPage(x *exchange) (p page.Provider, err error) {
	if p.Provider, err = s.describeProvider(x); err != nil {
		return p, err
	}
	known, _, err := s.repos.list(x.r.Context(), x.query)
	if err != nil {
		return p, err
	}
	p.Lock = s.newestLock(x, known, p.Latest)
	for _, ref := range p.Pending {
		if v, err := provider.ParseVersion(ref.Version); err == nil {
			found := s.repos.pendingRef(x.r.Context(), x.query, known, v)
			p.Waiting = append(p.Waiting, page.PendingVersion{VersionRef: ref, Evidence: found.documentsOfAll(), Promote: promoteCommand(x.query, known, v)})
		}
	}
	if s.seesPending(x) {
		p.Held = s.lastSync(x).held(func(i syncedItem) bool { return i.provider == x.query.address })
	}
	return p, nil
}

// newestLock returns the lock file block of a provider's newest version, or "" if it can't
// be read.
func (s *Server) newestLock(x *exchange, known listing, latest string) string {
	v, err := provider.ParseVersion(latest)
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

// promoteCommand returns the command that approves a pending version.
func promoteCommand(q providerQuery, known listing, v provider.Version) string {
	a := cmp.Or(known.stored, q.address)
	return fmt.Sprintf("tofu-oci promote %s --to %s", text.Quote(a.String()+"@"+v.String()), text.Quote(known.template.Redacted()))
}

// describeVersionPage describes a release in more detail than the API.
func (s *Server) describeVersionPage(x *exchange) (v page.Version, err error) {
	if v.Version, err = s.describeVersion(x); err != nil || v.Status != api.StatusPending {
		return v, err
	}
	known, _, err := s.repos.find(x.r.Context(), x.query)
	if err == nil {
		v.Promote = promoteCommand(x.query, known, x.version)
	}
	return v, err
}

// describeModulePage describes a module in more detail than the API.
func (s *Server) describeModulePage(x *exchange) (m page.Module, err error) {
	if m.Module, err = s.describeModule(x); err != nil {
		return m, err
	}
	known, _, err := s.modules(x.r.Context(), x.module)
	if err != nil {
		return m, err
	}
	for _, v := range m.Pending {
		m.Waiting = append(m.Waiting, page.PendingVersion{
			VersionRef: api.VersionRef{Version: v.Version, Status: v.Status, Problem: v.Problem}, Evidence: v.Documents, Promote: promoteModuleCommand(known.ref, v.Version),
		})
	}
	if s.seesPending(x) {
		m.Held = s.lastSync(x).held(func(i syncedItem) bool { return i.module == x.module.address })
	}
	return m, nil
}

// promoteModuleCommand returns the command that approves a pending version of a module.
func promoteModuleCommand(ref template.Reference, version string) string {
	return "tofu-oci promote " + text.Quote(module.Reference{Repository: ref}.String()+"@"+version)
}

// describeModuleVersionPage describes a version of a module in more detail than the
// API.
func (s *Server) describeModuleVersionPage(x *exchange) (v page.ModuleVersion, err error) {
	if v.ModuleRelease, err = s.describeModuleRelease(x); err != nil {
		return v, err
	}
	known, _, err := s.modules(x.r.Context(), x.module)
	if err != nil {
		return v, err
	}
	if v.Status == api.StatusPending {
		v.Promote = promoteModuleCommand(known.ref, v.Version)
	}
	if m, _, err := s.repos.module(x.r.Context(), known.repo, v.Tag, s.repos.indexes.maxAge); err == nil && v.Digest != "" {
		v.Published = publishedOf(m.Annotations)
	}
	return v, nil
}
