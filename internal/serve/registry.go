package serve

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// discovery implements remote service discovery. See
// https://opentofu.org/docs/internals/remote-service-discovery/.
func (s *Server) discovery(x *exchange) error {
	base, err := s.base(x.r)
	if err != nil {
		return err
	}
	services := map[string]string{"providers.v1": base.String() + "/v1/providers/"}
	if len(s.setsOf(x.r).modules.from) > 0 {
		services["modules.v1"] = base.String() + "/v1/modules/"
	}
	return x.respondJSON(services, cacheState{})
}

// offeredVersion is a version in the version list of the registry protocol.
type offeredVersion struct {
	Version   string            `json:"version"`
	Protocols []string          `json:"protocols,omitempty"`
	Platforms []offeredPlatform `json:"platforms"`
}

type offeredPlatform struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

// versions lists the versions of a provider that clients would install. See
// https://opentofu.org/docs/internals/provider-registry-protocol/#list-available-versions.
func (s *Server) versions(x *exchange) error {
	list := versionsResponse{Versions: []offeredVersion{}}
	upstream, state, err := s.withOrigin(x.r.Context(), x.query, func() (known []provider.Version, state cacheState, err error) {
		all, state, err := s.releaseList(x.r.Context(), x.query)
		if err := x.query.authorizationError(all.stored, err); err != nil {
			return nil, state, err
		}
		x.event.Repository = all.repo.String()
		list = all.offer(x.query)
		return all.versions, state, nil
	})
	if err != nil {
		return err
	}
	if x.event.Repository == "" {
		x.event.Repository = originLabel(x.query.origin)
	}
	for _, v := range upstream { // their signatures are checked when clients request a package
		list.Versions = append(list.Versions, offeredVersion{Version: v.String(), Platforms: []offeredPlatform{}})
	}
	return x.respondJSON(list, state)
}

// signingKey is an OpenPGP key in the registry protocol.
type signingKey struct {
	KeyID      string `json:"key_id"`
	ASCIIArmor string `json:"ascii_armor"`
}

// packageDocument is the response that contains the links to a package, its checksums,
// and its signing keys.
type packageDocument struct {
	Protocols    []string `json:"protocols,omitempty"`
	OS           string   `json:"os"`
	Arch         string   `json:"arch"`
	Filename     string   `json:"filename"`
	DownloadURL  string   `json:"download_url"`
	SumsURL      string   `json:"shasums_url"`
	SignatureURL string   `json:"shasums_signature_url"`
	Sum          string   `json:"shasum"`
	SigningKeys  struct {
		Keys []signingKey `json:"gpg_public_keys"`
	} `json:"signing_keys"`
}

// pkg responds with a [packageDocument]. See
// https://opentofu.org/docs/internals/provider-registry-protocol/#find-a-provider-package.
func (s *Server) pkg(x *exchange) error {
	p, err := provider.ParsePlatform(x.r.PathValue("OS") + "_" + x.r.PathValue("ARCH"))
	if err != nil {
		return &problem{http.StatusNotFound, err.Error()}
	}
	x.platform = p
	found, err := s.signedPackage(x)
	if err != nil {
		return err
	}
	e := found.verificationMetadata
	base, err := s.base(x.r)
	if err != nil {
		return err
	}
	path := s.archivePath(x, x.version, x.query.filename(x.version, p), found.stored)
	documents := base.String() + strings.Replace(path, "/archive/", "/v1/documents/", 1)
	// The URLs are absolute, because not all clients support relative URLs
	// (terragrunt#3304).
	document := packageDocument{
		Protocols: e.protocols, OS: p.OS, Arch: p.Arch, Filename: e.filename, Sum: e.zip.Encoded(),
		DownloadURL: base.String() + withReason(path, found.reason), SumsURL: documents + "/" + documentSums, SignatureURL: documents + "/" + documentSignature,
	}
	document.SigningKeys.Keys = e.keys
	return x.respondJSON(document, found.state)
}

// signedPackage is a package with its signed checksums.
type signedPackage struct {
	verificationMetadata
	state cacheState
	// stored is the address under which the package is stored.
	stored provider.Address
	// reason explains why the archive is unavailable. It is empty if the archive is
	// available.
	reason string
}

// signedPackage returns the requested package, from the repository or from its origin.
func (s *Server) signedPackage(x *exchange) (found signedPackage, err error) {
	i, state, err := s.index(x)
	switch {
	case s.canPullThrough(x.query, err):
		found, err = s.upstreamSignedPackage(x)
	case err == nil:
		found = signedPackage{state: state, stored: i.stored}
		found.verificationMetadata, err = s.metadataFor(x.r.Context(), x.query, i, x.platform)
	}
	if err == nil && found.omitReason != "" {
		err = &problem{http.StatusNotFound, fmt.Sprintf("%s %s is not available through the registry protocol: %s", x.query.address, x.version, found.omitReason)}
	}
	return found, err
}

// upstreamSignedPackage is the variant of signedPackage for a release that only the
// origin has.
func (s *Server) upstreamSignedPackage(x *exchange) (signedPackage, error) {
	d, state, err := s.upstreamRelease(x)
	if err != nil {
		return signedPackage{}, err
	}
	pkg, err := d.Package(x.platform)
	if err != nil {
		return signedPackage{}, err
	}
	r := d.Release
	r.Packages = []provider.Package{pkg}
	e, err := s.repos.metadataOf(x.r.Context(), r)
	if e.omitReason != "" && d.refused != nil {
		return signedPackage{}, d.refused
	}
	return signedPackage{e, state, x.query.address, linkReason(d.refused)}, err
}

// The names of the documents that have separate URLs.
const (
	documentSums      = "SHA256SUMS"
	documentSignature = "SHA256SUMS.sig"
)

// document responds with the checksums or their signature, unchanged from the artifact.
func (s *Server) document(x *exchange) error {
	name := x.r.PathValue("DOCUMENT")
	if name != documentSums && name != documentSignature {
		return errUnknownPath
	}
	found, err := s.signedPackage(x)
	if err != nil {
		return err
	}
	x.setCacheHeaders(found.state)
	if name == documentSignature {
		x.writeBytes(http.StatusOK, "application/pgp-signature", found.signature)
		return nil
	}
	x.writeBytes(http.StatusOK, "text/plain; charset=utf-8", found.sums)
	return nil
}
