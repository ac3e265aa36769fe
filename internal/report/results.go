package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// WatchMirror returns the options of a run that is reported as it goes.
func (o *Report) WatchMirror(m mirror.Options) mirror.Options {
	m.Planned = func(items []mirror.Item) {
		o.run.plan(len(items))
		held := slices.DeleteFunc(slices.Clone(items), func(i mirror.Item) bool { return i.Held == nil })
		o.several = len(items)-len(held) > 1
	}
	m.LeftOut = o.LeaveAllOut
	m.Begun = func(i mirror.Item) { o.run.itemStarted(i.Requirement.Address, i.Version) }
	m.Ended = func(r mirror.Result) {
		o.run.itemFinished(r.Item.Requirement.Address, r.Item.Version, o.ReleasedItem(r))
	}
	m.Done = func(r mirror.Result) {
		if r.Err != nil {
			o.Failed(o.ReleasedItem(r), r.Err)
			return
		}
		if r.Item.Held != nil {
			o.Held(o.ReleasedItem(r), r.Item.Held)
			return
		}
		o.Mirrored(r.Repository, r.Published)
	}
	return m
}

// releasedItem is the result of a release that was to go to a repository.
func (o *Report) ReleasedItem(r mirror.Result) Item {
	if r.Err != nil {
		i := o.FailedItem(r.Item.Requirement, r.Item.Version, r.Repository, r.Err)
		i.Tag, i.Digest = cmp.Or(r.Published.Tag, i.Tag), r.Published.Digest.String()
		return i
	}
	if r.Item.Held != nil {
		return o.heldItem(r)
	}
	return o.MirroredItem(r.Repository, r.Published)
}

// FailedItem is the result of what failed; repository is empty where it is not known.
func (o *Report) FailedItem(r provider.Requirement, v provider.Version, repository string, err error) Item {
	i := Item{Provider: r.Address.String(), Version: r.Constraint.String(), Status: statusFailed, Repository: repository, Error: describeError(err)}
	if v != (provider.Version{}) {
		i.Version = v.String()
		if repository != "" {
			i.Tag = artifact.Tag(v)
		}
	}
	if refused, ok := errors.AsType[*trust.RefusedError](err); ok {
		i.Signature = describeVerdict(refused.Verdict)
	}
	return i
}

// mirroredItem is the result of a release that is in the repository.
func (o *Report) MirroredItem(repository string, r publish.Result) Item {
	i := Item{
		Provider: r.Address.String(), Version: r.Version.String(), Status: string(r.Status), DryRun: o.DryRun,
		Repository: repository, Tag: r.Tag, Digest: r.Digest.String(), SourceDigest: r.Source.String(), Unchecked: o.Unchecked,
		Slow: r.Slow, Added: r.Added, Attached: r.Attached, AnnotationsKept: r.AnnotationsKept,
		Signature: describeVerdict(r.Verdict), Denial: describeDenial(r.Denial),
	}
	if _, waits := artifact.ParsePending(r.Tag); waits && r.Denial == nil {
		i.Staged = stagedPending
	} else if r.Released {
		i.Staged = stagedReleased
	}
	i.Evidence = evidenceOf(r)
	for _, p := range r.Packages {
		var action string // a dry run does nothing, and does not ask what each zip would need
		switch {
		case o.DryRun:
		case p.Sent:
			action = "pushed"
		case p.Mounted:
			action = "mounted"
		default:
			action = "present"
		}
		i.Packages = append(i.Packages, describe(p.Package, action))
	}
	for _, platform := range r.Dropped {
		i.Dropped = append(i.Dropped, platform.String())
	}
	return i
}

// mirrored reports a release that is in the repository.
func (o *Report) Mirrored(repository string, r publish.Result) {
	i := o.MirroredItem(repository, r)
	if o.DryRun {
		if o.total == nil {
			o.total = &total{}
		}
		o.total.add(r)
	}
	status := i.Status
	if o.DryRun && r.Status != publish.Unchanged && r.Status != publish.Denied {
		status = "would be " + status
	}
	text := fmt.Sprintf("%s %s %s %s:%s", r.Address, r.Version, status, repository, r.Tag)
	if r.Digest != "" {
		text += "@" + r.Digest.String()
	}
	if i.Staged == stagedReleased {
		text += " (released already)"
	}
	if r.Moved > 0 {
		text += fmt.Sprintf(" (merged with another run's work %d times)", r.Moved)
	}
	signed := o.Verdict(r.Address, i.Version, r.Verdict)
	lines := &strings.Builder{}
	if r.Status != publish.Unchanged || o.Verbose {
		lines.WriteString(signed + describeEvidence(i.Evidence))
		writePackages(lines, i.Packages)
	}
	for _, platform := range i.Dropped {
		_, _ = fmt.Fprintf(lines, "  dropped %s, by force\n", platform)
	}
	for _, name := range r.Added {
		_, _ = fmt.Fprintf(lines, "  added %s\n", name)
	}
	for _, name := range r.Attached {
		_, _ = fmt.Fprintf(lines, "  attached %s\n", OneLine(name))
	}
	switch {
	case i.Staged == stagedPending && status != i.Status:
		lines.WriteString("  would wait for approval\n")
	case i.Staged == stagedPending:
		lines.WriteString("  waits for approval\n")
	case r.Denial != nil:
		_, _ = fmt.Fprintf(lines, "  denied: %s\n", OneLine(r.Denial.String()))
	}
	if r.Slow {
		lines.WriteString("  writing the tag took long: if other jobs published this version at the same time, run all of them again\n")
	}
	if r.Source != "" {
		_, _ = fmt.Fprintf(lines, "  the source has the same zips under %s: --force takes it over\n", r.Source)
	}
	if r.AnnotationsKept {
		lines.WriteString("  the annotations differ, which alone does not write a tag again\n")
	}
	if r.Digest != "" {
		o.digests = append(o.digests, r.Digest.String())
	}
	text += "\n" + lines.String()
	if r.Status == publish.Unchanged && lines.Len() == 0 && o.several && !o.Verbose {
		text = "" // the last line of the run counts it
	}
	o.Done(i, text)
}

// writePackages writes a row for each package.
func writePackages(w io.Writer, packages []PackageItem) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range packages {
		var column string
		if p.Action != "" {
			column = p.Action + "\t"
		}
		_, _ = fmt.Fprintf(table, "  %s\t%s%s\t%s\n", p.Platform, column, p.size(), OneLine(p.Filename))
	}
	_ = table.Flush()
}

// WatchPull returns the options of a pull that is reported as it goes, of n requirements. at
// returns the repository that a provider is looked for in, or "", and explained adds what to
// do to an error.
func (o *Report) WatchPull(n int, at func(provider.Address) string, explained func(error) error, m pull.ManyOptions) pull.ManyOptions {
	o.run.plan(n)
	m.Begun = func(r provider.Requirement, v provider.Version) { o.run.itemStarted(r.Address, v) }
	m.Ended = func(p pull.Pulled) {
		o.run.itemFinished(p.Requirement.Address, p.Version, o.PulledItem(p, at(p.Requirement.Address)))
	}
	done := m.Done
	m.Done = func(p pull.Pulled) {
		if p.Err != nil {
			p.Err = explained(p.Err)
			o.Failed(o.PulledItem(p, at(p.Requirement.Address)), p.Err)
			return
		}
		done(p)
		o.Pulled(p)
	}
	return m
}

// PulledItem is the result of a requirement; repository is where it was looked for,
// empty where only the source knows.
func (o *Report) PulledItem(p pull.Pulled, repository string) Item {
	if p.Err != nil {
		return o.FailedItem(p.Requirement, p.Version, repository, p.Err)
	}
	i := Item{Provider: p.Requirement.Address.String(), Version: p.Version.String(), Status: statusPulled}
	for _, r := range p.Packages {
		action := "pulled"
		if r.Kept {
			action = "kept"
		}
		one := describe(r.Package, action)
		one.Path, one.Sums, one.Evidence, one.Skipped = r.Path, &r.Sums, r.Evidence, r.Skipped
		i.Packages = append(i.Packages, one)
		i.Signature = describeVerdict(r.Verdict)
		i.Repository, i.Tag, i.Digest = r.Stored.Repository, r.Stored.Tag, r.Stored.Digest.String()
	}
	return i
}

// pulled reports the packages of a release that are in the directory.
func (o *Report) Pulled(p pull.Pulled) {
	i := o.PulledItem(p, "")
	lines := &strings.Builder{}
	table := tabwriter.NewWriter(lines, 0, 0, 2, ' ', 0)
	for _, one := range i.Packages {
		sums := "sums ok"
		if !*one.Sums {
			sums = "no sums"
		}
		_, _ = fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", one.Platform, one.Action, sums, OneLine(one.Path))
		for _, path := range one.Evidence {
			_, _ = fmt.Fprintf(table, "  \tevidence\t\t%s\n", OneLine(path))
		}
		for _, name := range one.Skipped {
			_, _ = fmt.Fprintf(table, "  \tskipped\t\t%s\n", OneLine(name))
		}
	}
	_ = table.Flush()
	signed := ""
	if len(p.Packages) > 0 {
		signed = o.Verdict(p.Requirement.Address, i.Version, p.Packages[0].Verdict)
	}
	o.Done(i, fmt.Sprintf("%s %s\n%s%s", i.Provider, i.Version, signed, lines))
}

// cells joins a table's row; empty cells at its end would be trailing spaces.
func cells(values ...string) string {
	for i, value := range values {
		values[i] = OneLine(value)
	}
	return strings.TrimRight(strings.Join(values, "\t"), "\t")
}

func describe(p provider.Package, action string) PackageItem {
	return PackageItem{
		Platform: p.Platform.String(), Filename: p.Filename, Digest: p.Digest.String(), Size: max(p.Size, 0), H1: p.H1, Action: action,
	}
}

// Size is for people.
func (p PackageItem) size() string {
	if p.Size == 0 {
		return "size unknown"
	}
	return Size(p.Size)
}

// Size writes a number of bytes for people.
func Size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	case n < 1000*1000*1000:
		return fmt.Sprintf("%.1f MB", float64(n)/1000/1000)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1000/1000/1000)
}

// heldItem is the result of a release that is held back.
func (o *Report) heldItem(r mirror.Result) Item {
	held := r.Item.Held
	return Item{
		Provider: held.Address.String(), Version: held.Version.String(), Status: statusHeld, DryRun: o.DryRun,
		Repository: r.Repository, Tag: artifact.Tag(held.Version), Published: dateText(held.Published), Eligible: dateText(held.Eligible),
	}
}

// held reports a release that is held back.
func (o *Report) Held(i Item, young *mirror.TooYoungError) {
	how := ""
	if young.Published.IsZero() {
		how = "; to take it all the same, name it: " + young.Address.String() + "@" + young.Version.String()
	}
	o.Note("%v%s", young, how)
	o.Done(i, "")
}

// dateText writes a version's date in RFC 3339; nothing for none.
func dateText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
