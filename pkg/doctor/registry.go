package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// version chooses a version, as tofu init does, and follows it.
func (e *examination) version(ctx context.Context, repo Repository) error {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return err
	}
	e.report.Answer = fmt.Sprintf("%d tags", len(tags))
	e.add(CheckTags(tags, e.Wanted, e.method.Template)...)
	versions := []provider.Version{}
	for _, tag := range tags {
		if v, ok := artifact.ParseTag(tag); ok {
			versions = append(versions, v)
		}
	}
	var v provider.Version
	if e.Lock.Locked && e.Wanted.Constraint.Allows(e.Lock.Version) {
		v = e.Lock.Version
		if !slices.Contains(versions, v) {
			e.find(Error, "lock-version-missing", fmt.Sprintf("The lock file has version %s of %s, which is not in %s.", v, e.Wanted.Address, e.ref), e.mirror(v.String()))
			return nil
		}
	} else {
		chosen, err := e.Wanted.Select(versions, 1)
		if err != nil {
			e.find(Error, "version-missing", err.Error()+".", e.mirror(e.Wanted.Constraint.String()))
			return nil //nolint:nilerr // it is a finding
		}
		v = chosen[0]
	}
	return e.packaged(ctx, repo, v)
}

func (e *examination) mirror(constraint string) string {
	return mirrorCommand(e.Wanted.Address, constraint, e.method.Template)
}

func mirrorCommand(a provider.Address, constraint string, to template.Template) string {
	source := a.String()
	if constraint != "" {
		source += "@" + constraint
	}
	return "tofu-oci mirror " + quoted(source) + " --to " + quoted(to.String())
}

// packaged follows a version to its zip.
func (e *examination) packaged(ctx context.Context, repo Repository, v provider.Version) error {
	e.report.Version, e.report.Tag = v.String(), artifact.Tag(v)
	what := e.ref.String() + ":" + e.report.Tag
	d, data, err := repo.Manifest(ctx, e.report.Tag)
	if err != nil {
		return err
	}
	e.report.Digest = d.Digest.String()
	if api, ok := repo.(referrersAPI); ok {
		if _, supported, err := api.Referrers(ctx, d.Digest); err == nil {
			e.report.Referrers = &supported
		}
	}
	index, err := artifact.ParseIndex(data)
	if err != nil {
		e.find(Error, "tag-not-provider", fmt.Sprintf("The tag %s does not name a provider as OpenTofu wants it: %v.", what, err), e.mirror(v.String())+" --force")
		return nil
	}
	target, found := index.Target(e.Platform)
	if !found {
		e.find(Error, "platform-missing", fmt.Sprintf("%s has no package for %s, only for %v.", what, e.Platform, index.Platforms()), e.mirror(v.String())+" --platform "+e.Platform.String())
		return nil
	}
	_, data, err = repo.Manifest(ctx, target.Descriptor.Digest.String())
	if errors.Is(err, artifact.ErrNotFound) {
		e.find(Error, "artifact-broken", fmt.Sprintf("The manifest for %s of %s is missing.", e.Platform, what), e.mirror(v.String()))
		return nil
	} else if err != nil {
		return err
	}
	manifest, err := artifact.ParseManifest(data)
	if err != nil {
		e.find(Error, "tag-not-provider", fmt.Sprintf("The manifest for %s of %s is not as OpenTofu wants it: %v.", e.Platform, what, err), e.mirror(v.String())+" --force")
		return nil
	}
	zip := manifest.Zip.Digest
	e.report.Zip = zip.String()
	if _, err := repo.Stat(ctx, zip); errors.Is(err, artifact.ErrNotFound) {
		e.find(Error, "artifact-broken", fmt.Sprintf("The zip for %s of %s is missing.", e.Platform, what), e.mirror(v.String()))
		return nil
	} else if err != nil {
		return err
	}
	e.add(CheckLock(e.Lock, e.Wanted.Address, e.Platform, zip)...)
	return nil
}

// refused explains an error of the registry.
func (e *examination) refused(err error) {
	e.report.Answer = err.Error()
	login := "docker login " + e.ref.Registry
	mirror := e.mirror(e.Wanted.Constraint.String())
	loggedIn := e.report.Login != nil && e.report.Login.Found
	switch {
	case errors.Is(err, provider.ErrDenied) && loggedIn:
		e.find(Error, "access-denied", fmt.Sprintf("The registry refuses the login for %s: it is wrong, or may not read the repository, or there is no such repository.", e.ref), login+"\n"+mirror)
	case errors.Is(err, provider.ErrDenied):
		e.find(Error, "login-missing", fmt.Sprintf("The registry wants a login for %s, and there is none; the repository may be private, or not exist.", e.ref), login+"\n"+mirror)
	case errors.Is(err, artifact.ErrNoRepository):
		problem := fmt.Sprintf("There is no repository %s", e.ref)
		if !loggedIn {
			problem += ", or it is private and hidden from those who are not logged in"
			mirror = login + "\n" + mirror
		}
		e.find(Error, "repository-missing", problem+".", mirror)
	default:
		e.find(Error, "registry-failed", fmt.Sprintf("%s cannot be read: %v.", e.ref, err), "curl -I https://"+e.ref.Registry+"/v2/")
	}
}
