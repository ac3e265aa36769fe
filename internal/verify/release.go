package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// verification verifies one release and collects the findings.
type verification struct {
	repo    repository.Reader
	hashes  *hashing
	address provider.Address
	version provider.Version
	options Options

	// findings has at most [maxOfRelease] entries. counts includes the omitted
	// findings.
	findings []finding.Finding
	counts   map[finding.Severity]int
	// digest is the digest of the index. verdict is the result of Verify.
	digest  digest.Digest
	verdict provider.Verdict
	// sbom, referrers, and decisions are the values of the corresponding fields of
	// [Checked].
	sbom      bool
	referrers []provider.Document
	decisions []repository.DecisionRecord
	err       error
}

func newVerification(repo repository.Reader, zips *schedule.Limiter, a provider.Address, v provider.Version, o Options) *verification {
	hashes := &hashing{Reader: repo, zips: zips}
	return &verification{repo: hashes, hashes: hashes, address: a, version: v, options: o, counts: map[finding.Severity]int{}}
}

// checked returns the entry for the release in the report.
func (a *verification) checked() Checked {
	return Checked{
		Address: a.address, Version: a.version, Stored: provider.Stored{Repository: a.repo.String(), Tag: artifact.Tag(a.version), Digest: a.digest},
		Verdict: a.verdict, SBOM: a.sbom, Referrers: a.referrers, Decisions: a.decisions, Counts: a.counts, Time: time.Now().UTC().Truncate(time.Second),
	}
}

// about returns a reporter of findings about a platform. The zero value represents the
// entire release.
func (a *verification) about(platform provider.Platform) reporter { return reporter{a, platform} }

type reporter struct {
	*verification
	platform provider.Platform
}

func (s reporter) addError(code, message string, remedy finding.Remedy) {
	s.add(finding.Error, code, message, remedy)
}

func (s reporter) addWarning(code, message string, remedy finding.Remedy) {
	s.add(finding.Warning, code, message, remedy)
}

// add counts a finding and stores it unless the limit is reached.
func (s reporter) add(severity finding.Severity, code, message string, remedy finding.Remedy) {
	s.counts[severity]++
	if len(s.findings) == maxOfRelease {
		return
	}
	f := finding.New(severity, code, message, remedy)
	f.Subject = finding.Subject{Provider: s.address.String(), Version: s.version.String()}
	if s.platform != (provider.Platform{}) {
		f.Subject.Platform = s.platform.String()
	}
	s.verification.findings = append(s.verification.findings, f)
}

// fetch returns the command that mirrors the release again from its origin registry.
func (a *verification) fetch(flags string) string {
	return doctor.MirrorCommand(a.address, a.options.Template, a.version.String()) + flags
}

// mirror returns the remedy that restores the release. The repository doesn't record
// whether the release was mirrored, copied, or published.
func (a *verification) mirror(flags string) finding.Remedy {
	return doctor.Restore(a.address, a.options.Template, a.version, flags)
}

// rebuild returns the remedy for defects that mirror ignores because the zips are
// correct.
func (a *verification) rebuild() finding.Remedy {
	return doctor.Rebuild(a.address, a.options.Template, a.version)
}

// promote returns a remedy that approves the release.
func (a *verification) promote(hint, flags string) finding.Remedy {
	if a.address.IsModule() {
		return finding.Remedy{Hint: hint, Command: "tofu-oci promote " + text.Quote(a.address.String()+"@"+a.version.String()) + flags}
	}
	return finding.Remedy{Hint: hint, Command: doctor.PromoteCommand(a.address, a.options.Template, a.version) + flags}
}

// mergeRemedies sets the same command for all findings about a release if one command
// repairs them all. Otherwise, a user would run several commands or delete a tag that
// --force replaces.
func (a *verification) mergeRemedies() {
	has := func(match func(finding.Finding) bool) bool { return slices.ContainsFunc(a.findings, match) }
	isCode := func(code string) func(finding.Finding) bool {
		return func(f finding.Finding) bool { return f.Code == code }
	}
	again, forced := a.rebuild(), a.mirror(" --force")
	var merged finding.Remedy
	switch {
	case has(isCode("annotation-version")) && has(isCode("name-differs")): // the tag of another version: all zips differ
		merged = forced
	case has(func(f finding.Finding) bool { return f.Remedy == again }) && has(func(f finding.Finding) bool { return f.Remedy == forced }):
		merged = again // repairs more
	default:
		return
	}
	for i, f := range a.findings {
		if f.Remedy == again || f.Remedy == forced {
			a.findings[i].Remedy = merged
		}
	}
}

// release verifies the release. It returns an error if the repository or the origin
// registry doesn't respond.
func (a *verification) release(ctx context.Context) error {
	defer a.mergeRemedies()
	// 1. Check the content that the tag points to.
	depth := repository.DepthBlobs
	if a.options.Deep {
		depth = repository.DepthContent
	}
	found, err := repository.Inspect(ctx, a.repo, artifact.Tag(a.version), depth)
	a.digest = found.Digest
	if usable, err := a.index(found, err); !usable {
		return err
	}
	for _, platform := range found.Index.Platforms() {
		a.manifest(found.Platforms[platform])
	}
	if err := a.blobs(ctx, found); err != nil {
		return err
	}
	// 2. Check the annotations.
	if err := a.annotations(ctx, found); err != nil {
		return err
	}
	// 3. Check the checksums, the referrers, and the signature.
	release, err := a.checkDocuments(ctx, found)
	if err != nil {
		return err
	}
	referrers, err := a.readReferrers(ctx, found)
	if err != nil {
		return err
	}
	if a.verdict, err = a.signature(ctx, oci.WithDecisions(release, referrers.Decisions)); err != nil {
		return err
	}
	a.sbom, a.referrers = hasSBOM(found, release, referrers.Documents), referrers.Documents
	a.decisions = approval.Examine(referrers.Decisions, a.repo, release, found.Digest)
	// 4. Compare the release with the origin registry.
	if a.options.Origin != nil {
		if err := a.against(ctx, found, a.verdict); err != nil {
			return err
		}
	}
	// 5. Check whether the mirror contains the modules that the module calls.
	if a.options.Missing != nil && found.Module && a.counts[finding.Error] == 0 {
		missing, err := a.options.Missing(ctx, found, a.version)
		if err != nil {
			return err
		}
		for _, call := range missing {
			a.about(provider.Platform{}).addWarning("dependency-missing", call+".", finding.Remedy{Hint: "mirror the module with tofu-oci module mirror --with-dependencies, or with dependencies = true in the declaration for sync"})
		}
	}
	// 6. Check whether the provider starts.
	return a.launch(ctx, release)
}

// index adds findings about the index and reports whether the index can be used.
func (a *verification) index(found repository.Inspection, err error) (usable bool, failure error) {
	s, tag := a.about(provider.Platform{}), artifact.Tag(a.version)
	format := cmp.Or(found.CheckFormat(a.address), formatOf(err))
	switch {
	case format != nil:
		s.addError("index-format", fmt.Sprintf("The tag %s does not point to a release that OpenTofu can install: %v.", tag, format), a.mirror(" --force"))
		return false, nil
	case err != nil && !isDamage(err):
		return false, err
	case err != nil || found.Dangling || !found.Exists():
		s.addError("index-missing", fmt.Sprintf("The index that the tag %s points to is missing or damaged.", tag), a.mirror(""))
		return false, nil //nolint:nilerr // the error was added as a finding
	}
	if len(found.Index.Targets) == 0 {
		s.addError("index-format", fmt.Sprintf("The index with the tag %s contains no platform that OpenTofu supports.", tag), a.mirror(" --force"))
	}
	if foreign := found.CheckProvider(a.address, a.options.Aliases...); foreign != nil {
		s.addError("provider-differs", fmt.Sprintf("The provider in the release's annotation differs: %v. OpenTofu ignores this annotation and installs the release, but tofu-oci rejects it.", foreign), a.mirror(" --force"))
	}
	return true, nil
}

// manifest adds a finding if the manifest for a platform is missing or invalid.
func (a *verification) manifest(f repository.InspectedPackage) {
	s, platform := a.about(f.Target.Platform), f.Target.Platform
	switch {
	case f.Err == nil:
	case f.Target.Duplicate:
		s.addError("platform-twice", fmt.Sprintf("The index has several manifests for %s, which OpenTofu rejects.", platform), a.mirror(" --force"))
	case isDamage(f.Err):
		s.addError("manifest-damaged", fmt.Sprintf("The manifest for %s is damaged: %v.", platform, f.Err), a.mirror(""))
	case formatOf(f.Err) != nil:
		s.addError("manifest-format", fmt.Sprintf("The manifest for %s does not have the format that OpenTofu expects: %v.", platform, f.Err), a.mirror(" --force"))
	default:
		s.addError("manifest-missing", fmt.Sprintf("The manifest for %s is missing.", platform), a.mirror(""))
	}
}

// launch starts the package for the current platform. If an error was found, it doesn't
// start the package, because the package might have been tampered with.
func (a *verification) launch(ctx context.Context, r provider.Release) error {
	if a.options.Launch == nil || a.counts[finding.Error] > 0 {
		return nil
	}
	here := provider.CurrentPlatform()
	i := slices.IndexFunc(r.Packages, func(p provider.Package) bool { return p.Platform == here })
	if i < 0 {
		a.about(provider.Platform{}).addWarning("not-launched", fmt.Sprintf("The provider was not started, because the release has no package for %s.", here), finding.Remedy{Hint: "verify the release on a machine with a supported platform"})
		return nil
	}
	problem, err := a.options.Launch(ctx, r.Packages[i])
	if err != nil {
		return err
	}
	if problem != "" {
		a.about(here).addError("launch-failed", fmt.Sprintf("The provider does not start: %s.", problem), finding.Remedy{Hint: "report the problem to the provider's author, because OpenTofu is likely affected, too"})
	}
	return nil
}

// isDamage reports whether err means that content doesn't match its digest or size.
func isDamage(err error) bool {
	_, bytes := errors.AsType[*sums.MismatchError](err)
	_, size := errors.AsType[*sums.SizeError](err)
	return bytes || size
}

// formatOf returns the *[artifact.FormatError] in err, or nil.
func formatOf(err error) error {
	if format, ok := errors.AsType[*artifact.FormatError](err); ok {
		return format
	}
	return nil
}
