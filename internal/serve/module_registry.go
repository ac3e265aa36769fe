package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// moduleVersion is a version in the version list of the module registry protocol.
type moduleVersion struct {
	Version string `json:"version"`
}

// offeredModule is a module in the version list of the module registry protocol.
type offeredModule struct {
	Versions []moduleVersion `json:"versions"`
}

// moduleVersions lists the versions of a module. See
// https://opentofu.org/docs/internals/module-registry-protocol/#list-available-versions-for-a-specific-module.
func (s *Server) moduleVersions(x *exchange) error {
	all, state, err := s.allVersions(x)
	if err != nil {
		return err
	}
	offered := offeredModule{Versions: []moduleVersion{}}
	for _, v := range all {
		offered.Versions = append(offered.Versions, moduleVersion{v.String()})
	}
	return x.respondJSON(struct {
		Modules []offeredModule `json:"modules"`
	}{[]offeredModule{offered}}, state)
}

// moduleDownload responds with the location of a version. See
// https://opentofu.org/docs/internals/module-registry-protocol/#download-source-code-for-a-specific-module-version.
func (s *Server) moduleDownload(x *exchange) error {
	found, state, err := s.index(x)
	if s.canPullThrough(x.query, err) {
		if err = s.pullModule(x, err); errors.Is(err, pullthrough.ErrStored) {
			found, state, err = s.index(x)
		}
	}
	var location string
	switch {
	case err == nil:
		location, err = s.moduleLocation(x, found)
	case isShownInLink(err):
		location, err = s.moduleArchiveURL(x, x.query.address, linkReason(err))
	}
	if err != nil {
		return err
	}
	x.setCacheHeaders(state)
	h := x.Header()
	h.Set("X-Terraform-Get", location)
	if s.options.OCIModules {
		h.Set("Vary", "User-Agent")
	}
	x.WriteHeader(http.StatusNoContent)
	return nil
}

// moduleLocation returns the source address from which the client downloads a version.
func (s *Server) moduleLocation(x *exchange, found index) (string, error) {
	subdirectory := found.Index.Annotations[artifact.AnnotationModuleSubdirectory]
	if subdirectory != "" {
		if !fs.ValidPath(subdirectory) || strings.ContainsAny(subdirectory, `?#%*[]{}\`) {
			return "", &artifact.FormatError{Artifact: "module package", Problem: fmt.Sprintf("invalid subdirectory %q", clip(subdirectory, shortText))}
		}
		subdirectory = "//" + subdirectory
	}
	if s.options.OCIModules && !found.ref.IsLayout() && readsOCIModules(x.r.UserAgent()) {
		return "oci://" + found.ref.String() + subdirectory + "?digest=" + found.Digest.String(), nil
	}
	archive, err := s.moduleArchiveURL(x, found.stored, "")
	return archive + subdirectory, err
}

// moduleArchiveURL returns the URL of the requested version's zip. If the zip is
// unavailable, the URL contains the reason.
func (s *Server) moduleArchiveURL(x *exchange, stored provider.Address, reason string) (string, error) {
	base, err := s.base(x.r)
	if err != nil {
		return "", err
	}
	return base.String() + withReason(s.archivePath(x, x.version, x.query.filename(x.version, x.platform), stored), reason), nil
}

// openTofuVersion matches OpenTofu's user agent.
var openTofuVersion = regexp.MustCompile(`^OpenTofu/(\d{1,4})\.(\d{1,4})\.`)

// readsOCIModules reports whether a client supports oci:// sources, as OpenTofu 1.10
// and later do.
func readsOCIModules(userAgent string) bool {
	m := openTofuVersion.FindStringSubmatch(userAgent)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major > 1 || major == 1 && minor >= 10
}
