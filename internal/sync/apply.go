package sync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
	"github.com/tofu-oci/tofu-oci/pkg/store"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// maxMoves is the maximum number of times that an action is repeated because another
// run has moved a tag.
const maxMoves = 5

// errNotRemoved is returned for removals if another action for the repository has
// failed.
var errNotRemoved = provider.Errorf(provider.Refused, "nothing is removed, because another action for the repository failed")

// Apply performs the actions of a plan and reports all actions to OnResult. A failed
// action stops only the actions that depend on it: copies of its release, and removals
// in its repository. A later run continues where an interrupted run stopped. If ctx is
// canceled, Apply doesn't start any more releases and returns the context's error.
func (p *Plan) Apply(ctx context.Context, o Options) error {
	if p.opened == nil {
		return errors.New("applying a plan: the plan was not created by NewPlan")
	}
	if o.Publisher == nil {
		o.Publisher = p.publisher
	}
	x := &applier{Options: o.withDefaults(), opened: p.opened, wanted: map[provider.Address]Wanted{}, histories: map[string]*trust.SignerHistory{}, explained: map[string]bool{}}
	for _, w := range o.Wanted {
		x.wanted[w.Address] = w
	}
	units := unitsOf(p.Actions)
	schedule.Each(ctx, len(units), func(ctx context.Context, i int) ([]Result, bool) {
		return x.apply(ctx, units[i]), true
	}, func(results []Result) {
		for _, r := range results {
			x.OnResult(r)
		}
	})
	return ctx.Err()
}

// unit is a group of actions that are performed sequentially: the actions for one
// version, or the removals for one provider.
type unit struct {
	actions []Action
	*progress
}

// progress is the state that the units of a provider share.
type progress struct {
	// releases counts the unfinished units that publish or deny versions.
	releases sync.WaitGroup
	mu       sync.Mutex
	failed   map[string]bool // keys: repositories, and releases from releaseIn
}

func (p *progress) fail(a Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed[a.Repository], p.failed[releaseIn(a.Repository, a)] = true, true
}

// releaseIn returns a key for the release of an action in a repository.
func releaseIn(repository string, a Action) string { return repository + ":" + a.Version.String() }

// unitsOf divides the actions of a plan into units. It preserves the order, so the
// removals for a provider start after its other units.
func unitsOf(actions []Action) []unit {
	var units []unit
	for i, a := range actions {
		isNew := i == 0 || a.Provider != actions[i-1].Provider
		if isNew || a.Kind.phase() != actions[i-1].Kind.phase() || a.Kind.phase() == 0 && a.Version != actions[i-1].Version {
			shared := &progress{failed: map[string]bool{}}
			if !isNew {
				shared = units[len(units)-1].progress
			}
			if a.Kind.phase() == 0 {
				shared.releases.Add(1)
			}
			units = append(units, unit{progress: shared})
		}
		last := &units[len(units)-1]
		last.actions = append(last.actions, a)
	}
	return units
}

type applier struct {
	Options
	wanted map[provider.Address]Wanted

	opened    map[string]repository.Repository // by name; read-only
	mu        sync.Mutex
	histories map[string]*trust.SignerHistory
	// explained contains the pairs of removal kind and registry that a result has
	// already reported. Such a result explains that the registry doesn't delete tags or
	// manifests.
	explained map[string]bool
}

func (x *applier) apply(ctx context.Context, u unit) []Result {
	if u.actions[0].Kind.phase() > 0 {
		u.releases.Wait() // earlier units are already running, so this can't deadlock
		return x.remove(ctx, u)
	}
	defer u.releases.Done()
	src, done, err := x.shared(u.actions)
	defer done()
	results, stopped := make([]Result, len(u.actions)), map[string]string{}
	for i, a := range u.actions {
		r := Result{Action: a, Err: err}
		switch {
		case a.Kind == Fail:
			r.Err = a.Err
		case a.Kind == Conflict:
			r.Err = &repository.ConflictError{Release: a.Provider.String() + " " + a.Version.String(), Reasons: a.Conflicts}
		case stopped[a.Source] != "":
			r.Action.Kind, r.Action.Reason = Hold, stopped[a.Source]
			stopped[a.Repository] = r.Action.Reason
		case a.Kind.Changes() && err == nil:
			x.OnStart(a)
			r = x.release(ctx, u, a, src)
			r.gated(stopped)
		}
		if r.Err != nil {
			u.fail(a)
		}
		results[i] = r
	}
	return results
}

// shared returns the source of the releases that a unit mirrors. If a unit mirrors to
// several targets, the source stores the zips, so that each zip is downloaded only
// once. Call done to remove the stored zips.
func (x *applier) shared(actions []Action) (src provider.Source, done func(), err error) {
	n := 0
	for _, a := range actions {
		switch a.Kind {
		case Mirror, Stage, Extend, Repair:
			if a.Source == "" && !a.Provider.IsRegistryModule() {
				n++
			}
		}
	}
	if n < 2 {
		return x.Source, func() {}, nil
	}
	dir, err := atomicfile.NewScratchDir(x.TempDir)
	if err != nil {
		return nil, func() {}, fmt.Errorf("storing zips for several targets: %w", err)
	}
	done = func() { _ = os.RemoveAll(dir) }
	zips, err := store.Open(dir, store.Options{})
	return source.NewCached(x.Source, zips, source.CacheOptions{}), done, err
}

// release performs an action for a release.
func (x *applier) release(ctx context.Context, u unit, a Action, src provider.Source) Result {
	r := Result{Action: a}
	repo := x.opened[a.Repository]
	switch a.Kind {
	case Restore:
		r.Err = retryOnTagMove(ctx, func() error { return x.restore(ctx, repo, a) })
		isLost := errors.Is(r.Err, approval.ErrIncomplete) || errors.Is(r.Err, approval.ErrNotPending)
		if isLost || r.Err == nil && x.Check > repository.DepthTags { // the declaration can select other platforms now
			r.Published, r.Err = x.publishTo(ctx, u, a, src, repo)
		}
		if isLost && r.Err == nil && r.Published.Tag == artifact.Tag(a.Version) {
			r.Err = retryOnTagMove(ctx, func() error { return x.restore(ctx, repo, a) }) // deletes the pruned tag
		}
		if r.Published.Status == publish.Unchanged && r.Published.Held == nil {
			r.Published = publish.Result{} // only the tag was restored
		}
		r.refuse()
	case Deny:
		r.Err = retryOnTagMove(ctx, func() error { return x.deny(ctx, repo, a) })
	default:
		r.Published, r.Err = x.publishTo(ctx, u, a, src, repo)
	}
	for _, e := range r.Published.Omitted {
		if r.Err == nil {
			r.Err = e // the other platforms are stored
		}
	}
	for _, pkg := range r.Published.Packages {
		if pkg.Sent {
			r.Bytes += max(pkg.Package.Size, 0)
		}
	}
	return r
}

// publishTo mirrors or copies a release to a repository.
func (x *applier) publishTo(ctx context.Context, u unit, a Action, src provider.Source, repo repository.Repository) (publish.Result, error) {
	s := x.wanted[a.Provider].Settings
	options, policy := x.publishOptions(s), x.Policy
	policy.Mode = s.Signatures
	if a.Source == "" {
		if !a.Provider.IsRegistryModule() { // module registries have no signatures
			policy.History = x.history(a, s, repo)
			options.Verify = s.KeyChange.refusing(policy.VerifyOffered)
			options.Gates = s.KeyChange.holding(x.Declaration.gates)
		}
		o := x.Options
		o.Source = src
		return o.publish(ctx, nil, repo, a.Provider, a.Version, options)
	}
	u.mu.Lock()
	failed := u.failed[releaseIn(a.Source, a)]
	u.mu.Unlock()
	if failed {
		return publish.Result{}, provider.Errorf(provider.Refused, "the source is not up to date, because an action for %s failed", a.Source)
	}
	if !a.Provider.IsRegistryModule() {
		options.Verify = policy.VerifySignature
	}
	return x.publish(ctx, x.opened[a.Source], repo, a.Provider, a.Version, options)
}

// history returns the signer history of a repository. The keys of its releases are
// compared with the keys of new releases.
func (x *applier) history(a Action, s Settings, repo repository.Repository) *trust.SignerHistory {
	x.mu.Lock()
	defer x.mu.Unlock()
	h := x.histories[a.Repository]
	if h == nil {
		open := func(provider.Address) (repository.Reader, error) { return x.Publisher.Reader(repo), nil }
		h = &trust.SignerHistory{Source: oci.New(open, s.Aliases...)}
		x.histories[a.Repository] = h
	}
	return h
}

// restore moves a pruned version back to its tag, under the same conditions as when it was
// published.
func (x *applier) restore(ctx context.Context, repo repository.Repository, a Action) error {
	s := x.wanted[a.Provider].Settings
	o := approval.PromoteOptions{Aliases: s.Aliases, Gates: x.Declaration.gates.Option(), Signer: x.publishOptions(s).RecordSigner}
	action := publish.ActionMirror
	switch {
	case a.Provider.IsRegistryModule():
		action = publish.ActionModule
	case a.Source != "":
		action = publish.ActionCopy
	}
	if !a.Provider.IsRegistryModule() {
		policy := x.Policy
		policy.Mode = s.Signatures
		o.Verify = policy.VerifySignature
	}
	_, err := approval.Restore(ctx, x.Publisher.Repository(repo), storedAs(a.Provider, repo.String()), a.Version, action, o)
	return err // an error about the pruned tag is harmless
}

// deny denies a version because of a deny block or, if the action has a source, because the
// source denies it. The reason comes from the block or the source, not from the plan.
func (x *applier) deny(ctx context.Context, repo repository.Repository, a Action) error {
	record, err := x.denial(ctx, a)
	if err != nil {
		return err
	}
	s := x.wanted[a.Provider].Settings
	o := approval.DenyOptions{Aliases: s.Aliases, Signer: x.publishOptions(s).RecordSigner}
	_, err = approval.Withdraw(ctx, repo, storedAs(a.Provider, repo.String()), a.Version, record, o)
	return err
}

// denial returns the denial on which an action of the kind [Deny] is based.
func (x *applier) denial(ctx context.Context, a Action) (record repository.DecisionRecord, err error) {
	if a.Source != "" {
		record, denied, err := repository.ReadDenial(ctx, x.opened[a.Source], a.Version)
		if err == nil && !denied {
			err = fmt.Errorf("%s does not deny this version", a.Source)
		}
		return record, err
	}
	i := slices.IndexFunc(x.Declaration.Denials, func(block Denial) bool { return block.Denies(a.Provider, a.Version) })
	if i < 0 {
		return record, errors.New("the declaration does not deny this version")
	}
	record.Repository, record.Reason, record.By = "the declaration", x.Declaration.Denials[i].Reason, x.Declaration.Denials[i].By
	return record, nil
}

// retryOnTagMove calls do, and repeats the call if another run has moved a tag.
func retryOnTagMove(ctx context.Context, do func() error) error {
	for moves := 0; ; moves++ {
		if err := do(); !errors.Is(err, repository.ErrTagMoved) || moves == maxMoves || ctx.Err() != nil {
			return err
		}
	}
}
