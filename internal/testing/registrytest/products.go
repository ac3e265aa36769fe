package registrytest

import (
	"net"
	"net/http"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
)

// Product imitates a registry product: what it does differently from the distribution
// specification, according to public sources.
type Product struct {
	Name    string
	Options Options
	// Faults contains the response to each kind of request that Options cannot describe.
	Faults map[Kind]origintest.Fault
}

// New returns an empty registry of the product.
func (p Product) New() *Registry {
	r := New(p.Options)
	for kind, fault := range p.Faults {
		r.Misbehave(kind, fault, -1)
	}
	return r
}

// ECR with immutable tags rejects even a push of the same manifest, and requires that
// repositories are created before a push.
//   - https://github.com/aws/containers-roadmap/issues/2179 (immutable tags)
//   - https://github.com/actions/starter-workflows/issues/2647 (missing repositories)
var ECR = Product{Name: "ECR, immutable tags", Options: Options{ImmutableTags: true, NoCreate: true}}

// GHCR redirects requests for referrers to a busy web server, and deletes nothing.
//   - https://github.com/artifacthub/hub/issues/4785 (referrers)
//   - https://github.com/podman-container-tools/skopeo/issues/1880 (deletion)
var GHCR = Product{
	Name:    "GHCR",
	Options: Options{NoDelete: http.StatusMethodNotAllowed},
	Faults:  map[Kind]origintest.Fault{Referrers: toBusyWebServer},
}

// GitLab accepts only the media types in a list, lacks the referrers API, and resolves tags
// of the referrers tag schema as digests.
//   - https://gitlab.com/gitlab-org/container-registry/-/blob/master/docs/supported-media-types.md
//   - https://github.com/oras-project/oras-go/issues/1396 (tags)
var GitLab = Product{Name: "GitLab", Options: Options{Types: GitLabTypes, NoReferrers: http.StatusNotFound, TagsAreDigests: true}}

// Harbor deletes artifacts by digest, but no tags.
//   - https://github.com/goharbor/harbor/pull/11971
var Harbor = Product{Name: "Harbor", Options: Options{NoUntag: http.StatusBadRequest}}

// Harbor27 also requires credentials for the referrers API, which it lacks, but sends no
// challenge.
//   - https://github.com/goharbor/harbor/issues/18305
var Harbor27 = Product{Name: "Harbor 2.7", Options: Options{NoUntag: http.StatusBadRequest, NoReferrers: http.StatusUnauthorized}}

// Quay accepts only types of images and Helm charts.
//   - https://github.com/opencontainers/image-spec/pull/1026
var Quay = Product{Name: "Quay", Options: Options{Types: QuayTypes}}

// QuayAnyType is Quay with IGNORE_UNKNOWN_MEDIATYPES.
//   - https://github.com/quay/quay/pull/1750
var QuayAnyType = Product{Name: "Quay, any type"}

// ACR with locked tags rejects pushes that would move a tag. It deletes manifests by
// digest; tags can be deleted only with its own API.
//   - https://github.com/Azure/acr/issues/561 (locks)
//   - https://github.com/Azure/azure-sdk-for-net/issues/22827 (the response)
//   - https://learn.microsoft.com/en-us/rest/api/containerregistry/ (deletion)
var ACR = Product{Name: "ACR, locked tags", Options: Options{
	NoUntag: http.StatusMethodNotAllowed,
	LockedTags: Refuse(http.StatusMethodNotAllowed, "REGISTRY_DISALLOWED_OPERATION",
		"The operation is disallowed on this registry, repository or image."),
}}

// Artifactory rejects the referrers API, and remote repositories also list names that are
// not tags.
//   - https://github.com/google/go-containerregistry/issues/1962 (referrers)
//   - https://github.com/containers/skopeo/issues/2346 (names)
var Artifactory = Product{
	Name:    "Artifactory",
	Options: Options{NoReferrers: http.StatusNotAcceptable},
	Faults: map[Kind]origintest.Fault{Tags: EditTags(func(tags []string) []string {
		return append(tags, "sha256:"+strings.Repeat("a", 64), "sha256__"+strings.Repeat("b", 64))
	})},
}

// Nexus spells the scheme of its challenge in upper case.
//   - https://github.com/sonatype/nexus-public/issues/921
var Nexus = Product{Name: "Nexus", Options: Options{
	Username: "jane", Password: "canary-password", Challenge: `BASIC realm="Sonatype Nexus Repository Manager"`,
}}

// DockerHub supports only names with two levels, and deletes nothing.
//   - https://github.com/moby/moby/issues/31760 (levels)
//   - https://github.com/genuinetools/reg/issues/143 (deletion)
var DockerHub = Product{
	Name:    "Docker Hub",
	Options: Options{NoDelete: http.StatusMethodNotAllowed},
	Faults:  map[Kind]origintest.Fault{UploadPost: twoLevels, Mount: twoLevels, ManifestPut: twoLevels},
}

// Zot deletes a manifest when it loses its last tag.
//   - https://github.com/project-zot/zot/issues/4444
var Zot = Product{Name: "zot", Options: Options{CollectsUntagged: true}}

// Cloudflare is a registry behind its proxy, which omits the length of responses to HEAD requests.
//   - https://github.com/cloudflare/cloudflared/issues/500
var Cloudflare = Product{Name: "Cloudflare", Faults: map[Kind]origintest.Fault{BlobHead: origintest.Unsized(), ManifestHead: origintest.Unsized()}}

// toBusyWebServer redirects a request to another name of this server, where it imitates a
// busy web server.
func toBusyWebServer(w http.ResponseWriter, req *http.Request, _ http.HandlerFunc) {
	const other = "127.0.0.1"
	host, port, _ := net.SplitHostPort(req.Host)
	if host != other {
		http.Redirect(w, req, "https://"+net.JoinHostPort(other, port)+req.URL.Path, http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write([]byte("<html><title>Too many requests</title></html>"))
}

// twoLevels rejects requests to repositories whose names do not have exactly two levels.
func twoLevels(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
	name, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/v2/"), "/blobs/")
	name, _, _ = strings.Cut(name, "/manifests/")
	if strings.Count(name, "/") == 1 {
		honest(w, req)
		return
	}
	Refuse(http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")(w, req, honest)
}
