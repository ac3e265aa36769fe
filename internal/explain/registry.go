package explain

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// product is a kind of registry that can be told by its host name.
type product string

const (
	ecr       product = "ECR"
	ghcr      product = "GHCR"
	gitlab    product = "GitLab"
	dockerHub product = "Docker Hub"
	quay      product = "Quay"
	harbor    product = "Harbor"
	azure     product = "Azure"
	other     product = ""
)

// productAt knows hosted registries, and those of one's own by their habitual
// names.
func productAt(registry string) product {
	host, _, _ := strings.Cut(strings.ToLower(registry), ":")
	switch {
	case strings.Contains(host, ".dkr.ecr.") || strings.Contains(host, ".dkr-ecr.") || host == "public.ecr.aws":
		return ecr
	case host == "ghcr.io":
		return ghcr
	case host == "docker.io" || strings.HasSuffix(host, ".docker.io"):
		return dockerHub
	case host == "quay.io" || strings.HasPrefix(host, "quay."):
		return quay
	case strings.Contains(host, "gitlab"):
		return gitlab
	case strings.Contains(host, "harbor"):
		return harbor
	case strings.HasSuffix(host, ".azurecr.io"):
		return azure
	}
	return other
}

// fetchingManifest is what pkg/repository says that it did when it read a manifest.
const fetchingManifest = "fetching manifest"

// refusal is what is known of a registry's no.
type refusal struct {
	err  error
	from product
	// name is the repository's, without the registry.
	name string
	// doing is what was tried.
	doing  string
	status int
	// writing tells that something was to be stored, plain that it was by http.
	writing, plain bool
	// text is the registry's code and explanation in lower case.
	text string
}

func refusalOf(err error) (refusal, bool) {
	about, ok := errors.AsType[*repository.Error](err)
	if !ok {
		return refusal{}, false
	}
	r := refusal{err: err, from: productAt(about.Registry), name: about.Name, writing: about.Writing, doing: about.Op}
	if e, ok := errors.AsType[*repository.ResponseError](err); ok {
		r.status, r.text = e.Status, strings.ToLower(e.Code+" "+e.Message)
		r.plain = strings.HasPrefix(e.URL, "http://")
	}
	return r, true
}

// says reports whether the registry's words have one of these in them.
func (r refusal) says(texts ...string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(r.text, t) })
}

func (r refusal) denied() bool  { return errors.Is(r.err, provider.ErrDenied) }
func (r refusal) missing() bool { return errors.Is(r.err, repository.ErrNoRepository) }

// notTaken is the answer of registries with a list of media types.
func (r refusal) notTaken() bool {
	return r.status == http.StatusUnsupportedMediaType ||
		r.says("unknown media type", "unknown mediatype", "unsupported media type", "does not match schema") && r.says("manifest", "media type")
}

func (r refusal) immutable() bool {
	return r.says("immutable", "tagalreadyexists", "tag already exists")
}

// privateRealm and foreignRealm are token services that get no login.
func (r refusal) privateRealm() bool {
	e, ok := errors.AsType[*repository.RealmError](r.err)
	return ok && e.Private
}

func (r refusal) foreignRealm() bool { return isA[*repository.RealmError](r.err) && !r.privateRealm() }

func (r refusal) levels() int { return strings.Count(r.name, "/") + 1 }

// registryHints is the one table of what registries refuse and what to do about
// it. REPOSITORY stands for the repository's name, PROJECT for its first part and
// REALM for the token service's host.
// The first that fits counts; testdata/responses has an answer for each.
var registryHints = []struct {
	fits func(refusal) bool
	text string
}{
	{
		func(r refusal) bool { return errors.Is(r.err, httpclient.ErrDowngrade) },
		"the registry takes itself for an http server, as behind a proxy that ends TLS: let the proxy set X-Forwarded-Proto: https, or tell the registry its own https address (distribution: http.host, Harbor: external_url)",
	},
	{
		func(r refusal) bool { return r.plain && r.status == http.StatusBadRequest },
		"leave --plain-http away: REGISTRY seems to speak TLS",
	},
	{
		refusal.privateRealm,
		"if REALM is the registry's own token service, as with a GitLab or Harbor of one's own, say so with --token-realm REALM; if not, the registry or somebody on the way wants the login for another service",
	},
	{
		refusal.foreignRealm,
		"give the registry a certificate and leave --plain-http away; if REALM is its own token service and the network is trusted, --token-realm REALM lets the login go there",
	},
	{
		refusal.immutable,
		"the registry does not let tags change; publish all platforms of a version in one run, or allow tags of this repository to change",
	},
	{
		func(r refusal) bool { return r.from == ecr && r.writing && (isCutOff(r.err) || r.missing()) },
		"ECR makes no repository by a push: run aws ecr create-repository --repository-name REPOSITORY, or let --on-missing-repository do it; if it is there, check account and region in the host name, and that the login may ecr:InitiateLayerUpload",
	},
	{
		func(r refusal) bool { return r.from == ecr && r.says("not authorized to perform") },
		"grant the login's IAM role or user the permission that the answer names; docs/credentials.md lists those that are needed",
	},
	{
		func(r refusal) bool { return r.from == ecr && r.denied() },
		"log in again, since ECR's tokens last 12 hours: aws ecr get-login-password | tofu-oci login --username AWS --password-stdin REGISTRY",
	},
	{
		func(r refusal) bool { return r.from == gitlab && r.notTaken() },
		"GitLab takes the media types on its list only; update a GitLab of one's own, as newer ones know OpenTofu's types; if the type is that of a document, publish without it",
	},
	{
		func(r refusal) bool { return r.from == quay && r.notTaken() },
		"Quay takes the media types of its configuration only; on a Quay of one's own set IGNORE_UNKNOWN_MEDIATYPES: true, elsewhere use another registry",
	},
	{
		refusal.notTaken,
		"the registry takes the media types on its list only; have it allow application/vnd.opentofu.provider and application/vnd.opentofu.provider-target (docs/format.md lists all), or use another registry",
	},
	{
		func(r refusal) bool {
			return r.from == ghcr && r.denied() && r.says("write_package", "not allowed to", "write organization package")
		},
		"the login may not write this package: use a token with write:packages (in GitHub Actions: permissions: packages: write), and if the package exists, give the repository the role Write in its settings, under Manage Actions access",
	},
	{
		func(r refusal) bool { return r.from == ghcr && r.denied() },
		"new packages of GHCR are private, and one that does not exist is answered alike: check the name, and log in (tofu-oci login ghcr.io) with a token that has read:packages, or make the package public in its settings",
	},
	{
		func(r refusal) bool {
			return r.from == dockerHub && r.levels() != 2 && (r.denied() || r.missing() || r.status == http.StatusBadRequest)
		},
		"names on Docker Hub have exactly two levels, and REPOSITORY does not: use a template like registry-1.docker.io/acme/{namespace}-{type}",
	},
	{
		func(r refusal) bool {
			return r.from == dockerHub && (r.denied() || r.says("insufficient_scope", "insufficient scope"))
		},
		"the login may not do this (insufficient_scope): PROJECT has to be the account itself or an organization that it may write to, and an access token has to be for Read & Write: tofu-oci login docker.io",
	},
	{
		func(r refusal) bool { return r.from == dockerHub && r.status == http.StatusTooManyRequests },
		"Docker Hub limits how much may be pulled without a login: log in (tofu-oci login docker.io), or try again later",
	},
	{
		func(r refusal) bool { return r.missing() && r.says("not_found project") },
		"create the project PROJECT in Harbor first: a push makes repositories in it, but no project",
	},
	{
		func(r refusal) bool { return r.denied() && r.says("unauthorized to access repository") },
		"Harbor answers so when the project PROJECT does not exist, and when the login has no right in it: create the project, or give the user or robot account the right that the answer names",
	},
	{
		func(r refusal) bool { return r.doing == fetchingManifest && r.status == http.StatusInternalServerError },
		"the server is out of order, or its file of this manifest is damaged: if others can be read and this stays so, delete that file in the registry's storage, and mirror the version again (docs/operations.md, Find and repair lost content)",
	},
	{
		func(r refusal) bool { return r.doing == fetchingManifest && isA[*sums.MismatchError](r.err) },
		"do not use it: the registry's file of it is damaged, or somebody has changed it; delete that file in the registry's storage, and mirror the version again (docs/operations.md, Find and repair lost content)",
	},
	{
		func(r refusal) bool { return r.says("insufficient_scope", "insufficient scope") },
		"the login is good but may not do this: give it the right to read, and to push also the right to write, in this repository",
	},
}

// registryHint is the hint about an answer of a registry, "" when there is none.
func registryHint(err error) string {
	r, ok := refusalOf(err)
	if !ok {
		return ""
	}
	for _, h := range registryHints {
		if h.fits(r) {
			about, _ := errors.AsType[*repository.Error](err)
			project, _, _ := strings.Cut(r.name, "/")
			realm := ""
			if e, ok := errors.AsType[*repository.RealmError](err); ok {
				realm = e.Realm
			}
			return strings.NewReplacer("REALM", realm, "REPOSITORY", r.name, "PROJECT", project, "REGISTRY", about.Registry).Replace(h.text)
		}
	}
	return ""
}
