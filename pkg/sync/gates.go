package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// readGates reads the gate blocks.
func (d *Declaration) readGates(blocks []labeled) error {
	var errs []error
	for _, b := range blocks {
		g := gate.Gate{Name: b.Label, Named: true}
		switch {
		case !targetName.MatchString(g.Name):
			errs = append(errs, stricthcl.Wrong(b.Range, "invalid name %q: must consist of up to 64 letters, digits, dots, dashes, and underscores", g.Name))
		case d.gates.Has(g.Name):
			errs = append(errs, stricthcl.Wrong(b.Range, "duplicate gate %q", g.Name))
		}
		onExpiry := ""
		err := parseArguments("gate", b.Range, b.Arguments, map[string]func(*hcl.Attribute) error{
			"command":   into(&g.Command, readCommand),
			"timeout":   into(&g.Timeout, readTimeout),
			"on":        into(&g.On, words(gate.Actions)),
			"needs":     into(&g.Needs, words(gate.Files)),
			"platforms": into(&g.Platforms, func(a *hcl.Attribute) ([]provider.Platform, error) { return list(a, provider.ParsePlatform) }),
			"env":       into(&g.Env, readVariables),
			"on_expiry": into(&onExpiry, oneOf[string]("report", "deny")),
		}, "command")
		errs = append(errs, err)
		g.DenyExpired = onExpiry == "deny"
		d.gates = append(d.gates, g)
	}
	return stricthcl.Join(errs...)
}

// readCommand reads a program and its arguments, which can contain duplicates.
func readCommand(a *hcl.Attribute) (command []string, err error) {
	err = stricthcl.Strings(a.Name, a.Expr, func(word string, _ hcl.Range) error {
		command = append(command, word)
		return nil
	})
	if err == nil && (len(command) == 0 || slices.Contains(command, "")) {
		err = stricthcl.Wrong(a.Expr.Range(), "%s must be a list of a program and its arguments", a.Name)
	}
	return command, err
}

func readTimeout(a *hcl.Attribute) (time.Duration, error) {
	d, err := age(a)
	if err == nil && d <= 0 {
		err = stricthcl.Wrong(a.Expr.Range(), "%s must be positive", a.Name)
	}
	return d, err
}

// words returns a function that reads a list of known words.
func words(known []string) func(*hcl.Attribute) ([]string, error) {
	return func(a *hcl.Attribute) ([]string, error) {
		return list(a, func(s string) (string, error) {
			if !slices.Contains(known, s) {
				return "", fmt.Errorf("unknown value %q: must be one of %q", s, known)
			}
			return s, nil
		})
	}
}

func readVariables(a *hcl.Attribute) ([]string, error) {
	return list(a, func(s string) (string, error) {
		if !variable.MatchString(s) {
			return "", errors.New("must contain the names of environment variables") // the value might be a secret
		}
		return s, nil
	})
}

// applyGates removes from t.tags the tags of denials that gates will reconsider, and
// finds released versions whose gate approval has expired.
func (o Options) applyGates(ctx context.Context, t *targetFacts, repo repository.Repository) error {
	if len(o.Declaration.gates) == 0 {
		return nil
	}
	t.expired = map[provider.Version]*repository.ExpiredError{}
	reconsidered := map[string]bool{}
	var failed error
	versions := slices.Concat(t.tags.Denied(), t.tags.Released())
	denied := len(t.tags.Denied())
	type state struct {
		version    provider.Version
		reconsider bool
		err        error
	}
	schedule.Each(ctx, len(versions), func(ctx context.Context, i int) (s state, goOn bool) {
		s.version = versions[i]
		if i < denied {
			var r repository.DecisionRecord
			r, _, s.err = repository.ReadDenial(ctx, repo, s.version)
			s.reconsider = o.Declaration.gates.Reconsider(r)
			return s, true
		}
		inspected, err := repository.Inspect(ctx, repo, artifact.Tag(s.version), repository.DepthIndex)
		if s.err = err; err == nil && inspected.Exists() {
			s.err = repository.CheckExpired(ctx, repo, inspected.Digest)
		}
		return s, true
	}, func(s state) {
		if expired, ok := errors.AsType[*repository.ExpiredError](s.err); ok {
			t.expired[s.version], s.err = expired, nil
		}
		reconsidered[artifact.DeniedTag(s.version)] = s.reconsider
		failed = errors.Join(failed, s.err)
	})
	t.tags = slices.DeleteFunc(slices.Clone(t.tags), func(tag string) bool { return reconsidered[tag] })
	return failed
}

// decideExpired adds the actions for released versions whose gate approval has expired.
func (d *decider) decideExpired(i int) {
	for _, v := range newestFirst(d.targets[i].expired) {
		expired, a := d.targets[i].expired[v], d.action(i, v)
		if !d.gates.DenyExpired(expired) {
			d.add(a, Hold, expired.Error())
			continue
		}
		a.Locked = d.lockedBy(v)
		d.add(a, Deny, expired.Error())
		d.states[i].changed[v], d.states[i].denied[v] = true, true
	}
}

// gated changes the result of an action if a gate or the rule for changed keys has
// denied the release or kept it pending. It then adds the reason to stopped, under the
// name of the repository that did not receive the release.
func (r *Result) gated(stopped map[string]string) {
	switch held := r.Published.Held; {
	case held != nil && r.Err == nil:
		r.Action.Kind, r.Action.Tag, r.Action.Reason = Stage, r.Published.Tag, held.Error()
		if r.Published.Status == publish.Unchanged {
			r.Action.Kind = Pending
		}
	case r.Published.Status == publish.Denied:
		r.Action.Kind, r.Action.Reason = Skip, r.Published.Denial.String()
	default:
		return
	}
	stopped[r.Action.Repository] = r.Action.Reason
}
