package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// archive responds with a verified zip, or with a range of the zip.
func (s *Server) archive(x *exchange) error {
	found, state, err := s.index(x)
	if s.canPullThrough(x.query, err) {
		if err := s.pull(x, err); !errors.Is(err, pullthrough.ErrStored) {
			return err
		}
		found, state, err = s.index(x)
	}
	if err != nil {
		return err
	}
	t, err := s.repos.storedPackage(x.r.Context(), x.query, found, x.platform)
	if err != nil {
		return err
	}
	s.describe(x, t.pkg, state)
	return s.send(x, t)
}

// pull responds with the zip of a release that only the origin has. At the same time,
// it mirrors the release. If the repository now contains the release, pull returns
// [pullthrough.ErrStored]. If a module is missing from the origin, pull returns the
// error absent.
func (s *Server) pull(x *exchange, absent error) error {
	if x.query.isModule() {
		return s.pullModule(x, absent)
	}
	d, state, err := s.upstreamRelease(x)
	if err != nil {
		return err
	}
	if d.refused != nil {
		return d.refused
	}
	pkg, err := d.Package(x.platform)
	if err != nil {
		return err
	}
	if x.r.Method == http.MethodHead { // HEAD requests don't mirror the release
		s.describe(x, pkg, state)
		if pkg.Size >= 0 {
			x.Header().Set("Content-Length", strconv.FormatInt(pkg.Size, 10))
		}
		return nil
	}
	zip, err := s.origins.puller.Fetch(x.r.Context(), d.to, d.Release, x.platform, s.currentDecisions(x.query, x.version))
	if err != nil {
		return err
	}
	defer zip.Close()
	x.event.Repository = zip.Repository.String()
	s.describe(x, zip.Package, state)
	if zip.File == nil {
		return s.send(x, storedPackage{repo: zip.Repository, zip: artifact.ZipDescriptor(zip.Package), pkg: zip.Package})
	}
	return s.sendContent(x, &content{
		ctx: x.r.Context(), size: zip.Package.Size, digest: zip.Package.Digest, name: zip.Package.Filename,
		isSeekable: true, file: zip.File, onVerified: func(bool) {},
	})
}

// errMirroring is returned if a module is still being mirrored after the response timeout.
var errMirroring = errors.New("the module is still being mirrored")

// pullModule mirrors the requested version of a module to a repository, and then returns
// [pullthrough.ErrStored]. Clients wait until the repository contains the entire package,
// because packages in git repositories and archives must be packed again. If the origin
// doesn't have the version, pullModule returns the error absent.
func (s *Server) pullModule(x *exchange, absent error) error {
	a, v := x.query.origin, x.version
	x.event.Repository = originLabel(a)
	ctx, cancel := context.WithTimeoutCause(x.r.Context(), s.options.timeouts.response, errMirroring)
	defer cancel()
	versions, _, err := s.origins.versions(ctx, a)
	if isAbsent(err) || err == nil && !slices.Contains(versions, v) {
		return absent
	}
	var to template.Reference
	if err == nil {
		to, err = s.pullDestination(ctx, x.query)
	}
	if err == nil {
		err = s.origins.puller.Mirror(ctx, to, a, v, s.currentDecisions(x.query, v))
	}
	switch {
	case err == nil:
		return pullthrough.ErrStored
	case errors.Is(err, errMirroring):
		return withCause(err, http.StatusServiceUnavailable, fmt.Sprintf("%s %s is still being mirrored; try again later", a, v))
	}
	return err
}

// describe sets the response headers for an archive.
func (s *Server) describe(x *exchange, p provider.Package, state cacheState) {
	x.setCacheHeaders(state)
	h := x.Header()
	h.Set("Etag", `"`+p.Digest.String()+`"`)
	if s.options.Rules().AllowAll() {
		h.Set("Cache-Control", "public, no-cache")
	}
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", `attachment; filename="`+p.Filename+`"`)
}

// send responds with a zip from the nearest location: the store, the image layout, or
// the registry. If possible, it redirects the client to the storage behind the registry.
func (s *Server) send(x *exchange, t storedPackage) error {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	content, err := s.content(ctx, t)
	if err != nil {
		s.options.Events.onFailure(err)
		return err
	}
	redirect, to := t.repo.Capabilities().Redirect, ""
	if s.options.Redirect && redirect != nil && content.file == nil && x.r.Method == http.MethodGet { // the URL supports only GET
		to, err = redirect(ctx, t.zip)
	}
	switch {
	case err != nil:
		return err
	case to == "":
		return s.sendContent(x, content)
	}
	x.Header().Set("Cache-Control", "no-store") // the URL expires
	x.Header().Set("Location", to)
	x.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}

// sendContent responds with a file, or with the requested range of the file.
func (s *Server) sendContent(x *exchange, content *content) error {
	defer content.Close()
	if !content.isSeekable && !isOpenEnded(x.r.Header.Get("Range")) {
		x.r.Header.Del("Range") // servers are allowed to ignore ranges
	}
	w := &partWriter{writer: x.writer}
	http.ServeContent(w, x.r, "", time.Time{}, content)
	s.options.Events.onFailure(content.err)
	switch {
	case w.busy:
		return errBusy
	case w.unsatisfiable:
		return &problem{http.StatusRequestedRangeNotSatisfiable, fmt.Sprintf("the requested range is outside the file, which is %d bytes long", content.size)}
	case content.err != nil && x.sent:
		x.event.Err = content.err
		panic(http.ErrAbortHandler) // a truncated response must not look complete
	}
	return content.err
}

// partWriter suppresses the error response that [http.ServeContent] sends for an
// unsatisfiable range, so that this error is reported like every other error.
type partWriter struct {
	*writer
	unsatisfiable bool
}

func (w *partWriter) WriteHeader(status int) {
	if w.unsatisfiable = status == http.StatusRequestedRangeNotSatisfiable; !w.unsatisfiable {
		w.writer.WriteHeader(status)
	}
}

func (w *partWriter) Write(p []byte) (int, error) {
	if w.unsatisfiable {
		return len(p), nil
	}
	return w.writer.Write(p)
}

// isOpenEnded reports whether a Range header requests a single range that extends to
// the end. Clients send this header to resume a download. A range of this kind can be
// verified even in a stream, because the entire stream is read.
func isOpenEnded(header string) bool {
	first, found := strings.CutPrefix(strings.TrimSpace(header), "bytes=")
	return found && strings.Count(first, ",") == 0 && strings.HasSuffix(strings.TrimSpace(first), "-")
}
