package main

import (
	"context"

	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
)

// leftOutItem are versions that --all does not mean.
type leftOutItem struct {
	Provider string `json:"provider"`
	// PreReleases are newest first; each is taken when it is named exactly.
	PreReleases []string `json:"pre_releases"`
}

// leaveOut keeps what was left out, to say so at the end.
func (o *output) leaveOut(a provider.Address, preReleases []provider.Version) {
	if len(preReleases) == 0 {
		return
	}
	i := leftOutItem{Provider: a.String()}
	for _, v := range preReleases {
		i.PreReleases = append(i.PreReleases, v.String())
	}
	o.leftOut = append(o.leftOut, i)
}

// leaveAllOut does so for all providers of a run.
func (o *output) leaveAllOut(all []mirror.LeftOut) {
	for _, one := range all {
		o.leaveOut(one.Address, one.PreReleases)
	}
}

// sayLeftOut says how many pre-releases were left out, and how to take one.
func (o *output) sayLeftOut() {
	count := 0
	for _, i := range o.leftOut {
		count += len(i.PreReleases)
	}
	if count > 0 {
		first := o.leftOut[0]
		o.note("%s left out: name one to take it, such as %s@%s", counted(count, "pre-release"), first.Provider, first.PreReleases[0])
	}
}

// warnDenied reports the denied versions that would otherwise have been chosen for a
// requirement, of which n were wanted, or all if n is 0. chosen are the chosen versions.
func (o *output) warnDenied(ctx context.Context, src provider.Source, r provider.Requirement, n int, chosen ...provider.Version) {
	for _, v := range source.Denied(ctx, src, r, n, chosen) {
		o.warn("%s %s is denied, and skipped", r.Address, v)
	}
}

// warnDeniedLocked is warnDenied for a version that was chosen for a lock file.
func (o *output) warnDeniedLocked(ctx context.Context, src provider.Source, l lock.Locked, upgrade bool) {
	constraint, err := l.Wanted.Constraint.And(l.Wanted.Narrower)
	if err != nil || l.Err != nil || l.Was != nil && !upgrade {
		return
	}
	o.warnDenied(ctx, src, provider.Requirement{Address: l.Wanted.Address, Constraint: constraint}, 1, l.Selection.Version)
}
