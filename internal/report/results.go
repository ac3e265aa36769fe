package report

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/description"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// WatchMirror returns m with additional callbacks that report the run.
func (o *Report) WatchMirror(m mirror.Options) mirror.Options {
	m.OnPlan = func(items []mirror.Item) {
		o.run.plan(len(items))
		held := slices.DeleteFunc(slices.Clone(items), func(i mirror.Item) bool { return i.Held == nil })
		o.manyReleases = o.manyReleases || len(items)-len(held) > 1
	}
	m.OnSkip = func(all []mirror.Skipped) {
		for _, one := range all {
			o.SkippedPreReleases(one.Address, one.PreReleases)
		}
	}
	m.OnStart = func(i mirror.Item) { o.run.itemStarted(i.Requirement.Address, i.Version) }
	m.OnFinish = func(r mirror.Result) {
		o.run.itemFinished(r.Item.Requirement.Address, r.Item.Version, o.releasedItem(r))
	}
	m.OnResult = func(r mirror.Result) {
		switch young := r.Item.Held; {
		case r.Err != nil:
			o.failed(o.releasedItem(r), r.Err)
		case young != nil:
			how := ""
			if young.Published.IsZero() {
				how = "; to mirror this version anyway, specify it exactly: " + young.Address.String() + "@" + young.Version.String()
			}
			o.Note("%v%s", young, how)
			o.done(o.releasedItem(r), "")
		default:
			o.mirrored(r.Repository, r.Published)
			for _, e := range r.Published.Omitted {
				o.Failed(r.Item.Requirement, r.Item.Version, r.Repository, &provider.Error{Op: "mirroring", Address: e.Address, Version: e.Version, Platform: e.Wanted, Err: e})
			}
		}
	}
	return m
}

// releasedItem returns the item for a release that mirror, copy, or publish processed.
func (o *Report) releasedItem(r mirror.Result) Item {
	if r.Err != nil {
		i := failedItem(r.Item.Requirement, r.Item.Version, r.Repository, r.Err)
		i.Tag, i.Digest = cmp.Or(r.Published.Tag, i.Tag), r.Published.Digest.String()
		return i
	}
	if held := r.Item.Held; held != nil {
		return Item{
			Provider: held.Address.String(), Version: held.Version.String(), Status: outcome.StatusHeld, DryRun: o.DryRun,
			Repository: r.Repository, Tag: artifact.Tag(held.Version), Published: dateText(held.Published), Eligible: dateText(held.Eligible),
		}
	}
	return o.mirroredItem(r.Repository, r.Published)
}

// failedItem returns the item for a requirement or version that failed. repository is
// empty if the repository is unknown.
func failedItem(r provider.Requirement, v provider.Version, repository string, err error) Item {
	i := Item{Provider: r.Address.String(), Version: r.Constraint.String(), Status: outcome.StatusFailed, Repository: repository, Error: outcome.DescribeError(err)}
	if v != (provider.Version{}) {
		i.Version = v.String()
		if repository != "" {
			i.Tag = artifact.Tag(v)
		}
	}
	if refused, ok := errors.AsType[*trust.RefusedError](err); ok {
		i.Signature = description.NewSignature(refused.Verdict)
	}
	return i
}

// mirroredItem returns the item for a release that is in the repository.
func (o *Report) mirroredItem(repository string, r publish.Result) Item {
	i := Item{
		Provider: r.Address.String(), Version: r.Version.String(), Status: string(r.Status), DryRun: o.DryRun,
		Repository: repository, Tag: r.Tag, Digest: r.Digest.String(), SourceDigest: r.Source.String(), Unchecked: o.Unchecked,
		Slow: r.Slow, Added: r.Added, Attached: r.Attached, AnnotationsKept: r.AnnotationsKept, Dropped: text.Strings(r.Dropped),
		Signature: description.NewSignature(r.Verdict), Denial: describeDenial(r.Denial),
	}
	if r.Held != nil {
		i.Held = r.Held.Error()
	}
	if _, waits := artifact.ParsePending(r.Tag); waits && r.Denial == nil {
		i.Staged = stagedPending
	} else if r.Released {
		i.Staged = stagedReleased
	}
	var packages []provider.Package
	for _, p := range r.Packages {
		packages = append(packages, p.Package)
		var action string // a dry run doesn't determine the action for each zip
		switch {
		case o.DryRun:
		case p.Sent:
			action = "pushed"
		case p.Mounted:
			action = "mounted"
		default:
			action = "present"
		}
		item := describePackage(p.Package, action)
		item.Warning = p.Warning
		i.Packages = append(i.Packages, item)
	}
	if r.Unattested != nil {
		i.Unattested = OneLine(r.Unattested.Error())
	}
	if r.Status != publish.Unchanged {
		i.Documents = documentItems(r.Documents, packages)
	}
	return i
}

// verdictAndWarnings returns the line about the signature and prints warnings about the
// signature, the attestations, and the packages.
func (o *Report) verdictAndWarnings(i Item, r publish.Result) string {
	if i.Unattested != "" {
		o.Warn("%s %s: attestations are unavailable: %s", i.Provider, i.Version, i.Unattested)
	}
	for _, p := range i.Packages {
		if p.Warning != "" {
			o.Warn("%s %s for %s: %s", i.Provider, i.Version, p.Platform, p.Warning)
		}
	}
	return o.verdict(r.Address, i.Version, r.Verdict)
}

// mirrored reports a release that is in the repository.
func (o *Report) mirrored(repository string, r publish.Result) {
	i := o.mirroredItem(repository, r)
	if o.DryRun {
		if o.plan == nil {
			o.plan = &dryRunPlan{}
		}
		o.plan.add(r)
	}
	status := i.Status
	if o.DryRun && r.Status != publish.Unchanged && r.Status != publish.Denied {
		status = "would be " + status
	}
	text := fmt.Sprintf("%s %s %s %s", r.Address, r.Version, status, reference(repository, r.Tag, i.Digest))
	if i.Staged == stagedReleased {
		text += " (already released)"
	}
	if r.Moved > 0 {
		text += fmt.Sprintf(" (merges with concurrent runs: %d)", r.Moved)
	}
	signed, about := o.verdictAndWarnings(i, r), ""
	if r.Status != publish.Unchanged || o.Verbose {
		about = signed + describeDocuments(i.Documents) + o.packageTable(i.Packages)
	}
	if r.Digest != "" {
		o.digests = append(o.digests, r.Digest.String())
	}
	about += detailed(i.details(r))
	if r.Status == publish.Unchanged && about == "" && o.manyReleases && !o.Verbose {
		o.done(i, "") // the run's summary line counts the item
		return
	}
	o.done(i, text+"\n"+about)
}

// reference returns a reference with the tag and, if known, the digest.
func reference(repository, tag, digest string) string {
	return strings.TrimSuffix(repository+":"+tag+"@"+digest, "@")
}

// details returns a line for each special case that applies to a release.
func (i Item) details(r publish.Result) []string {
	var details []string
	for _, platform := range i.Dropped {
		details = append(details, "dropped "+platform+" because of --force")
	}
	for _, name := range r.Added {
		details = append(details, "added "+name)
	}
	for _, name := range r.Attached {
		details = append(details, "attached "+name)
	}
	switch {
	case i.Staged == stagedPending && i.DryRun && r.Status != publish.Unchanged:
		details = append(details, "would need approval")
	case i.Staged == stagedPending && i.Held != "":
		details = append(details, i.Held, needsApproval)
	case i.Staged == stagedPending:
		details = append(details, needsApproval)
	case r.Denial != nil:
		details = append(details, "denied: "+r.Denial.String())
	}
	if r.Slow {
		details = append(details, outcome.SlowTag)
	}
	if r.Source != "" {
		details = append(details, fmt.Sprintf("the source stores the same zips under a different index, %s; to copy that index, use --force", r.Source))
	}
	if r.AnnotationsKept {
		details = append(details, "the annotations differ, but the existing ones were kept because nothing else changed")
	}
	return details
}

// detailed puts each string on an indented line.
func detailed(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return indented(joinLines(texts))
}

func (o *Report) packageTable(packages []PackageItem) string {
	var rows []string
	for _, p := range packages {
		columns := []string{"  " + p.Platform, p.Action, p.size(), p.Filename}
		if p.Action == "" {
			columns = slices.Delete(columns, 1, 2)
		}
		rows = append(rows, cells(columns...))
	}
	return o.table(rows)
}

// WatchPull returns m with additional callbacks that report the pull of n requirements.
// at returns a provider's repository, or "" if the repository is unknown. explained
// adds a hint to an error.
func (o *Report) WatchPull(n int, at func(provider.Address) string, explained func(error) error, m pull.ManyOptions) pull.ManyOptions {
	o.run.plan(n)
	selected := m.OnSelect
	m.OnSelect = func(r provider.Requirement, versions []provider.Version) {
		if more := len(versions) - 1; more > 0 {
			o.run.plan(more)
		}
		selected(r, versions)
	}
	m.OnStart = func(r provider.Requirement, v provider.Version) { o.run.itemStarted(r.Address, v) }
	m.OnFinish = func(p pull.Pulled) {
		o.run.itemFinished(p.Requirement.Address, p.Version, o.pulledItem(p, at(p.Requirement.Address)))
	}
	m.OnResult = func(p pull.Pulled) {
		if p.Err != nil {
			p.Err = explained(p.Err)
			o.failed(o.pulledItem(p, at(p.Requirement.Address)), p.Err)
			return
		}
		o.pulled(p)
	}
	return m
}

// pulledItem returns the item for a requirement. repository is empty if the repository
// is unknown.
func (o *Report) pulledItem(p pull.Pulled, repository string) Item {
	if p.Err != nil {
		return failedItem(p.Requirement, p.Version, repository, p.Err)
	}
	i := Item{Provider: p.Requirement.Address.String(), Version: p.Version.String(), Status: statusPulled}
	for _, r := range p.Packages {
		action := "pulled"
		if r.Kept {
			action = "kept"
		}
		one := describePackage(r.Package, action)
		one.Path, one.Checksum, one.DocumentFiles, one.Skipped = r.Path, &r.Sums, r.Documents, r.Skipped
		i.Packages = append(i.Packages, one)
		i.Signature = description.NewSignature(r.Verdict)
		i.Repository, i.Tag, i.Digest = r.Stored.Repository, r.Stored.Tag, r.Stored.Digest.String()
	}
	return i
}

// pulled reports the packages that were written.
func (o *Report) pulled(p pull.Pulled) {
	i := o.pulledItem(p, "")
	var rows []string
	for _, one := range i.Packages {
		checksum := "checksum ok"
		switch {
		case *one.Checksum:
		case p.Requirement.Address.IsModule():
			checksum = "digest ok"
		default:
			checksum = "no checksum"
		}
		rows = append(rows, cells("  "+one.Platform, one.Action, checksum, one.Path))
		for _, path := range one.DocumentFiles {
			rows = append(rows, cells("  ", "document", "", path))
		}
		for _, name := range one.Skipped {
			rows = append(rows, cells("  ", "skipped", "", name))
		}
	}
	signed := ""
	if len(p.Packages) > 0 {
		signed = o.verdict(p.Requirement.Address, i.Version, p.Packages[0].Verdict)
	}
	o.done(i, fmt.Sprintf("%s %s\n%s%s", i.Provider, i.Version, signed, o.table(rows)))
}

func describePackages(packages []provider.Package) (items []PackageItem) {
	for _, p := range packages {
		items = append(items, describePackage(p, ""))
	}
	return items
}

func describePackage(p provider.Package, action string) PackageItem {
	return PackageItem{Package: description.NewPackage(p), Action: action}
}

// size returns the size as text.
func (p PackageItem) size() string {
	if p.Size == 0 {
		return "size unknown"
	}
	return Size(p.Size)
}

// Size formats a number of bytes.
func Size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	size, units := float64(n)/1000, []string{"kB", "MB", "GB"}
	for size >= 1000 && len(units) > 1 {
		size, units = size/1000, units[1:]
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}

// dateText returns a version's date in RFC 3339 format. For the zero time, it returns
// "".
func dateText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
