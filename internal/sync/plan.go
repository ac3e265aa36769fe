package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Plan lists the actions that make repositories match a declaration. Identical facts
// result in identical plans.
type Plan struct {
	// Declaration identifies the declaration that the plan is for.
	Declaration PlannedFile `json:"declaration"`
	// Trust is the digest of the trust file. Without a trust file, it is empty.
	Trust digest.Digest `json:"trust,omitempty"`
	// Shard restricts the plan to the providers in a shard.
	Shard Shard `json:"shard,omitzero"`
	// CheckLevel is the name of the check level.
	CheckLevel string `json:"check_level"`
	// Actions contains the actions, sorted by provider, version, and target. For each
	// provider, removals and changes to sync records come last.
	Actions []Action `json:"items"`
	// Summary counts the providers, unchanged releases, and actions.
	Summary Summary `json:"summary"`

	// publisher and opened contain the publisher and the repositories for the actions.
	// Apply reuses them.
	publisher *publish.Publisher
	opened    map[string]repository.Repository
}

// PlannedFile identifies a file that is an input of a plan.
type PlannedFile struct {
	Path   string        `json:"path"`
	Digest digest.Digest `json:"digest"`
}

// Summary contains counts for a plan.
type Summary struct {
	// Providers is the number of providers in the shard.
	Providers int `json:"providers"`
	// Unchanged is the number of existing releases that need no action.
	Unchanged int `json:"unchanged"`
	// Actions is the number of actions of each kind. Kinds without actions are omitted.
	Actions map[Kind]int `json:"actions"`
}

// NewPlan compares the state of origin registries and repositories with a declaration.
// It changes nothing. Failures are actions of the kind [Fail]. If two providers or
// targets use the same repository, NewPlan returns an error of kind [provider.Misuse].
func NewPlan(ctx context.Context, o Options) (*Plan, error) {
	o = o.withDefaults()
	if o.Modules == nil && slices.ContainsFunc(o.Wanted, Wanted.IsModule) {
		return nil, errors.New("planning: Options.Modules is required")
	}
	if err := o.Declaration.CheckRepositories(o.Wanted); err != nil {
		return nil, err
	}
	p := &Plan{
		Declaration: PlannedFile{o.Declaration.Path, o.Declaration.Digest}, Trust: o.Trust, Shard: o.Shard, CheckLevel: o.Check.String(),
		publisher: o.Publisher, opened: map[string]repository.Repository{},
	}
	// 1. Determine the actions for each provider.
	var wanted []Wanted
	for _, w := range o.Wanted {
		if o.Shard.Has(w.Address) {
			wanted = append(wanted, w)
		}
	}
	r := rules{now: o.Now(), check: o.Check, denials: o.Declaration.Denials, gates: o.Declaration.gates, prune: o.Declaration.Prune}
	schedule.Each(ctx, len(wanted), func(ctx context.Context, i int) (planned, bool) {
		return o.planProvider(ctx, wanted[i], r), true
	}, p.add)
	// 2. Apply the rules that span several providers.
	var targets []string
	for _, t := range o.Declaration.Targets {
		targets = append(targets, t.Name)
	}
	p.Actions = applyRunLimits(p.Actions, o.Declaration, o.Shard, len(o.Problems) > 0, targets)
	// 3. Resolve the tags that are written or deleted.
	p.resolveTags(ctx)
	p.Summary.Providers = len(wanted)
	p.count()
	return p, ctx.Err()
}

func (o Options) withDefaults() Options {
	o.Check = cmp.Or(o.Check, repository.DepthIndex)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Publisher == nil {
		o.Publisher = &publish.Publisher{}
	}
	o.locked = nil
	for _, w := range o.Wanted {
		for _, r := range w.Requirements {
			if v, exact := r.Constraint.Exact(); exact && r.Hashes != nil {
				o.locked = o.locked.With(lockfile.Selection{Address: w.Address, Version: v, Hashes: r.Hashes})
			}
		}
	}
	if o.locked != nil {
		o.Source = lock.NewSource(o.Source, o.locked, lock.Options{AllowUnlocked: true, TempDir: o.TempDir, Progress: o.Publisher.Progress}, nil)
	}
	if o.OnStart == nil {
		o.OnStart = func(Action) {}
	}
	if o.OnResult == nil {
		o.OnResult = func(Result) {}
	}
	return o
}

// CheckRepositories returns an error of kind [provider.Misuse] if two of the selected
// providers and modules, or two targets, use the same repository. They would overwrite
// each other's tags. It also returns an error if the target of a module has no template
// for modules.
func (d *Declaration) CheckRepositories(wanted []Wanted) error {
	var errs []error
	taken := map[string]string{}
	for _, w := range wanted {
		for _, t := range d.targetsOf(w.Settings) {
			if !t.takes(w.Address) {
				errs = append(errs, provider.Errorf(provider.Misuse, "%s: module %s is mirrored to target %q, which lacks the argument modules", w.Requirements[0].From, w.Address, t.Name))
				continue
			}
			ref, err := t.repository(w.Address)
			if err != nil {
				continue // NewPlan reports this as a failure of the provider
			}
			name := w.Address.String() + " in target " + t.Name
			if other := taken[ref.String()]; other != "" {
				errs = append(errs, provider.Errorf(provider.Misuse, "%s and %s use the same repository %s; use more variables in the target templates", other, name, ref))
			}
			taken[ref.String()] = name
		}
	}
	return stricthcl.Join(errs...)
}

// TargetRepository is a repository of a target.
type TargetRepository struct {
	// Target is the name of the target.
	Target string
	// Repository is the zero value if no selected provider or module is mirrored to the
	// target.
	Repository template.Reference
}

// SampleRepositories returns a repository for each target: the repository of the first
// selected provider or module that is mirrored to the target.
func (d *Declaration) SampleRepositories(wanted []Wanted) (all []TargetRepository, err error) {
	for _, t := range d.Targets {
		r := TargetRepository{Target: t.Name}
		for _, w := range wanted {
			if r.Repository == (template.Reference{}) && slices.Contains(d.targetsOf(w.Settings), t) && t.takes(w.Address) {
				if r.Repository, err = t.repository(w.Address); err != nil {
					return nil, fmt.Errorf("target %q: %s: %w", t.Name, w.Address, err)
				}
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// add adds the actions for a provider. It keeps only repositories that an action
// changes.
func (p *Plan) add(one planned) {
	p.Summary.Unchanged += one.unchanged
	p.Actions = append(p.Actions, one.actions...)
	if !hasChanges(one.actions) {
		return
	}
	for _, repo := range one.repos {
		if repo != nil {
			p.opened[repo.String()] = repo
		}
	}
}

// resolveTags sets From for actions that move or delete tags. If the repository lists a
// tag that doesn't exist, From stays empty.
func (p *Plan) resolveTags(ctx context.Context) {
	n := 0
	schedule.Each(ctx, len(p.Actions), func(ctx context.Context, i int) (Action, bool) {
		a := p.Actions[i]
		switch a.Kind {
		case Deny, Restore, PruneTag, Delete:
			d, _, err := p.opened[a.Repository].Manifest(ctx, a.Tag)
			dangling, isDangling := errors.AsType[*repository.DanglingTagError](err)
			switch {
			case isDangling:
				a.From = dangling.Index.Digest
			case err == nil:
				a.From = d.Digest
			case !errors.Is(err, repository.ErrNotFound):
				a.Kind, a.Err = Fail, err
			}
		}
		return a, true
	}, func(a Action) {
		p.Actions[n] = a
		n++
	})
}

// count sets the number of actions of each kind in the summary.
func (p *Plan) count() {
	p.Summary.Actions = map[Kind]int{}
	for _, a := range p.Actions {
		p.Summary.Actions[a.Kind]++
	}
}

func hasChanges(actions []Action) bool {
	return slices.ContainsFunc(actions, func(a Action) bool { return a.Kind.Changes() })
}

// HasChanges reports whether the plan contains actions that change a repository.
func (p *Plan) HasChanges() bool { return hasChanges(p.Actions) }
