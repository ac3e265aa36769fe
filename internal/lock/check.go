package lock

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/text"
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
		{Code: "lock-package-missing", Means: "A package's zip is missing from the repository, or its size differs from the size in the manifest."},
		{Code: "lock-hash-missing", Means: "The lock file has no hash for a platform's package."},
		{Code: "lock-hash-disagrees", Means: "The hashes in the lock file do not match the package for a platform."},
		{Code: "lock-h1-only", Means: "The lock file has only the h1 hash of a platform's package, but OpenTofu requires the zh hash for packages from an OCI registry."},
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
	// Unchecked is the number of packages whose zips might not exist, because the
	// source, such as an origin registry, can't check whether a zip exists.
	Unchecked int
	// Err is the reason the selection could not be checked.
	Err error

	// from is the repository template, or the zero value if the CLI configuration
	// determines the repository.
	from template.Template
}

// Check checks whether the selections in a lock file can be installed from a source. It
// uses the options Configuration, Platforms, Verify, Template, and Repository. If
// Platforms is empty, it checks only this machine's platform. Findings concern the
// hashes that OpenTofu needs to install from an OCI registry. Each is the zh: hash of
// the platform's zip or, for an unpacked package, its h1: hash. If ctx is canceled,
// Check omits the remaining selections.
func Check(ctx context.Context, src provider.Source, file string, f *lockfile.File, o Options) []Checked {
	if len(o.Platforms) == 0 {
		o.Platforms = []provider.Platform{provider.CurrentPlatform()}
	}
	selections := ReadOptions{Configuration: o.Configuration}.selections(ctx, file, f)
	var all []Checked
	schedule.Each(ctx, len(selections), func(ctx context.Context, i int) (Checked, bool) {
		c := Checked{File: file, Selection: selections[i], from: o.Template}
		c.Err = c.check(ctx, src, o)
		return c, true
	}, func(c Checked) { all = append(all, c) })
	return all
}

// CheckFiles calls [Check] for each lock file that can be read. It calls started before
// checking a file, and the returned function afterward. It calls checked with the
// results for each file and, if the file or a block in it is invalid, the error.
// CheckFiles stops when ctx is canceled.
func CheckFiles(ctx context.Context, src provider.Source, paths []string, o Options, started func(path string) (done func()), checked func(path string, found []Checked, err error)) error {
	for _, path := range paths {
		file, err := lockfile.Read(path)
		var found []Checked
		if file != nil {
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
		c.add("", "lock-version-denied", fmt.Sprintf("%s %s is denied: %s.", s.Address, s.Version, doctor.DenialReason(denied.Record)), finding.Remedy{Hint: "choose another version, after changing a constraint that allows only this one", Command: c.command("--upgrade")})
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
		known = append(known, contentsOf(p)...)
	}
	var unknown []lockfile.Hash
	for _, h := range s.Hashes {
		if !slices.Contains(known, h) {
			unknown = append(unknown, h)
		}
	}
	c.Unknown = len(unknown)
	// 3. Check the package for each platform.
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

// zip adds a finding if the zip of a package doesn't exist. Metadata is not enough,
// because a registry can lose a blob but still list the release.
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

// hash adds a finding if the hash of a package is not locked. unknown lists the locked
// hashes that no package has.
func (c *Checked) hash(p provider.Package, unknown []lockfile.Hash) {
	s, platform, relock := c.Selection, p.Platform.String(), c.lockCommand()
	switch {
	case p.Digest == "": // clients verify an unpacked directory only if h1: hashes are locked
		if !containsContents(s.Hashes, p) && slices.ContainsFunc(s.Hashes, lockfile.Hash.IsH1) {
			c.add(platform, "lock-hash-missing", fmt.Sprintf("The lock file has no hash for the unpacked package of %s %s for %s; the hash is %s.", s.Address, s.Version, platform, p.H1), relock)
		}
	case slices.Contains(s.Hashes, zh(p.Digest)):
	case containsContents(s.Hashes, p) && slices.ContainsFunc(unknown, lockfile.Hash.IsZH):
		relock.Hint = "compare the hashes with the checksums of the origin registry; if only the lock file is wrong, lock the version again"
		c.add(platform, "lock-hash-disagrees", fmt.Sprintf("None of the zh hashes in the lock file is %s, the hash of the package of %s %s for %s, although the h1 hash matches. These zh hashes match no package: %s.",
			zh(p.Digest), s.Address, s.Version, platform, join(slices.DeleteFunc(slices.Clone(unknown), func(h lockfile.Hash) bool { return !h.IsZH() }))), relock)
	case containsContents(s.Hashes, p):
		c.add(platform, "lock-h1-only", fmt.Sprintf("The lock file has only the h1 hash of %s %s for %s. exec and pull accept this hash, but to install from an OCI registry, OpenTofu requires %s.",
			s.Address, s.Version, platform, zh(p.Digest)), relock)
	case slices.ContainsFunc(unknown, lockfile.Hash.IsZH), p.H1 != "" && slices.ContainsFunc(unknown, lockfile.Hash.IsH1) && !slices.ContainsFunc(s.Hashes, lockfile.Hash.IsZH):
		c.add(platform, "lock-hash-disagrees", fmt.Sprintf("The lock file does not contain the hash %s of %s %s for %s, but contains hashes that match no package: %s.",
			zh(p.Digest), s.Address, s.Version, platform, join(unknown)),
			finding.Remedy{Hint: "compare the hashes with the checksums of the origin registry to find out whether the lock file or the repository is wrong"})
	case s.Predecessor != (provider.Address{}):
		c.add(platform, "lock-hash-missing", fmt.Sprintf("The lock file locks %s instead of %s. OpenTofu selects the locked version %s, but the locked hashes don't apply. The hash for %s is %s.",
			s.Predecessor, s.Address, s.Version, platform, zh(p.Digest)), relock)
	default:
		c.add(platform, "lock-hash-missing", fmt.Sprintf("The lock file has no hash for %s %s for %s; the hash is %s.", s.Address, s.Version, platform, zh(p.Digest)), relock)
	}
}

// existingVersions lists the existing versions for a message.
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

// mirrorRemedy returns the remedy for a missing provider, version, or package: a mirror
// command, and alternatives for providers that no registry offers.
func (c *Checked) mirrorRemedy(flags string) finding.Remedy {
	return finding.Remedy{
		Hint:    "mirror the release; if you built it, publish it; if another repository contains it, copy it",
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
	return finding.Remedy{Hint: fmt.Sprintf("lock another version or omit the platform, because %s lists no package for %s; if you build this provider, publish it for %s",
		document.Name, platform, platform)}
}

// lockCommand returns the command that adds the hashes of the source's packages to the
// lock file.
func (c *Checked) lockCommand() finding.Remedy {
	return finding.Remedy{Command: c.command(fmt.Sprintf("'%s@%s'", c.Selection.Address, c.Selection.Version))}
}

// command returns a lock command for the file and the source.
func (c *Checked) command(arguments string) string {
	command := "tofu-oci lock " + arguments
	if c.from != (template.Template{}) {
		command += " --from " + text.Quote(c.from.String())
	}
	if dir := filepath.Dir(c.File); dir != "." {
		command += " --root " + text.Quote(dir)
	}
	return command
}

func (c *Checked) add(platform, code, problem string, remedy finding.Remedy) {
	f := finding.New(finding.Error, code, problem, remedy)
	f.Subject = finding.Subject{
		File: c.File, Line: c.Selection.Line, Provider: c.Selection.Address.String(), Version: c.Selection.Version.String(), Platform: platform,
	}
	c.Findings = append(c.Findings, f)
}
