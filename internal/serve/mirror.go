package serve

import (
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// mirrorIndex lists the versions of a provider. See
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/#list-available-versions.
func (s *Server) mirrorIndex(x *exchange) error {
	all, state, err := s.allVersions(x)
	if err != nil {
		return err
	}
	versions := make(map[string]struct{}, len(all))
	for _, v := range all {
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

// mirrorArchives is the content of VERSION.json.
type mirrorArchives struct {
	Archives map[string]mirrorArchive `json:"archives"`
}

// mirrorRoot is the root of the server, relative to VERSION.json in
// /mirror/HOST/NAMESPACE/TYPE/.
const mirrorRoot = "../../../.."

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
		path := s.archivePath(x, x.version, x.query.filename(x.version, p), found.stored)
		archives[p.String()] = mirrorArchive{URL: mirrorRoot + path, Hashes: []string{hash}}
	}
	return x.respondJSON(mirrorArchives{archives}, state)
}

// zipHash returns the zh: hash of a package from the annotation in the index or, if the
// index has no annotation, from the manifest. It omits the h1: annotation, because no
// signature covers it. A client with trust_all_hashes would write an h1: hash to its
// lock file.
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

// upstreamMirrorVersion is the variant of mirrorVersion for a release that only the
// origin has. If the release is refused, the links contain the reason, because clients
// print links but not error responses.
func (s *Server) upstreamMirrorVersion(x *exchange, absent error) error {
	d, state, err := s.upstreamRelease(x)
	if isAbsent(err) {
		return absent
	}
	if err != nil {
		return err
	}
	archives := map[string]mirrorArchive{}
	for _, p := range d.Packages {
		path := withReason(s.archivePath(x, x.version, p.Filename, x.query.address), linkReason(d.refused))
		// The h1: hash is omitted because the origin doesn't sign it.
		archives[p.Platform.String()] = mirrorArchive{URL: mirrorRoot + path, Hashes: []string{sums.ZH(p.Digest)}}
	}
	return x.respondJSON(mirrorArchives{archives}, state)
}
