package sync

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

func (d *Declaration) readGates(blocks []labeled) error {
	var errs []error
	for _, b := range blocks {
		g := gate.Gate{Name: b.Label}
		switch {
		case !targetName.MatchString(g.Name):
			errs = append(errs, stricthcl.Errorf(b.Range, "invalid name %q: must consist of up to 64 letters, digits, dots, dashes, and underscores", g.Name))
		case d.gates.Has(g.Name):
			errs = append(errs, stricthcl.Errorf(b.Range, "duplicate gate %q", g.Name))
		}
		err := parseArguments("gate", b.Range, b.Arguments, map[string]func(*hcl.Attribute) error{
			"command":   into(&g.Command, readCommand),
			"timeout":   into(&g.Timeout, readTimeout),
			"on":        into(&g.On, words(gate.Actions)),
			"needs":     into(&g.Needs, words(gate.Files)),
			"platforms": into(&g.Platforms, func(a *hcl.Attribute) ([]provider.Platform, error) { return list(a, provider.ParsePlatform) }),
			"env":       into(&g.Env, readVariables),
		}, "command")
		errs = append(errs, err)
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
		err = stricthcl.Errorf(a.Expr.Range(), "%s must be a list of a program and its arguments", a.Name)
	}
	return command, err
}

func readTimeout(a *hcl.Attribute) (time.Duration, error) {
	d, err := age(a)
	if err == nil && d <= 0 {
		err = stricthcl.Errorf(a.Expr.Range(), "%s must be positive", a.Name)
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

// gated changes the result of an action if a gate or the rule for changed keys has
// denied the release or kept it pending. It then adds the reason to stopped, under the
// name of the repository that did not receive the release.
func (r *Result) gated(stopped map[string]string) {
	switch held := r.Published.Held; {
	case held != nil && r.Err == nil && r.Published.Tag == "": // a restored version
		r.Action.Kind, r.Action.Reason = Hold, held.Error()
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

// refuse changes the result of an action so that it isn't a failure if a gate has
// denied or held the release.
func (r *Result) refuse() {
	if denied, ok := errors.AsType[*repository.DeniedError](r.Err); ok && denied.Record.Gate != "" {
		r.Published.Status, r.Published.Denial, r.Err = publish.Denied, &denied.Record, nil
	}
	if held, ok := errors.AsType[*publish.HeldError](r.Err); ok {
		r.Published.Held, r.Err = held, held.Failure()
	}
}
