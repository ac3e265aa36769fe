package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// audit is the look at one release.
type audit struct {
	repo    repository.Reader
	hashes  *hashing
	address provider.Address
	version provider.Version
	options Options

	// findings are at most [maxOfRelease]; counts has all of them.
	findings []finding.Finding
	counts   map[finding.Severity]int
	// digest is the digest of the index, and verdict the result of Judge.
	digest  digest.Digest
	verdict provider.Verdict
	err     error
}

func newAudit(repo repository.Reader, zips *schedule.Limiter, a provider.Address, v provider.Version, o Options) *audit {
	hashes := &hashing{Reader: repo, zips: zips}
	return &audit{repo: hashes, hashes: hashes, address: a, version: v, options: o, counts: map[finding.Severity]int{}}
}

// checked describes the release for the report.
func (a *audit) checked() Checked {
	return Checked{a.address, a.version, provider.Stored{Repository: a.repo.String(), Tag: artifact.Tag(a.version), Digest: a.digest}, a.verdict, a.counts}
}

// at says what a finding is about: the zero value is the release.
func (a *audit) at(platform provider.Platform) subject { return subject{a, platform} }

type subject struct {
	*audit
	platform provider.Platform
}

func (s subject) bad(code, message string, remedy finding.Remedy) {
	s.add(finding.Error, code, message, remedy)
}

func (s subject) warn(code, message string, remedy finding.Remedy) {
	s.add(finding.Warning, code, message, remedy)
}

// add counts a finding, and keeps it as long as there is room.
func (s subject) add(severity finding.Severity, code, message string, remedy finding.Remedy) {
	s.counts[severity]++
	if len(s.findings) == maxOfRelease {
		return
	}
	f := finding.New(severity, code, message, remedy)
	f.Subject = finding.Subject{Provider: s.address.String(), Version: s.version.String()}
	if s.platform != (provider.Platform{}) {
		f.Subject.Platform = s.platform.String()
	}
	s.audit.findings = append(s.audit.findings, f)
}

// fetch is the command that puts a release there again which its origin offers.
func (a *audit) fetch(flags string) string {
	return doctor.MirrorCommand(a.address, a.options.Template, a.version.String()) + flags
}

// mirror is what puts the release there again, wherever it is from: nothing in it tells
// what was mirrored from what was copied or published.
func (a *audit) mirror(flags string) finding.Remedy {
	return doctor.Restore(a.address, a.options.Template, a.version, flags)
}

// again fixes what mirror leaves unchanged because the zips are right.
func (a *audit) again() finding.Remedy {
	remedy := a.mirror("")
	remedy.Hint = a.deleteTag() + remedy.Hint
	return remedy
}

// mirrorAnew deletes the tag and mirrors the release again.
func (a *audit) mirrorAnew() finding.Remedy {
	return finding.Remedy{Hint: a.deleteTag() + "mirror the release again", Command: a.fetch("")}
}

func (a *audit) deleteTag() string {
	return fmt.Sprintf("delete the tag %s, then ", artifact.Tag(a.version))
}

// release looks at all that belongs to a release. The error is that of a repository
// or an origin that does not answer.
func (a *audit) release(ctx context.Context) error {
	// 1. What the tag leads to.
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
	// 2. Whether it says of itself what it is.
	if err := a.annotations(ctx, found); err != nil {
		return err
	}
	// 3. What the evidence says of it, and what that proves.
	release, err := a.evidence(ctx, found)
	if err != nil {
		return err
	}
	if a.verdict, err = a.signature(ctx, release); err != nil {
		return err
	}
	if err := a.referrers(ctx, found); err != nil {
		return err
	}
	// 4. What the origin says of it.
	if a.options.Origin != nil {
		if err := a.against(ctx, found, a.verdict); err != nil {
			return err
		}
	}
	// 5. Whether it works.
	return a.launch(ctx, release)
}

// index reports whether there is anything to look at further.
func (a *audit) index(found repository.Inspection, err error) (usable bool, failure error) {
	s, tag := a.at(provider.Platform{}), artifact.Tag(a.version)
	if err != nil && found.Format == nil {
		found.Format = formatOf(err)
	}
	switch {
	case found.Format != nil:
		s.bad("index-format", fmt.Sprintf("The tag %s names nothing that OpenTofu installs: %v.", tag, found.Format), a.mirror(" --force"))
		return false, nil //nolint:nilerr // it is a finding
	case err != nil && !isDamage(err):
		return false, err
	case err != nil || found.Dangling || !found.Exists():
		s.bad("index-missing", fmt.Sprintf("The index that the tag %s names is missing or damaged.", tag), a.mirror(""))
		return false, nil //nolint:nilerr // it is a finding
	}
	if len(found.Index.Targets) == 0 {
		s.bad("index-format", fmt.Sprintf("The index under the tag %s has no platform that OpenTofu knows.", tag), a.mirror(" --force"))
	}
	if foreign := found.CheckProvider(a.address, a.options.Aliases...); foreign != nil {
		s.bad("provider-differs", fmt.Sprintf("It is another provider's: %v. OpenTofu does not read the annotation and installs it all the same; tofu-oci refuses it.", foreign), a.mirror(" --force"))
	}
	return true, nil
}

// manifest tells what is wrong with the manifest of a platform.
func (a *audit) manifest(f repository.InspectedPackage) {
	s, platform := a.at(f.Target.Platform), f.Target.Platform
	switch {
	case f.Err == nil:
	case f.Target.Twice:
		s.bad("platform-twice", fmt.Sprintf("The index has several manifests for %s, and OpenTofu refuses to choose among them.", platform), a.mirror(" --force"))
	case isDamage(f.Err):
		s.bad("manifest-damaged", fmt.Sprintf("The manifest for %s is damaged: %v.", platform, f.Err), a.mirror(""))
	case formatOf(f.Err) != nil:
		s.bad("manifest-format", fmt.Sprintf("The manifest for %s is not as OpenTofu wants it: %v.", platform, f.Err), a.mirror(" --force"))
	default:
		s.bad("manifest-missing", fmt.Sprintf("The manifest for %s is missing.", platform), a.mirror(""))
	}
}

// launch has the package for this machine's platform started, unless anything is
// wrong with the release: what somebody may have exchanged is not run.
func (a *audit) launch(ctx context.Context, r provider.Release) error {
	if a.options.Launch == nil || a.counts[finding.Error] > 0 {
		return nil
	}
	here := provider.CurrentPlatform()
	i := slices.IndexFunc(r.Packages, func(p provider.Package) bool { return p.Platform == here })
	if i < 0 {
		a.at(provider.Platform{}).warn("not-launched", fmt.Sprintf("Nothing was started, as the release has no package for %s.", here), finding.Remedy{Hint: "verify it on a machine of one of its platforms"})
		return nil
	}
	problem, err := a.options.Launch(ctx, r.Packages[i])
	if err != nil {
		return err
	}
	if problem != "" {
		a.at(here).bad("launch-failed", fmt.Sprintf("The provider does not work here: %s.", problem), finding.Remedy{Hint: "tell whoever publishes the provider; OpenTofu is likely to meet the same"})
	}
	return nil
}

// isDamage tells content that is not what its digest and size say.
func isDamage(err error) bool {
	_, bytes := errors.AsType[*sums.MismatchError](err)
	_, size := errors.AsType[*sums.SizeError](err)
	return bytes || size
}

// formatOf returns the error of what is not as OpenTofu reads it; nil for others.
func formatOf(err error) error {
	if format, ok := errors.AsType[*artifact.FormatError](err); ok {
		return format
	}
	return nil
}
