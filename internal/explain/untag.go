package explain

import (
	"errors"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// untagHints describe how to delete a tag that a registry doesn't delete by the distribution
// protocol, or not for this login. TAG, REGISTRY, REPOSITORY and PROJECT stand for names,
// PACKAGE and NAME for the rest of REPOSITORY as encoded in URLs of GitHub and Harbor.
var untagHints = map[product]string{
	ghcr: "delete the package version with the tag TAG: on the package's page at github.com, or with the ID that gh api '/orgs/PROJECT/packages/container/PACKAGE/versions' lists (/users/PROJECT for a user): " +
		"gh api --method DELETE '/orgs/PROJECT/packages/container/PACKAGE/versions/ID', with a token that has delete:packages",
	ecr:       "delete the tag TAG with aws ecr batch-delete-image --repository-name REPOSITORY --image-ids imageTag=TAG, as a role that has ecr:BatchDeleteImage; with immutable tags too",
	gitlab:    "delete the tag TAG on the project's page Deploy > Container registry, or let a token of a role that may delete tags run this command again; a protection rule for container tags must not match it",
	dockerHub: "delete the tag TAG on the page of REPOSITORY at hub.docker.com, under Tags",
	quay:      "delete the tag TAG on the page of REPOSITORY at REGISTRY, under Tags",
	harbor:    "delete the tag TAG on the project's page, in the artifact's list of tags, or with DELETE https://REGISTRY/api/v2.0/projects/PROJECT/repositories/NAME/artifacts/TAG/tags/TAG; an immutability rule must not match it",
	azure:     "delete the tag TAG with az acr repository untag --name REGISTRY --image REPOSITORY:TAG",
	other:     "delete the tag TAG of REPOSITORY on the registry's own page, or by its own API; the distribution registry deletes tags if storage.delete.enabled is true; or let a login that may delete run this command again",
}

// UntagHint returns how to delete a tag that stays, or "" for other errors.
func UntagHint(err error) string {
	about, ok := errors.AsType[*repository.Error](err)
	if !ok || !errors.Is(err, repository.ErrTagNotDeleted) {
		return ""
	}
	project, inside, _ := strings.Cut(about.Name, "/")
	encode := func(name string) string { return strings.ReplaceAll(name, "/", "%2F") }
	name := encode(inside)
	if productAt(about.Registry) == harbor { // its URLs are encoded twice
		name = strings.ReplaceAll(name, "%", "%25")
	}
	return strings.NewReplacer("TAG", about.Reference, "REGISTRY", about.Registry, "REPOSITORY", about.Name, "PROJECT", project, "PACKAGE", encode(inside), "NAME", name).
		Replace(untagHints[productAt(about.Registry)])
}
