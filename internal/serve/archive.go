package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// archive responds with a verified zip, or with a range of the zip.
func (s *Server) archive(x *exchange) error {
	found, state, err := s.index(x)
	if s.canPullThrough(x.query, err) {
		if err := s.pull(x); !errors.Is(err, pullthrough.ErrStored) {
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
// the registry.
func (s *Server) send(x *exchange, t storedPackage) error {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	to, err := s.redirectURL(x, t)
	if err != nil {
		return err
	}
	if to != "" {
		x.Header().Set("Cache-Control", "no-store") // the URL expires
		x.Header().Set("Location", to)
		x.WriteHeader(http.StatusTemporaryRedirect)
		return nil
	}
	content, err := s.content(ctx, t)
	if err != nil {
		s.options.Events.onFailure(err)
		return err
	}
	return s.sendContent(x, content)
}

// sendContent responds with a zip, or with the requested range of the zip.
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
		return &problem{http.StatusRequestedRangeNotSatisfiable, fmt.Sprintf("the requested range is outside the archive, which is %d bytes long", content.size)}
	case content.err != nil && x.sent:
		x.event.Err = content.err
		panic(http.ErrAbortHandler) // a truncated response must not look complete
	}
	return content.err
}

// redirectURL returns the URL of a zip in the storage behind the registry, or "" if no
// such URL is available. The URL supports only GET.
func (s *Server) redirectURL(x *exchange, t storedPackage) (string, error) {
	redirect := t.repo.Traits().Redirect
	if !s.options.Redirect || redirect == nil || x.r.Method != http.MethodGet || s.isInStore(x.r.Context(), t) {
		return "", nil
	}
	return redirect(x.r.Context(), t.zip)
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
