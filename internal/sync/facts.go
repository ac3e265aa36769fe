package sync

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// planned is the plan for one provider.
type planned struct {
	decision
	repos []repository.Repository
}

// planProvider gathers facts about a provider until they are sufficient for a decision.
// It reads only the facts that the decision needs.
func (o Options) planProvider(ctx context.Context, w Wanted, r rules) planned {
	f, repos := o.gather(ctx, w)
	for {
		d := decide(f, r)
		if d.isComplete() || ctx.Err() != nil {
			return planned{d, repos}
		}
		mirror.FetchDates(ctx, o.source(w.Address), w.Address, provider.NewestFirst(d.undated), f.dates)
		for i, versions := range d.unchecked {
			o.checkReleases(ctx, f, i, repos, versions)
		}
	}
}

// gather reads the versions of a provider, and the tags of its repositories.
func (o Options) gather(ctx context.Context, w Wanted) (facts, []repository.Repository) {
	f := facts{wanted: w, dates: mirror.Dates{}}
	if w.needsVersions() {
		f.versions, f.err = o.source(w.Address).Versions(ctx, w.Address)
	}
	var repos []repository.Repository
	for _, t := range o.Declaration.targetsOf(w.Settings) {
		from := slices.IndexFunc(f.targets, func(other targetFacts) bool { return other.name == t.From })
		one := targetFacts{name: t.Name, from: from, writes: slices.Contains(w.Settings.Targets, t.Name), checks: map[provider.Version]check{}}
		repo, err := o.open(t, w.Address)
		if err == nil {
			one.repository = repo.String()
			err = o.readTarget(ctx, &one, repo)
		}
		one.err = err
		f.targets, repos = append(f.targets, one), append(repos, repo)
	}
	return f, repos
}

func (o Options) source(a provider.Address) provider.Source {
	if a.IsRegistryModule() {
		return o.Modules
	}
	return o.Source
}

func (o Options) open(t Target, a provider.Address) (repository.Repository, error) {
	ref, err := t.repository(a)
	if err != nil {
		return nil, err
	}
	return o.Open(ref)
}

// needsVersions reports whether a requirement can match more than one version.
func (w Wanted) needsVersions() bool {
	return !w.Settings.None && slices.ContainsFunc(w.Requirements, func(r Requirement) bool {
		_, exact := w.exact(r)
		return !exact
	})
}

// exact returns the version that a requirement specifies exactly. This version is
// always selected, except by a provider block that selects nothing.
func (w Wanted) exact(r Requirement) (provider.Version, bool) {
	v, exact := r.Constraint.Exact()
	return v, exact && (r.Locked || !w.Settings.None || r.Constraint.String() != w.Settings.Versions.String())
}

// targetsOf returns the targets in the settings of a provider, and the targets that
// they copy from. Sources precede their copies.
func (d *Declaration) targetsOf(s Settings) []Target {
	needed := map[string]bool{}
	for _, t := range slices.Backward(d.Targets) {
		if slices.Contains(s.Targets, t.Name) || needed[t.Name] {
			needed[t.Name], needed[t.From] = true, true
		}
	}
	return slices.DeleteFunc(slices.Clone(d.Targets), func(t Target) bool { return !needed[t.Name] })
}

// readTarget reads the tags of a repository, and its sync record if it has one.
func (o Options) readTarget(ctx context.Context, t *targetFacts, repo repository.Repository) error {
	tags, err := o.Publisher.Reader(repo).Tags(ctx)
	switch {
	case errors.Is(err, provider.ErrForbidden):
		t.unlisted = true
		return nil
	case errors.Is(err, repository.ErrNoRepository), errors.Is(err, repository.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if t.tags, err = installable(ctx, repo, tags); err != nil {
		return err
	}
	if t.writes && slices.Contains(tags, artifact.SyncTag) {
		t.record, t.recordErr = repository.ReadSyncRecord(ctx, repo)
	}
	return nil
}

// installable returns the tags without those that point to an empty index. Denied
// versions have such tags if the registry doesn't delete tags.
func installable(ctx context.Context, repo repository.Repository, tags artifact.Tags) (artifact.Tags, error) {
	for _, v := range tags.Denied() {
		tag := artifact.Tag(v)
		if !slices.Contains(tags, tag) {
			continue
		}
		i, err := repository.Inspect(ctx, repo, tag, repository.DepthIndex)
		if err != nil {
			return nil, err
		}
		if i.IsDenial() {
			tags = slices.DeleteFunc(slices.Clone(tags), func(other string) bool { return other == tag })
		}
	}
	return tags, nil
}

// checkReleases checks existing releases with dry runs.
func (o Options) checkReleases(ctx context.Context, f facts, i int, repos []repository.Repository, versions []provider.Version) {
	t := f.targets[i]
	options := o.publishOptions(f.wanted.Settings)
	options.DryRun = true
	n := 0
	schedule.Each(ctx, len(versions), func(ctx context.Context, n int) (check, bool) {
		var source repository.Reader
		if t.from >= 0 {
			source = repos[t.from]
		}
		done, err := o.publish(ctx, source, repos[i], f.wanted.Address, versions[n], options)
		for _, p := range done.Packages {
			p.Package.Address, p.Package.Version = f.wanted.Address, versions[n]
			err = cmp.Or(err, o.locked.Check(p.Package))
		}
		return check{done.Plan, err}, true
	}, func(c check) {
		t.checks[versions[n]] = c
		n++
	})
}

// publishOptions returns the options for the releases of a provider.
func (o Options) publishOptions(s Settings) publish.Options {
	return publish.Options{Platforms: s.Platforms, Aliases: s.Aliases, Stage: s.Stage, Attestations: s.Attestations, AutoSBOM: s.AutoSBOM, Check: o.Check, SkipDenied: true, Gates: o.Declaration.gates.Option()}
}

// publish copies a release if from is not nil. Otherwise, it mirrors the release.
func (o Options) publish(ctx context.Context, from repository.Reader, to repository.Repository, a provider.Address, v provider.Version, options publish.Options) (publish.Result, error) {
	if from == nil && a.IsRegistryModule() {
		return o.PublishModule(ctx, to, a, v, options)
	}
	if from == nil {
		options.Platforms = o.existing(ctx, a, v, options.Platforms)
		options.Operation = "mirroring"
		return o.Publisher.Release(ctx, o.Source, to, a, v, options)
	}
	options.Platforms, options.Stage, options.Attestations, options.AutoSBOM = nil, false, "", false
	done, err := o.Publisher.Copy(ctx, o.Publisher.Reader(from), to, storedAs(a, to.String()), v, options)
	done.Address = a
	return done, err
}

// existing returns the declared platforms that a release has. If the release has none
// of them, or if the source can't list platforms, existing returns all declared
// platforms. In both cases, publishing reports any error.
func (o Options) existing(ctx context.Context, a provider.Address, v provider.Version, declared []provider.Platform) []provider.Platform {
	list := provider.CapabilitiesOf(o.Source).Platforms
	if len(declared) == 0 || list == nil {
		return declared
	}
	has, err := list(ctx, a, v)
	found := slices.DeleteFunc(slices.Clone(declared), func(p provider.Platform) bool { return !slices.Contains(has, p) })
	if err != nil || len(found) == 0 {
		return declared
	}
	return found
}
