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

// product is a registry product that can be recognized by its host name.
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

// productAt returns the product of a hosted registry. It also recognizes self-hosted
// registries with typical names.
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

// fetchingManifest is the operation in a [repository.Error] about reading a manifest.
const fetchingManifest = "fetching manifest"

// refusal describes a registry's error response.
type refusal struct {
	err     error
	product product
	// repository is the repository's name without the registry.
	repository string
	// operation is the failed operation.
	operation string
	status    int
	// writing reports whether the operation writes. plain reports whether it uses HTTP
	// without TLS.
	writing, plain bool
	// text is the registry's error code and message in lower case.
	text string
}

func refusalOf(err error) (refusal, bool) {
	about, ok := errors.AsType[*repository.Error](err)
	if !ok {
		return refusal{}, false
	}
	r := refusal{err: err, product: productAt(about.Registry), repository: about.Name, writing: about.Writing, operation: about.Op}
	if e, ok := errors.AsType[*repository.ResponseError](err); ok {
		r.status, r.text = e.Status, strings.ToLower(e.Code+" "+e.Message)
		r.plain = strings.HasPrefix(e.URL, "http://")
	}
	return r, true
}

// contains reports whether the registry's message contains one of the texts.
func (r refusal) contains(texts ...string) bool {
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(r.text, t) })
}

func (r refusal) denied() bool  { return errors.Is(r.err, provider.ErrDenied) }
func (r refusal) missing() bool { return errors.Is(r.err, repository.ErrNoRepository) }

// unsupportedType reports whether the registry accepts only certain media types.
func (r refusal) unsupportedType() bool {
	return r.status == http.StatusUnsupportedMediaType ||
		r.contains("unknown media type", "unknown mediatype", "unsupported media type", "does not match schema") && r.contains("manifest", "media type")
}

func (r refusal) immutable() bool {
	return r.contains("immutable", "tagalreadyexists", "tag already exists")
}

// privateRealm reports whether credentials were withheld from a token service at a
// private address. foreignRealm reports whether they were withheld from a different
// host's token service.
func (r refusal) privateRealm() bool {
	e, ok := errors.AsType[*repository.RealmError](r.err)
	return ok && e.Private
}

func (r refusal) foreignRealm() bool { return isA[*repository.RealmError](r.err) && !r.privateRealm() }

func (r refusal) levels() int { return strings.Count(r.repository, "/") + 1 }

// registryHints maps registries' error responses to hints. The first match is used.
// REGISTRY and REPOSITORY are replaced with the registry and the repository, REALM with
// the token service's host, and PROJECT with the first part of the repository name. For
// each entry, cmd/tofu-oci/testdata/responses contains an example response.
var registryHints = []struct {
	matches func(refusal) bool
	text    string
}{
	{
		func(r refusal) bool { return errors.Is(r.err, httpclient.ErrDowngrade) },
		"make the proxy in front of the registry set X-Forwarded-Proto: https, or configure the registry's HTTPS address (distribution: http.host, Harbor: external_url)",
	},
	{
		func(r refusal) bool { return r.plain && r.status == http.StatusBadRequest },
		"omit --plain-http, because REGISTRY seems to use TLS",
	},
	{
		refusal.privateRealm,
		"if REALM is the token service of your registry, for example a self-hosted GitLab or Harbor, use --token-realm REALM; otherwise, the response might be an attempt to obtain your credentials",
	},
	{
		refusal.foreignRealm,
		"set up TLS for the registry and omit --plain-http; if REALM is its token service and you trust the network, use --token-realm REALM",
	},
	{
		refusal.immutable,
		"publish all platforms of a version in one run, or allow mutable tags for this repository",
	},
	{
		func(r refusal) bool { return r.product == ecr && r.writing && (isCutOff(r.err) || r.missing()) },
		"create the repository with aws ecr create-repository --repository-name REPOSITORY or with --on-missing-repository; if it exists, check the account and region in the host name, and the permission ecr:InitiateLayerUpload",
	},
	{
		func(r refusal) bool { return r.product == ecr && r.contains("not authorized to perform") },
		"grant the missing permission to the IAM role or user; docs/credentials.md lists the required permissions",
	},
	{
		func(r refusal) bool { return r.product == ecr && r.denied() },
		"log in again, because ECR tokens expire after 12 hours: aws ecr get-login-password | tofu-oci login --username AWS --password-stdin REGISTRY",
	},
	{
		func(r refusal) bool { return r.product == gitlab && r.unsupportedType() },
		"update your self-managed GitLab, because it rejects unknown media types and newer versions support OpenTofu's; if the media type belongs to a document, publish without the document",
	},
	{
		func(r refusal) bool { return r.product == quay && r.unsupportedType() },
		"set IGNORE_UNKNOWN_MEDIATYPES: true in a self-hosted Quay, or use a different registry",
	},
	{
		refusal.unsupportedType,
		"allow the media types application/vnd.opentofu.provider and application/vnd.opentofu.provider-target in the registry (docs/format.md lists all), or use a different registry",
	},
	{
		func(r refusal) bool {
			return r.product == ghcr && r.denied() && r.contains("write_package", "not allowed to", "write organization package")
		},
		"use a token with the scope write:packages (in GitHub Actions: permissions: packages: write); if the package exists, grant the repository the role Write in the package settings, under Manage Actions access",
	},
	{
		func(r refusal) bool { return r.product == ghcr && r.denied() },
		"check the name, and log in (tofu-oci login ghcr.io) with a token that has the scope read:packages, or make the package public; GHCR returns the same error for private and missing packages",
	},
	{
		func(r refusal) bool {
			return r.product == dockerHub && r.levels() != 2 && (r.denied() || r.missing() || r.status == http.StatusBadRequest)
		},
		"use a template with exactly two levels, such as registry-1.docker.io/acme/{namespace}-{type}, because Docker Hub does not support REPOSITORY",
	},
	{
		func(r refusal) bool {
			return r.product == dockerHub && (r.denied() || r.contains("insufficient_scope", "insufficient scope"))
		},
		"log in with write access to the account or organization PROJECT and with a Read & Write access token: tofu-oci login docker.io",
	},
	{
		func(r refusal) bool { return r.product == dockerHub && r.status == http.StatusTooManyRequests },
		"log in (tofu-oci login docker.io), or try again later; Docker Hub limits anonymous pulls",
	},
	{
		func(r refusal) bool { return r.missing() && r.contains("not_found project") },
		"create the project PROJECT in Harbor first; a push creates only repositories",
	},
	{
		func(r refusal) bool { return r.denied() && r.contains("unauthorized to access repository") },
		"create the project PROJECT, or grant the missing permission to the user or robot account; Harbor returns the same error in both cases",
	},
	{
		func(r refusal) bool {
			return r.operation == fetchingManifest && r.status == http.StatusInternalServerError
		},
		"try again; if other manifests are readable and the error persists, the manifest is damaged: delete its file from the registry's storage and mirror the version again (docs/operations.md, Find and repair lost content)",
	},
	{
		func(r refusal) bool { return r.operation == fetchingManifest && isA[*sums.MismatchError](r.err) },
		"don't use the release, because its manifest is damaged or was modified; delete the manifest's file from the registry's storage, and mirror the version again (docs/operations.md, Find and repair lost content)",
	},
	{
		func(r refusal) bool { return r.contains("insufficient_scope", "insufficient scope") },
		"grant the account read access to the repository, and write access to push; the credentials themselves are valid",
	},
}

// registryHint returns the hint for a registry's error response, or "".
func registryHint(err error) string {
	r, ok := refusalOf(err)
	if !ok {
		return ""
	}
	for _, h := range registryHints {
		if h.matches(r) {
			about, _ := errors.AsType[*repository.Error](err)
			project, _, _ := strings.Cut(r.repository, "/")
			realm := ""
			if e, ok := errors.AsType[*repository.RealmError](err); ok {
				realm = e.Realm
			}
			return strings.NewReplacer("REALM", realm, "REPOSITORY", r.repository, "PROJECT", project, "REGISTRY", about.Registry).Replace(h.text)
		}
	}
	return ""
}
