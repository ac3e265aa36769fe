package explain

import (
	"errors"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// untagHints explains how to delete a tag if the registry rejects the DELETE request of
// the distribution specification. TAG, REGISTRY, REPOSITORY, and PROJECT are
// placeholders for names. PACKAGE and NAME are placeholders for the rest of REPOSITORY,
// encoded for the URLs of GitHub and Harbor.
var untagHints = map[product]string{
	ghcr: "delete the package version tagged TAG on the package's page at github.com; or find its ID with gh api '/orgs/PROJECT/packages/container/PACKAGE/versions' (for a user account, replace /orgs/PROJECT with /users/PROJECT), " +
		"then run gh api --method DELETE '/orgs/PROJECT/packages/container/PACKAGE/versions/ID' with a token that has the scope delete:packages",
	ecr:       "delete the tag TAG with aws ecr batch-delete-image --repository-name REPOSITORY --image-ids imageTag=TAG, which requires the permission ecr:BatchDeleteImage; this also works for immutable tags",
	gitlab:    "delete the tag TAG on the project's page Deploy > Container registry, or run this command again with a token that can delete tags; make sure that no protection rule matches the tag",
	dockerHub: "delete the tag TAG on the page of REPOSITORY at hub.docker.com, under Tags",
	quay:      "delete the tag TAG on the page of REPOSITORY at REGISTRY, under Tags",
	harbor:    "delete the tag TAG on the project's page, in the list of tags of the artifact, or with DELETE https://REGISTRY/api/v2.0/projects/PROJECT/repositories/NAME/artifacts/TAG/tags/TAG; make sure that no immutability rule matches the tag",
	azure:     "delete the tag TAG with az acr repository untag --name REGISTRY --image REPOSITORY:TAG",
	other:     "delete the tag TAG of REPOSITORY in the registry's web interface or with its API, or run this command again with credentials that allow deletion; the distribution registry requires storage.delete.enabled: true",
}

// deleteHints explains how to delete the manifest with the digest DIGEST, and how to
// let the registry delete pruned versions. For the placeholders, see untagHints.
var deleteHints = map[product]string{
	ghcr: "delete the package version DIGEST on the package's page at github.com; or find its ID with gh api '/orgs/PROJECT/packages/container/PACKAGE/versions' (for a user account, replace /orgs/PROJECT with /users/PROJECT), " +
		"then run gh api --method DELETE '/orgs/PROJECT/packages/container/PACKAGE/versions/ID' with a token that has the scope delete:packages",
	ecr: "delete the image with aws ecr batch-delete-image --repository-name REPOSITORY --image-ids imageDigest=DIGEST, which requires the permission ecr:BatchDeleteImage; " +
		"or add a lifecycle policy for tags with the prefix pruned-",
	gitlab: "delete the tag with the prefix pruned- on the project's page Deploy > Container registry, or add a cleanup policy that removes tags matching pruned-.*; " +
		"a run of this command requires a token that can delete images, and no protection rule that matches the tag",
	dockerHub: "delete the image DIGEST on the page of REPOSITORY at hub.docker.com, under Image Management",
	quay:      "delete the tag with the prefix pruned- on the page of REPOSITORY at REGISTRY, under Tags",
	harbor: "delete the artifact on the project's page, or with DELETE https://REGISTRY/api/v2.0/projects/PROJECT/repositories/NAME/artifacts/DIGEST, " +
		"or add a tag retention rule for tags matching pruned-*; make sure that no immutability rule matches its tags",
	azure: "delete the manifest with az acr repository delete --name REGISTRY --image REPOSITORY@DIGEST",
	other: "delete the manifest DIGEST of REPOSITORY in the registry's web interface or with its API, or run this command again with credentials that allow deletion; the distribution registry requires storage.delete.enabled: true",
}

// UntagHint explains how to delete a tag or manifest that could not be deleted. For all
// other errors, it returns "".
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
