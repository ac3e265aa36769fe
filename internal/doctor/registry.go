package doctor

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// examineVersions selects a version like tofu init and examines it.
func (e *examination) examineVersions(ctx context.Context, repo repository.Reader) error {
	tags, err := repo.Tags(ctx)
	if err != nil {
		return err
	}
	e.report.Response = fmt.Sprintf("tags: %d", len(tags))
	e.add(CheckTags(tags, e.Wanted, e.method.Template)...)
	if err := e.checkShared(ctx, repo, tags); err != nil {
		return err
	}
	versions := artifact.Tags(tags).Released()
	if e.Lock != nil && e.Wanted.Constraint.Allows(e.Lock.Version) {
		v := e.Lock.Version
		if slices.Contains(versions, v) {
			return e.examineVersion(ctx, repo, v)
		}
		e.missing(ctx, repo, "lock-version-missing", v.Constraint(), fmt.Sprintf("The lock file selects version %s of %s, which does not exist in %s", v, e.Wanted.Address, e.ref))
		return nil
	}
	chosen, err := e.Wanted.Select(versions, 1)
	if err == nil {
		return e.examineVersion(ctx, repo, chosen[0])
	}
	if !e.IsTarget { // releases need not exist yet
		e.missing(ctx, repo, "version-missing", e.Wanted.Constraint, err.Error())
	}
	return nil
}

// missing adds a finding about a version that is missing, pending, or denied.
func (e *examination) missing(ctx context.Context, repo repository.Reader, code string, constraint provider.Constraint, problem string) {
	wanted := provider.Requirement{Address: e.Wanted.Address, Constraint: constraint}
	message, remedy := FindPending(ctx, repo, wanted, e.method.Template).Or(problem, finding.Remedy{Command: e.mirrorCommand(constraint.String())})
	e.addFinding(finding.Error, code, message, remedy)
}

func (e *examination) mirrorCommand(constraint string) string {
	return MirrorCommand(e.Wanted.Address, e.method.Template, constraint)
}

// MirrorCommand returns the shell command that mirrors or repairs a provider's
// releases. If the address is zero, the command contains the placeholder PROVIDER. If
// the template is zero, the command contains no repository, because the CLI
// configuration specifies it. Each constraint becomes one argument. An empty
// constraint, or an empty list, selects the newest version.
func MirrorCommand(a provider.Address, to template.Template, constraints ...string) string {
	return command("mirror", a, to, constraints...)
}

// PromoteCommand returns the shell command that approves a version. See
// [MirrorCommand].
func PromoteCommand(a provider.Address, to template.Template, v provider.Version) string {
	return command("promote", a, to, v.String())
}

// Restore returns the command that restores a release's missing content. The hint also
// covers releases that were not mirrored, because the repository doesn't record how a
// release was created. flags is empty or starts with a space. For a module,
// Restore returns only a hint.
func Restore(a provider.Address, to template.Template, v provider.Version, flags string) finding.Remedy {
	if a.IsModule() {
		return finding.Remedy{Hint: "push, mirror, or copy the module again" + strings.Replace(flags, " ", " with ", 1)}
	}
	return finding.Remedy{Hint: "mirror the release again; " + notMirrored(flags), Command: MirrorCommand(a, to, v.String()) + flags}
}

// Rebuild returns the command that replaces a release's documents and annotations with
// the origin registry's, even though the zips are correct. If the origin registry
// doesn't have the release, the command changes nothing. For a module, Rebuild returns
// only a hint.
func Rebuild(a provider.Address, to template.Template, v provider.Version) finding.Remedy {
	if a.IsModule() {
		return Restore(a, to, v, " --force")
	}
	remedy := Restore(a, to, v, " --against-origin --force")
	remedy.Hint = fmt.Sprintf("mirror the release again; if it was copied, copy it again with --force; if you published it, delete the tag %s, then publish the same zips again", artifact.Tag(v))
	return remedy
}

// notMirrored explains how to restore a release that was not mirrored.
func notMirrored(flags string) string {
	with := strings.Replace(flags, " ", " with ", 1)
	return "if it was copied, copy it again" + with + "; if you published it, publish the same zips again" + with
}

func command(name string, a provider.Address, to template.Template, constraints ...string) string {
	args := []string{"tofu-oci " + name}
	if len(constraints) == 0 {
		constraints = []string{""}
	}
	for _, constraint := range constraints {
		arg := "PROVIDER"
		switch {
		case a != provider.Address{} && constraint != "":
			arg = text.Quote(a.String() + "@" + constraint)
		case a != provider.Address{}:
			arg = text.Quote(a.String())
		}
		args = append(args, arg)
	}
	if to != (template.Template{}) {
		args = append(args, "--to", text.Quote(to.String()))
	}
	return strings.Join(args, " ")
}

// examineVersion checks a version, its index, and its package.
func (e *examination) examineVersion(ctx context.Context, repo repository.Reader, v provider.Version) error {
	e.report.Version, e.report.Tag = v.String(), artifact.Tag(v)
	subject := e.ref.String() + ":" + e.report.Tag
	found, err := repository.Inspect(ctx, repo, e.report.Tag, repository.DepthBlobs, e.Platform)
	if err != nil {
		return err
	}
	e.report.Digest = found.Digest.String()
	switch {
	case !found.Exists():
		return found.Absent
	case found.Dangling:
		e.addFinding(finding.Error, "artifact-broken", fmt.Sprintf("The index that the tag %s points to is missing or damaged.", subject), finding.Remedy{Command: e.mirrorCommand(v.String())})
		return nil
	case found.Format != nil:
		e.addFinding(finding.Error, "tag-not-provider", fmt.Sprintf("The tag %s does not point to a provider release in the format that OpenTofu expects: %v.", subject, found.Format), finding.Remedy{Command: e.mirrorCommand(v.String()) + " --force"})
		return nil //nolint:nilerr // the error is a finding
	case !found.HasPlatform(e.Platform):
		e.addFinding(finding.Error, "platform-missing", fmt.Sprintf("%s has no package for %s, only for %v.", subject, e.Platform, found.Index.Platforms()), finding.Remedy{Command: e.mirrorCommand(v.String()) + " --platform " + e.Platform.String()})
		return nil
	}
	e.checkOwner(subject, found)
	if ask := repo.Capabilities().Referrers; ask != nil {
		if _, supported, err := ask(ctx, found.Digest); err == nil {
			e.report.Referrers = &supported
		}
	}
	e.examinePackage(subject, found.Platforms[e.Platform])
	return nil
}

// examinePackage adds findings about a package.
func (e *examination) examinePackage(subject string, f repository.InspectedPackage) {
	repair := e.mirrorCommand(e.report.Version)
	addBroken := func(part string) {
		e.addFinding(finding.Error, "artifact-broken", fmt.Sprintf("The %s for %s of %s is missing or damaged.", part, e.Platform, subject), finding.Remedy{Command: repair})
	}
	if _, other := errors.AsType[*artifact.FormatError](f.Err); other {
		e.addFinding(finding.Error, "tag-not-provider", fmt.Sprintf("The manifest for %s of %s does not have the format that OpenTofu expects: %v.", e.Platform, subject, f.Err), finding.Remedy{Command: repair + " --force"})
		return
	}
	if f.Err != nil {
		addBroken("manifest")
		return
	}
	if v, known := artifact.ParseTag(e.report.Tag); known {
		if err := f.Package(e.Wanted.Address, v).CheckIdentity(); err != nil {
			e.addFinding(finding.Error, "name-differs", fmt.Sprintf("In %s, the zip for %s has an incorrect name: %v. OpenTofu ignores names and installs the zip anyway, but tofu-oci rejects it.", subject, e.Platform, err), finding.Remedy{Command: repair + " --force"})
		}
	}
	zip := f.Manifest.Zip.Digest
	e.report.Zip = zip.String()
	switch {
	case slices.Contains(f.Missing, zip):
		addBroken("zip")
		return
	case len(f.Missing) > 0:
		addBroken("documents")
	}
	e.add(CheckLock(e.Lock, e.Platform, zip)...)
}

// reportError adds a finding about an error from the registry or image layout.
func (e *examination) reportError(err error) {
	e.report.Response = err.Error()
	login := "tofu-oci login " + e.ref.Registry
	mirror := e.mirrorCommand(e.Wanted.Constraint.String())
	loginAndMirror := finding.Remedy{Command: login + "\n" + mirror}
	loggedIn := e.report.Login != nil && e.report.Login.Found
	switch {
	case e.IsTarget && errors.Is(err, repository.ErrNoRepository):
		e.addFinding(finding.Note, "repository-new", fmt.Sprintf("Repository %s does not exist yet.", e.ref), finding.Remedy{Command: mirror})
	case errors.Is(err, provider.ErrForbidden) && loggedIn:
		e.addFinding(finding.Error, "access-denied", fmt.Sprintf("The registry rejects the credentials for %s: they are invalid, they do not grant read access, or the repository does not exist.", e.ref), loginAndMirror)
	case errors.Is(err, provider.ErrForbidden):
		e.addFinding(finding.Error, "login-missing", fmt.Sprintf("The registry requires credentials for %s, but none were found. The repository might be private or might not exist.", e.ref), loginAndMirror)
	case errors.Is(err, repository.ErrNoRepository):
		problem, remedy := fmt.Sprintf("Repository %s does not exist", e.ref), finding.Remedy{Command: mirror}
		if !loggedIn && !e.ref.IsLayout() {
			problem += ", or it is private and visible only with credentials"
			remedy = loginAndMirror
		}
		remedy.Hint = "check the name of the repository; if it is correct, mirror the provider"
		e.addFinding(finding.Error, "repository-missing", problem+".", remedy)
	case errors.Is(err, repository.ErrUntagged):
		e.addFinding(finding.Error, "layout-failed", fmt.Sprintf("The image layout has no tags: %v.", err), finding.Remedy{Hint: "create the layout with tofu-oci copy, or add a tag with the program that created it"})
	case e.ref.IsLayout():
		e.addFinding(finding.Error, "layout-failed", fmt.Sprintf("The image layout cannot be read: %v.", err), finding.Remedy{Command: "ls -la " + text.Quote(e.ref.Layout)})
	default:
		e.addFinding(finding.Error, "registry-failed", fmt.Sprintf("%s cannot be read: %v.", e.ref, err), unreachable(err, e.ref.Registry))
	}
}

// unreachable returns the remedy for a registry that doesn't respond, or that doesn't
// accept the connection.
func unreachable(err error, registry string) finding.Remedy {
	if _, isUnknown := errors.AsType[x509.UnknownAuthorityError](err); isUnknown {
		return finding.Remedy{Hint: "if you trust the certificate authority of " + registry + ", add its certificate to the system's certificates, or specify it with --ca-file FILE for tofu-oci and SSL_CERT_FILE=FILE for OpenTofu (Linux)"}
	}
	if e, ok := errors.AsType[*httpclient.ClientCertificateError](err); ok {
		if e.Sent {
			return finding.Remedy{Hint: "check that the client certificate is valid and meant for " + registry}
		}
		return finding.Remedy{Hint: "specify the client certificate and its private key with --client-cert FILE and --client-key FILE; OpenTofu does not send client certificates, so " + withoutCertificate}
	}
	return finding.Remedy{Command: "curl -I https://" + registry + "/v2/"}
}

// maxOthers limits the number of additional releases that are checked. The newest
// releases show which providers are published in the repository.
const maxOthers = 10

var separateRepositories = finding.Remedy{Hint: "use a separate repository for each provider, for example with {hostname}, {namespace}, and {type} in the template"}

// checkOwner adds a finding if a release belongs to a different provider. OpenTofu
// ignores the annotation that contains the provider.
func (e *examination) checkOwner(subject string, found repository.Inspection) {
	foreign, ok := errors.AsType[*repository.ProviderMismatchError](found.CheckProvider(e.Wanted.Address, e.Aliases...))
	if ok {
		f := finding.New(finding.Error, "provider-differs", fmt.Sprintf("In %s, the provider in the release's annotation differs: %v. OpenTofu ignores this annotation and installs the release anyway, but tofu-oci rejects it.", e.ref, foreign), separateRepositories)
		if alias, ok := foreign.Alias(); ok {
			f.Remedy = finding.Remedy{
				Hint:    fmt.Sprintf("allow the stored provider with --alias %s, or mirror the correct provider", text.Quote(alias.String())),
				Command: e.mirrorCommand(e.report.Version) + " --force",
			}
		}
		e.add(f)
		return
	}
	if err := found.CheckProvider(e.Wanted.Address); err != nil {
		e.addFinding(finding.Note, "provider-aliased", fmt.Sprintf("%s contains the provider %s, which --alias allows.", subject, found.Index.Annotations[artifact.AnnotationProvider]),
			finding.Remedy{Hint: "no action is required if this is intended"})
	}
}

// checkShared looks for releases of different providers in the repository. OpenTofu
// treats such releases as versions of this provider.
func (e *examination) checkShared(ctx context.Context, repo repository.Reader, tags []string) error {
	versions := artifact.Tags(tags).Tagged()
	var first *repository.ProviderMismatchError
	own := false
	for _, v := range versions[:min(len(versions), maxOthers)] {
		found, err := repository.Inspect(ctx, repo, artifact.Tag(v), repository.DepthIndex)
		if err != nil {
			return err
		}
		if found.Format != nil || !found.Exists() {
			continue
		}
		foreign, ok := errors.AsType[*repository.ProviderMismatchError](found.CheckProvider(e.Wanted.Address, e.Aliases...))
		own = own || !ok
		if ok && first == nil {
			first = foreign
		}
	}
	if first != nil && own {
		e.addFinding(finding.Error, "repository-shared", fmt.Sprintf("The repository %s contains more than one provider: %v. OpenTofu treats all versions in it as versions of %s.", e.ref, first, e.Wanted.Address), separateRepositories)
	}
	return nil
}
