package publish

import (
	"context"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// judge asks about the signature of what the tag is to name; of is what the source
// has.
func (p publisher) judge(ctx context.Context, r, of provider.Release) (provider.Verdict, error) {
	if p.options.Judge == nil {
		return provider.Verdict{}, nil
	}
	if p.can.Published {
		r = withKeysOf(r, of)
	}
	return p.options.Judge(ctx, r)
}

// approve signs what the tag is to name, where that is wanted, adds the keys that made
// its signature, and asks about it; of is what the source has.
func (p publisher) approve(ctx context.Context, r, of provider.Release) (provider.Release, provider.Verdict, error) {
	signed, err := p.tell(ctx, r)
	if err == nil {
		signed, err = p.sign(signed)
	}
	if err != nil {
		return r, provider.Verdict{}, err
	}
	verdict, err := p.judge(ctx, signed, of)
	return signed, verdict, err
}

// judgeAgain asks about the signature of what is there, where that is wanted, unless
// err says that looking at it has failed. What is unchanged was judged when it was
// put there.
func (p publisher) judgeAgain(ctx context.Context, done outcome, err error) (outcome, error) {
	if err != nil || p.options.Judge == nil || !p.options.Recheck {
		return done, err
	}
	if done.learned, err = p.ask(ctx, done.learned); err != nil {
		return done, err
	}
	var platforms []provider.Platform
	for _, r := range done.result.Packages {
		platforms = append(platforms, r.Package.Platform)
	}
	found, err := done.index.Deeper(ctx, p.repo, repository.DepthManifests, platforms...)
	if err != nil {
		return done, err
	}
	stored, err := oci.FromInspection(ctx, p.repo, found, p.address, p.version, platforms)
	if err != nil {
		return done, err
	}
	done.result.Verdict, err = p.judge(ctx, stored, *done.learned.release)
	return done, err
}

// withKeysOf gives the release with another's keys in place of its own: those which
// a repository holds are not what the source offers.
func withKeysOf(r, other provider.Release) provider.Release {
	isKeys := func(d provider.Document) bool { return d.Kind == provider.KindKeys }
	without := func(documents []provider.Document) []provider.Document {
		return slices.DeleteFunc(slices.Clone(documents), isKeys)
	}
	r.Packages = slices.Clone(r.Packages)
	for i, pkg := range r.Packages {
		r.Packages[i].Documents = without(pkg.Documents)
	}
	r.Documents = without(r.Documents)
	for _, d := range other.Documents {
		if isKeys(d) {
			r.Documents = append(r.Documents, d)
		}
	}
	return r
}
