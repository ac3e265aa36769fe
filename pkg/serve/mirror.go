package serve

import (
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// mirrorIndex answers which versions a provider has:
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/#list-available-versions
func (s *Server) mirrorIndex(x *exchange) error {
	var known listing
	behind, how, err := s.withOrigin(x.r.Context(), x.at, func() (_ []provider.Version, how state, err error) {
		known, how, err = s.known.list(x.r.Context(), x.at)
		return known.versions, how, err
	})
	if err != nil {
		return err
	}
	x.answered.Repository = originOf(x.at.address)
	if known.repo != nil {
		x.answered.Repository = known.repo.String()
	}
	versions := make(map[string]struct{}, len(known.versions)+len(behind))
	for _, v := range slices.Concat(known.versions, behind) {
		versions[v.String()] = struct{}{}
	}
	return x.answer(struct {
		Versions map[string]struct{} `json:"versions"`
	}{versions}, how)
}

// mirrorArchive is a package as VERSION.json has it.
type mirrorArchive struct {
	URL    string   `json:"url"`
	Hashes []string `json:"hashes"`
}

// mirrorVersion answers where the packages of a version are, and their hashes:
// https://opentofu.org/docs/internals/provider-network-mirror-protocol/#list-available-installation-packages
func (s *Server) mirrorVersion(x *exchange) error {
	found, how, err := s.index(x)
	if s.lacks(x.at, err) {
		return s.mirrorVersionBehind(x, err)
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
		path := s.tokenPath(x, found.stored, provider.Filename(x.at.address, x.version, p))
		archives[p.String()] = mirrorArchive{URL: mirrorLink(path), Hashes: []string{hash}}
	}
	return x.answer(mirrorArchives{archives}, how)
}

// mirrorArchives is what VERSION.json has.
type mirrorArchives struct {
	Archives map[string]mirrorArchive `json:"archives"`
}

// mirrorLink is an archive's path below /archive as VERSION.json has it, which lies in
// /mirror/HOST/NAMESPACE/TYPE/.
func mirrorLink(path string) string { return "../../../../archive" + path }

// zipHash returns the zh: hash of a package, from the annotation in the index or, without
// one, from the manifest. It omits the h1: annotation, because no signature covers it, and
// a client with trust_all_hashes writes every hash in the response to its lock file.
func (s *Server) zipHash(x *exchange, i index, p provider.Platform) (string, error) {
	t, _ := i.Index.Target(p)
	if zip, stated := t.Digest(); stated {
		return sums.ZH(zip), nil
	}
	read, err := s.known.target(x.r.Context(), x.at, i, p)
	if err != nil {
		return "", err
	}
	return sums.ZH(read.zip.Digest), nil
}

// index returns the index of the version that a path names.
func (s *Server) index(x *exchange) (index, state, error) {
	found, how, err := s.known.index(x.r.Context(), x.at, x.version)
	if err == nil {
		x.answered.Repository = found.repo.String()
	}
	return found, how, err
}
