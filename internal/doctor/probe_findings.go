package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// rule describes the consequences if a check fails.
type rule struct {
	severity finding.Severity
	// problem completes the sentence "The registry …".
	problem string
	affects []string
	hint    string
}

var (
	readers  = []string{"tofu init", "pull", "verify", "mirror", "publish", "copy"}
	writers  = []string{"mirror", "publish", "copy", "bundle import", "sync apply"}
	deleters = []string{"deny (released versions)", "promote (pending tags)", pruning}
)

const (
	pruning = "sync apply (pruning)"

	ownTypes   = "allow the media types in docs/format.md in the registry's settings, or use another registry"
	grantPull  = "grant the permission to pull"
	grantRight = "grant the permission to delete tags and manifests, enable deletion in the registry, or delete them with the registry's own tools"
)

// rules contains the rules of the checks that can fail. For upload, the error
// determines the finding.
var rules = map[string]rule{
	"upload":            {finding.Error, "", append([]string{"promote", "deny", "module push", "module mirror"}, writers...), ""},
	"provider-manifest": {finding.Error, "refuses the manifests of providers, even with common media types", writers, ownTypes},
	"tag-list":          {finding.Error, "does not list new tags", []string{"tofu init", "list", "verify", "deny", "sync plan", "sync apply"}, "grant the permission to list tags, or use a registry that lists them"},
	"referrers":         {finding.Warning, "cannot store referrers", []string{"publish (SBOMs for all platforms)", "mirror --attestations", "promote --reason", "gate run"}, "attach documents to single packages (…_OS_ARCH.spdx.json), publish and copy with --no-referrers, and promote without --reason and --by"},
	"document":          {finding.Warning, "refuses documents about a release", []string{"publish (SBOMs for all platforms)", "mirror --attestations", "copy"}, "attach documents to single packages (…_OS_ARCH.spdx.json), and publish and copy with --no-referrers"},
	"decision":          {finding.Warning, "refuses records of decisions", []string{"promote --reason", "gate run"}, "promote without --reason and --by"},
	"denial":            {finding.Warning, "refuses denials", []string{"deny"}, ownTypes},
	"sync-record":       {finding.Warning, "refuses sync records", []string{pruning}, "remove the prune block from the declaration, or allow the media types in docs/format.md in the registry's settings"},
	"move-tag":          {finding.Warning, "does not change the target of a tag", []string{pruning, "deny (pending releases)", "publish and mirror (platforms in several runs)", "module push (latest)"}, "exempt these tags from immutability: tofu-oci-sync, pending-*, sha256-* (without the referrers API), latest (modules), and version tags if you publish platforms in several runs; the probe cannot check this"},
	"delete-tag":        {finding.Warning, "does not delete tags", deleters, grantRight},
	"blob-head":         {finding.Error, "refuses requests for the size of a blob", readers, grantPull},
	"blob-range":        {finding.Error, "refuses requests for a part of a blob", readers, grantPull},
	"manifest-head":     {finding.Error, "refuses requests for a manifest, or does not report its size and digest", []string{"tofu init"}, "grant the permission to pull, configure the registry or its proxy to send Content-Length and Docker-Content-Digest, or run OpenTofu with tofu-oci exec"},
	"delete-manifest":   {finding.Warning, "does not delete manifests", []string{pruning}, grantRight},
}

// Findings returns the findings about failed checks and about content that the probe
// left.
func (p Probe) Findings() (all []finding.Finding) {
	var unknown []string
	for _, c := range p.Checks {
		switch {
		case c.Name == "upload" && c.err != nil:
			all = append(all, p.uploadFinding(c.err))
		case c.Result == CheckUnknown && c.err != nil:
			unknown = append(unknown, c.Name+" ("+c.Details+")")
		case c.Result == CheckFails && c.Name != "referrers" && errors.Is(c.err, repository.ErrNoReferrersList):
			// The finding about referrers has the same cause.
		case c.Result == CheckFails:
			r := rules[c.Name]
			message := fmt.Sprintf("The registry of %s %s, which affects %s: %s.", p.Repository, r.problem, strings.Join(r.affects, ", "), c.Details)
			all = append(all, finding.New(r.severity, "registry-limited", message, finding.Remedy{Hint: r.hint}))
		}
	}
	if len(unknown) > 0 {
		all = append(all, finding.New(finding.Warning, "probe-incomplete", fmt.Sprintf("tofu-oci could not find out what the registry of %s supports: %s.", p.Repository, strings.Join(unknown, ", ")), finding.Remedy{Hint: "run the command again, because the failures might be temporary"}))
	}
	if f, isLeft := p.Leftover(); isLeft {
		all = append(all, f)
	}
	return all
}

// Leftover returns the finding about content that the probe could not delete, if any.
func (p Probe) Leftover() (f finding.Finding, ok bool) {
	if len(p.Left) == 0 {
		return f, false
	}
	message := fmt.Sprintf("The probe could not delete %s from %s: %s.", strings.Join(p.Left, ", "), p.Repository, reason(p.leftErr))
	return finding.New(finding.Warning, "probe-left", message, finding.Remedy{Hint: "delete them with the registry's own tools; OpenTofu and tofu-oci ignore them"}), true
}

// uploadFinding returns the finding about an upload that failed.
func (p Probe) uploadFinding(err error) finding.Finding {
	switch {
	case errors.Is(err, provider.ErrForbidden):
		return finding.New(finding.Error, "push-denied", fmt.Sprintf("The registry denies push access to %s: the credentials do not grant write access, or no credentials were found.", p.Repository),
			finding.Remedy{Hint: "grant push access, or log in with a different account", Command: "tofu-oci login " + p.registry})
	case errors.Is(err, repository.ErrNoRepository):
		return finding.New(finding.Error, "push-failed", fmt.Sprintf("The registry does not create repository %s on push.", p.Repository), finding.Remedy{Hint: "create the repository or its project first, or use tofu-oci mirror --on-missing-repository"})
	}
	remedy := unreachable(err, p.registry)
	if errors.Is(err, repository.ErrOtherServer) || errors.Is(err, httpclient.ErrDowngrade) {
		remedy = finding.Remedy{Hint: "configure the proxy in front of the registry to keep the Host header and to set X-Forwarded-Proto: https, or set the registry's public address"}
	}
	return finding.New(finding.Error, "push-failed", fmt.Sprintf("Pushing to %s failed: %v.", p.Repository, err), remedy)
}
