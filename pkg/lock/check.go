package lock

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Rules lists all kinds of findings of [Check], for documentation and configuration.
func Rules() []finding.Rule {
	return []finding.Rule{
		{Code: "lock-provider-missing", Means: "A locked provider is missing."},
		{Code: "lock-version-missing", Means: "A locked version is missing."},
		{Code: "lock-version-denied", Means: "A locked version is denied."},
		{Code: "lock-platform-missing", Means: "A locked version has no package for a platform."},
		{Code: "lock-package-missing", Means: "The zip of a package does not exist in the repository, or its size differs from the size in its manifest."},
		{Code: "lock-hash-missing", Means: "The lock file has no hash for the package of a platform."},
		{Code: "lock-hash-disagrees", Means: "The hashes in the lock file do not match the package for a platform."},
		{Code: "lock-h1-only", Means: "The lock file has only the h1 hash of the package for a platform, but OpenTofu requires the zh hash for packages from an OCI registry."},
	}
}

// Checked is the result of checking a selection.
type Checked struct {
	// File is the path of the lock file.
	File      string
	Selection lockfile.Selection
	Findings  []finding.Finding
	// Unknown is the number of locked hashes that the source doesn't have, such as
	// hashes of packages for other platforms. Unknown hashes are not errors.
	Unknown int
	// Unchecked is the number of packages whose source can't check that their zips exist,
	// such as an origin registry.
	Unchecked int
	// Err describes why the selection could not be checked.
	Err error

	// from is the template of the repository, or the zero value if the CLI configuration
	// determines the repository.
	from template.Template
}

// Check checks whether the selections of a lock file can be installed from a source. It
// uses the options Platforms, Verify, Template, and Repository. If Platforms is empty,
// it checks only this machine's platform. Findings concern the hashes that OpenTofu
// needs to install from an OCI registry: the zh: hash of the platform's zip or, for an
// unpacked package, its h1: hash. If ctx is canceled, Check omits the remaining
// selections.
func Check(ctx context.Context, src provider.Source, file string, f *lockfile.File, o Options) []Checked {
	if len(o.Platforms) == 0 {
		o.Platforms = []provider.Platform{provider.CurrentPlatform()}
	}
	selections := f.Selections()
	var all []Checked
	schedule.Each(ctx, len(selections), func(ctx context.Context, i int) (Checked, bool) {
		c := Checked{File: file, Selection: selections[i], from: o.Template}
		c.Err = c.check(ctx, src, o)
		return c, true
	}, func(c Checked) { all = append(all, c) })
	return all
}

// CheckFiles checks lock files. See [Check]. It calls started before each file, and
// calls the returned function after checking the file. It calls checked with the
// findings of each file, or with the error if the file cannot be read. CheckFiles stops
// when ctx is canceled.
func CheckFiles(ctx context.Context, src provider.Source, paths []string, o Options, started func(path string) (done func()), checked func(path string, found []Checked, err error)) error {
	for _, path := range paths {
		file, err := lockfile.Read(path)
		var found []Checked
		if err == nil {
			done := started(path)
			found = Check(ctx, src, path, file, o)
			done()
		}
		checked(path, found, err)
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Checked) check(ctx context.Context, src provider.Source, o Options) error {
	// 1. Fetch the release.
	s := c.Selection
	release, err := src.Release(ctx, s.Address, s.Version)
	denied, isDenied := errors.AsType[*repository.DeniedError](err)
	switch {
	case isDenied:
		c.add("", "lock-version-denied", fmt.Sprintf("%s %s is denied: %s.", s.Address, s.Version, doctor.DenialReason(denied.Record)), finding.Remedy{Hint: "choose another version", Command: "tofu-oci lock --upgrade"})
		return nil
	case errors.Is(err, provider.ErrProviderNotFound):
		problem, remedy := o.approvalState(ctx, s).Or(fmt.Sprintf("%s does not exist in the source", s.Address), c.mirrorRemedy(""))
		c.add("", "lock-provider-missing", problem, remedy)
		return nil
	case errors.Is(err, provider.ErrVersionNotFound):
		problem, remedy := o.approvalState(ctx, s).Or(fmt.Sprintf("%s %s does not exist in the source; %s", s.Address, s.Version, c.existingVersions(ctx, src)), c.mirrorRemedy(""))
		c.add("", "lock-version-missing", problem, remedy)
		return nil
	case err != nil:
		return err
	}
	if o.Verify != nil {
		if _, err := o.Verify(ctx, release); err != nil {
			return err
		}
	}
	known, err := zipHashes(release)
	if err != nil {
		return err
	}
	// 2. Find the locked hashes that the source doesn't have.
	for _, p := range release.Packages {
		known = append(known, lockfile.Hash(p.H1))
	}
	var unknown []lockfile.Hash
	for _, h := range s.Hashes {
		if !slices.Contains(known, h) {
			unknown = append(unknown, h)
		}
	}
	c.Unknown = len(unknown)
	// 3. Check the package of each platform.
	for _, platform := range o.Platforms {
		p, err := release.Package(platform)
		if err != nil {
			c.add(platform.String(), "lock-platform-missing", fmt.Sprintf("%s %s has no package for %s.", s.Address, s.Version, platform), c.mirrorPlatformRemedy(release, platform))
			continue
		}
		c.hash(p, unknown)
		if err := c.zip(ctx, src, p); err != nil {
			return err
		}
	}
	return nil
}

// zip checks that the zip of a package exists. Metadata is not enough, because a
// registry can lose a blob but still list the release.
func (c *Checked) zip(ctx context.Context, src provider.Source, p provider.Package) error {
	stat, checked := provider.CapabilitiesOf(src).Stat, false
	var err error
	if stat != nil {
		checked, err = stat(ctx, p)
	}
	_, size := errors.AsType[*sums.SizeError](err)
	switch {
	case size || errors.Is(err, repository.ErrNotFound):
		problem := fmt.Sprintf("The zip of %s %s for %s cannot be installed: %v.", p.Address, p.Version, p.Platform, err)
		flags := ""
		if size {
			flags = " --force"
		}
		c.add(p.Platform.String(), "lock-package-missing", problem, doctor.Restore(p.Address, c.from, p.Version, flags))
	case err != nil:
		return err
	case !checked:
		c.Unchecked++
	}
	return nil
}

// hash checks that the hash of a package is locked. unknown lists the locked hashes that
// no package has.
func (c *Checked) hash(p provider.Package, unknown []lockfile.Hash) {
	s, platform, relock := c.Selection, p.Platform.String(), c.lockCommand()
	switch {
	case p.Digest == "": // clients verify an unpacked directory only if h1: hashes are locked
		if !slices.Contains(s.Hashes, lockfile.Hash(p.H1)) && slices.ContainsFunc(s.Hashes, lockfile.Hash.IsH1) {
			c.add(platform, "lock-hash-missing", fmt.Sprintf("The lock file has no hash for the unpacked package of %s %s for %s; the hash is %s.", s.Address, s.Version, platform, p.H1), relock)
		}
	case slices.Contains(s.Hashes, zh(p.Digest)):
	case slices.Contains(s.Hashes, lockfile.Hash(p.H1)):
		c.add(platform, "lock-h1-only", fmt.Sprintf("The lock file has only the h1 hash of %s %s for %s. exec and pull accept this hash, but to install from an OCI registry, OpenTofu requires %s.",
			s.Address, s.Version, platform, zh(p.Digest)), relock)
	case slices.ContainsFunc(unknown, lockfile.Hash.IsZH), p.H1 != "" && slices.ContainsFunc(unknown, lockfile.Hash.IsH1) && !slices.ContainsFunc(s.Hashes, lockfile.Hash.IsZH):
		c.add(platform, "lock-hash-disagrees", fmt.Sprintf("The lock file does not contain %s of %s %s for %s, but contains hashes that match no package: %s.",
			zh(p.Digest), s.Address, s.Version, platform, join(unknown)),
			finding.Remedy{Hint: "compare the hashes with the checksums of the origin registry to find out whether the locked or the stored packages are the released ones"})
	default:
		c.add(platform, "lock-hash-missing", fmt.Sprintf("The lock file has no hash for %s %s for %s; the hash is %s.", s.Address, s.Version, platform, zh(p.Digest)), relock)
	}
}

// existingVersions describes which versions exist.
func (c *Checked) existingVersions(ctx context.Context, src provider.Source) string {
	versions, err := src.Versions(ctx, c.Selection.Address)
	if err != nil {
		return "listing the existing versions failed"
	}
	return provider.SomeVersions(versions)
}

// approvalState returns the approval state of a missing version.
func (o Options) approvalState(ctx context.Context, s lockfile.Selection) doctor.PendingInfo {
	if o.Repository == nil {
		return doctor.PendingInfo{}
	}
	repo, err := o.Repository(s.Address)
	if err != nil {
		return doctor.PendingInfo{}
	}
	return doctor.FindPending(ctx, repo, provider.Requirement{Address: s.Address, Constraint: s.Version.Constraint()}, o.Template)
}

// mirrorRemedy returns the remedy for missing content. It consists of the command that
// mirrors the content, and alternatives for providers that no registry offers.
func (c *Checked) mirrorRemedy(flags string) finding.Remedy {
	return finding.Remedy{
		Hint:    "mirror it; if you built it, publish it; if another repository has it, copy it",
		Command: doctor.MirrorCommand(c.Selection.Address, c.from, c.Selection.Version.String()) + flags,
	}
}

// mirrorPlatformRemedy returns the remedy for a missing package. SHA256SUMS lists every
// package of the release, so unlisted packages can't be mirrored.
func (c *Checked) mirrorPlatformRemedy(r provider.Release, platform provider.Platform) finding.Remedy {
	document, ok := r.Document(provider.KindSums)
	listed, err := sums.Parse(document.Bytes)
	if _, has := listed.Lookup(provider.Filename(r.Address, r.Version, platform)); !ok || err != nil || has {
		return c.mirrorRemedy(" --platform " + platform.String())
	}
	return finding.Remedy{Hint: fmt.Sprintf("%s lists no package for %s, so the provider was not released for this platform: lock another version, or omit the platform; if you build this provider, publish it for %s",
		document.Name, platform, platform)}
}

// lockCommand returns the command that locks the packages of the source.
func (c *Checked) lockCommand() finding.Remedy {
	command := fmt.Sprintf("tofu-oci lock '%s@%s'", c.Selection.Address, c.Selection.Version)
	if c.from != (template.Template{}) {
		command += " --from " + text.Quote(c.from.String())
	}
	if dir := filepath.Dir(c.File); dir != "." {
		command += " --module-dir " + text.Quote(dir)
	}
	return finding.Remedy{Command: command}
}

func (c *Checked) add(platform, code, problem string, remedy finding.Remedy) {
	f := finding.New(finding.Error, code, problem, remedy)
	f.Subject = finding.Subject{
		File: c.File, Line: c.Selection.Line, Provider: c.Selection.Address.String(), Version: c.Selection.Version.String(), Platform: platform,
	}
	c.Findings = append(c.Findings, f)
}
