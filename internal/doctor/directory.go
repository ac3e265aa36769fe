package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// directory checks a template's image layouts, and whether their directory is writable.
// It doesn't read zips.
func (e *examination) directory(ctx context.Context, fixed bool) error {
	base := e.ref
	layouts := []catalog.Entry{{Reference: base}}
	var err error
	if !fixed {
		layouts, err = e.layouts(ctx)
	}
	if err == nil && len(layouts) == 0 {
		err = repository.ErrNoLayout
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, catalog.ErrTemplate): // the layouts can't be listed
	case err != nil:
		e.reportError(err)
	default:
		e.readLayouts(ctx, layouts)
	}
	repo, err := e.reopen(provider.Address{}, base)
	if err == nil && e.Push {
		e.pushLayout(ctx, repo)
	}
	return cmp.Or(ctx.Err(), err)
}

// layouts returns a template's image layouts with their providers.
func (e *examination) layouts(ctx context.Context) ([]catalog.Entry, error) {
	found, err := catalog.List(ctx, *e.Template, catalog.Options{Open: e.Repository})
	for _, ref := range found.Unknown {
		found.Entries = append(found.Entries, catalog.Entry{Reference: ref})
	}
	return found.Entries, err
}

// readLayouts reads the tags of image layouts and the manifests to which the tags
// point.
func (e *examination) readLayouts(ctx context.Context, layouts []catalog.Entry) {
	var findings []finding.Finding
	read, tags := 0, 0
	for _, l := range layouts {
		repo, err := e.reopen(l.Address, l.Reference)
		var layoutTags []string
		if err == nil {
			layoutTags, err = repo.Tags(ctx)
		}
		for _, tag := range layoutTags {
			if err == nil {
				findings, err = e.checkLayoutTag(ctx, repo, tag, findings)
			}
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			e.reportError(err)
			continue
		}
		read, tags = read+1, tags+len(layoutTags)
	}
	e.add(limitTagFindings(findings)...)
	if read == len(layouts) {
		e.report.Response = fmt.Sprintf("image layouts: %d, tags: %d", read, tags)
	}
}

// checkLayoutTag adds findings about a tag's missing or damaged content. It ignores
// tags of unrelated artifacts.
func (e *examination) checkLayoutTag(ctx context.Context, repo repository.Reader, tag string, findings []finding.Finding) ([]finding.Finding, error) {
	found, err := repository.Inspect(ctx, repo, tag, repository.DepthManifests)
	if err != nil {
		return findings, err
	}
	constraint := ""
	if v, ok := artifact.ParseTag(tag); ok {
		constraint = v.String()
	}
	add := func(part string) {
		findings = append(findings, finding.New(finding.Error, "artifact-broken", fmt.Sprintf("The %s of %s:%s is missing or damaged.", part, e.ref, tag), finding.Remedy{Command: e.mirrorCommand(constraint)}))
	}
	if found.Dangling {
		add("index")
	}
	for _, p := range found.Index.Platforms() {
		if f := found.At(p); f.Err != nil {
			add("manifest for " + p.String())
		}
	}
	return findings, nil
}
