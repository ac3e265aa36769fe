package explain

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
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
	anywhere          = other // in conditions: all products
)

// products maps the host names of hosted registries, and typical host names of
// self-hosted registries, to products. The first match is used.
var products = []struct {
	product product
	host    *regexp.Regexp
}{
	{ecr, regexp.MustCompile(`\.dkr[.-]ecr\.|^public\.ecr\.aws$`)},
	{ghcr, regexp.MustCompile(`^ghcr\.io$`)},
	{dockerHub, regexp.MustCompile(`(^|\.)docker\.io$`)},
	{quay, regexp.MustCompile(`^quay\.`)},
	{gitlab, regexp.MustCompile(`gitlab`)},
	{harbor, regexp.MustCompile(`harbor`)},
	{azure, regexp.MustCompile(`\.azurecr\.io$`)},
}

func productAt(registry string) product {
	host, _, _ := strings.Cut(strings.ToLower(registry), ":")
	for _, p := range products {
		if p.host.MatchString(host) {
			return p.product
		}
	}
	return other
}

// providerWord matches the placeholder for a release or a provider in a command.
var providerWord = regexp.MustCompile(`\bPROVIDER\b(@VERSION\b)?`)

// fillRelease replaces PROVIDER and VERSION with the release that an error concerns, so
// that the command can be run as printed. If the error doesn't contain the release, the
// placeholders remain.
func fillRelease(hint string, err error) string {
	var a provider.Address
	var v provider.Version
	if e, ok := errors.AsType[*provider.Error](err); ok {
		a, v = e.Address, e.Version
	}
	if e, ok := errors.AsType[*provider.VersionError](err); ok && a == (provider.Address{}) {
		a, v = e.Address, e.Version
	}
	switch {
	case a == (provider.Address{}):
		return hint
	case a.IsModule() || a.IsRegistryModule(): // other commands differ, too
		return strings.ReplaceAll(hint, "tofu-oci list PROVIDER@VERSION", "tofu-oci module list "+text.Quote(a.String()+"@"+v.String()))
	}
	return providerWord.ReplaceAllStringFunc(hint, func(word string) string {
		switch {
		case word == "PROVIDER":
			return text.Quote(a.String())
		case v == (provider.Version{}):
			return text.Quote(a.String() + "@VERSION")
		}
		return text.Quote(a.String() + "@" + v.String())
	})
}

// fill replaces the placeholders in a hint. REGISTRY and REPOSITORY are those that an
// error concerns, and TAG is its tag or digest. PROJECT is the first part of the
// repository name, REALM is the token service's host, and ALIAS is the value of
// --alias. ISSUER is the issuer of the last certificate that the server sent. The error
// message does not include it.
func fill(hint string, err error) string {
	registry, name, tag, realm, alias, issuer := "REGISTRY", "", "", "", "", ""
	if e, ok := errors.AsType[*repository.Error](err); ok {
		registry, name, tag = cmp.Or(e.Registry, registry), e.Name, e.Reference
	}
	if e, ok := errors.AsType[*repository.RealmError](err); ok {
		realm = e.Realm
	}
	if e, ok := errors.AsType[*repository.ProviderMismatchError](err); ok {
		found, _ := e.Alias()
		alias = found.String()
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(e.UnverifiedCertificates) > 0 {
		issuer = fmt.Sprintf(" (%q)", e.UnverifiedCertificates[len(e.UnverifiedCertificates)-1].Issuer.String())
	}
	project, _, _ := strings.Cut(name, "/")
	return strings.NewReplacer("REALM", realm, "REPOSITORY", name, "PROJECT", project, "REGISTRY", registry, "TAG", tag, "ALIAS", alias, " ISSUER", issuer).Replace(fillRelease(hint, err))
}

// loginHints contains the result of [LoginHint] for each registry product.
var loginHints = map[product]string{
	ecr:       "use the user name AWS and the password from aws ecr get-login-password for the account and region in the host name",
	ghcr:      "as the password, use a classic personal access token with the scope read:packages (to publish: write:packages); in GitHub Actions, use GITHUB_TOKEN",
	gitlab:    "as the password, use a personal, project, or deploy token with the scope read_registry (to publish: write_registry)",
	dockerHub: "use an access token as the password; to publish, use a token with Read & Write access",
}

// LoginHint explains which user name and password a registry expects.
func LoginHint(host string) string {
	return cmp.Or(loginHints[productAt(host)], "check the user name and the password; many registries require an access token as the password")
}

// untagHints explains how to delete a tag if the registry rejects the DELETE request of
// the distribution specification. TAG, REGISTRY, REPOSITORY, and PROJECT are
// placeholders for names. PACKAGE and NAME are placeholders for the rest of REPOSITORY,
// encoded for the URLs of GitHub and Harbor.
var untagHints = map[product]string{
	ghcr: "delete the package version tagged TAG on the package's page at github.com; alternatively, find its ID with gh api '/orgs/PROJECT/packages/container/PACKAGE/versions' (for a user account, replace /orgs/PROJECT with /users/PROJECT), " +
		"then run gh api --method DELETE '/orgs/PROJECT/packages/container/PACKAGE/versions/ID' with a token that has the scope delete:packages",
	ecr:       "delete the tag TAG with aws ecr batch-delete-image --repository-name REPOSITORY --image-ids imageTag=TAG, which requires the permission ecr:BatchDeleteImage; this also works for immutable tags",
	gitlab:    "delete the tag TAG on the project's page Deploy > Container registry, or run this command again with a token that can delete tags; make sure that no protection rule matches the tag",
	dockerHub: "delete the tag TAG under Tags, on the page of REPOSITORY at hub.docker.com",
	quay:      "delete the tag TAG under Tags, on the page of REPOSITORY at REGISTRY",
	harbor:    "delete the tag TAG on the project's page, in the list of tags of the artifact, or with DELETE https://REGISTRY/api/v2.0/projects/PROJECT/repositories/NAME/artifacts/TAG/tags/TAG; make sure that no immutability rule matches the tag",
	azure:     "delete the tag TAG with az acr repository untag --name REGISTRY --image REPOSITORY:TAG",
	other:     "delete the tag TAG of REPOSITORY in the registry's web interface or with its API, or run this command again with credentials that allow deletion; CNCF Distribution requires version 3 and storage.delete.enabled: true",
}

// deleteHints explains how to delete the manifest with the digest DIGEST, and how to
// let the registry delete pruned versions. For the placeholders, see untagHints.
var deleteHints = map[product]string{
	ghcr: "delete the package version DIGEST on the package's page at github.com; alternatively, find its ID with gh api '/orgs/PROJECT/packages/container/PACKAGE/versions' (for a user account, replace /orgs/PROJECT with /users/PROJECT), " +
		"then run gh api --method DELETE '/orgs/PROJECT/packages/container/PACKAGE/versions/ID' with a token that has the scope delete:packages",
	ecr: "delete the image with aws ecr batch-delete-image --repository-name REPOSITORY --image-ids imageDigest=DIGEST, which requires the permission ecr:BatchDeleteImage; " +
		"or add a lifecycle policy for tags with the prefix pruned-",
	gitlab: "delete the tag with the prefix pruned- on the project's page Deploy > Container registry, or add a cleanup policy that removes tags matching pruned-.*; " +
		"or run this command again with a token that can delete images; make sure that no protection rule matches the tag",
	dockerHub: "delete the image DIGEST under Image Management, on the page of REPOSITORY at hub.docker.com",
	quay:      "delete the tag that starts with pruned- under Tags, on the page of REPOSITORY at REGISTRY",
	harbor: "delete the artifact on the project's page, or with DELETE https://REGISTRY/api/v2.0/projects/PROJECT/repositories/NAME/artifacts/DIGEST, " +
		"or add a tag retention rule for tags matching pruned-*; make sure that no immutability rule matches its tags",
	azure: "delete the manifest with az acr repository delete --name REGISTRY --image REPOSITORY@DIGEST",
	other: "delete the manifest DIGEST of REPOSITORY in the registry's web interface or with its API, or run this command again with credentials that allow deletion; CNCF Distribution requires storage.delete.enabled: true",
}

// UntagHint explains how to delete a tag or manifest if an error means that it could not
// be deleted. For other errors, it returns "".
func UntagHint(err error) string {
	about, ok := errors.AsType[*repository.Error](err)
	if !ok || !errors.Is(err, repository.ErrTagNotDeleted) {
		return ""
	}
	project, inside, _ := strings.Cut(about.Name, "/")
	encode := func(name string) string { return strings.ReplaceAll(name, "/", "%2F") }
	name := encode(inside)
	if productAt(about.Registry) == harbor { // Harbor's URLs are encoded twice
		name = strings.ReplaceAll(name, "%", "%25")
	}
	hints := untagHints
	if _, err := digest.Parse(about.Reference); err == nil {
		hints = deleteHints
	}
	return strings.NewReplacer("TAG", about.Reference, "DIGEST", about.Reference, "REGISTRY", about.Registry, "REPOSITORY", about.Name, "PROJECT", project, "PACKAGE", encode(inside), "NAME", name).
		Replace(hints[productAt(about.Registry)])
}
