package serve

import (
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// mirrorIndex lists the versions of a provider. See
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/#list-available-versions.
func (s *Server) mirrorIndex(x *exchange) error {
	var known listing
	upstream, state, err := s.withOrigin(x.r.Context(), x.query, func() (_ []provider.Version, state cacheState, err error) {
		known, state, err = s.repos.list(x.r.Context(), x.query)
		return known.versions, state, err
	})
	if err != nil {
		return err
	}
	x.event.Repository = originLabel(x.query.address)
	if known.repo != nil {
		x.event.Repository = known.repo.String()
	}
	versions := make(map[string]struct{}, len(known.versions)+len(upstream))
	for _, v := range slices.Concat(known.versions, upstream) {
		versions[v.String()] = struct{}{}
	}
	return x.respondJSON(struct {
		Versions map[string]struct{} `json:"versions"`
	}{versions}, state)
}

// mirrorArchive is a package in VERSION.json.
type mirrorArchive struct {
	URL    string   `json:"url"`
	Hashes []string `json:"hashes"`
}

// mirrorVersion lists the packages of a version. See
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/#list-available-installation-packages.
func (s *Server) mirrorVersion(x *exchange) error {
	found, state, err := s.index(x)
	if s.canPullThrough(x.query, err) {
		return s.upstreamMirrorVersion(x, err)
	}
	if err != nil {
		return err
	}
	archives := map[string]mirrorArchive{}
	for _, p := range found.Index.Single() {
		hash, err := s.zipHash(x, found, p)
		if err != nil {
			return err
		}
		path := s.tokenPath(x, found.stored, provider.Filename(x.query.address, x.version, p))
		archives[p.String()] = mirrorArchive{URL: mirrorLink(path), Hashes: []string{hash}}
	}
	return x.respondJSON(mirrorArchives{archives}, state)
}

// mirrorArchives is the content of VERSION.json.
type mirrorArchives struct {
	Archives map[string]mirrorArchive `json:"archives"`
}

// mirrorLink returns the link to an archive. The link is relative to VERSION.json in
// /mirror/HOST/NAMESPACE/TYPE/. path is the path below /archive.
func mirrorLink(path string) string { return "../../../../archive" + path }

// zipHash returns the zh: hash of a package from the annotation in the index or, if the
// index has no annotation, from the manifest. It omits the h1: annotation, because no
// signature covers this annotation. A client with trust_all_hashes would write an h1:
// hash to its lock file.
func (s *Server) zipHash(x *exchange, i index, p provider.Platform) (string, error) {
	t, _ := i.Index.Target(p)
	if zip, stated := t.Digest(); stated {
		return sums.ZH(zip), nil
	}
	read, err := s.repos.storedPackage(x.r.Context(), x.query, i, p)
	if err != nil {
		return "", err
	}
	return sums.ZH(read.zip.Digest), nil
}

// index returns the index of the requested version.
func (s *Server) index(x *exchange) (index, cacheState, error) {
	found, state, err := s.repos.index(x.r.Context(), x.query, x.version)
	if err == nil {
		x.event.Repository = found.repo.String()
	}
	return found, state, err
}
