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

// archive answers with a package's zip: whole or a part of it, verified.
func (s *Server) archive(x *exchange) error {
	found, how, err := s.index(x)
	if s.lacks(x.at, err) {
		if err := s.pull(x); !errors.Is(err, pullthrough.ErrStored) {
			return err
		}
		found, how, err = s.index(x)
	}
	if err != nil {
		return err
	}
	t, err := s.known.target(x.r.Context(), x.at, found, x.platform)
	if err != nil {
		return err
	}
	s.describe(x, t.pkg, how)
	return s.send(x, t)
}

// describe writes the headers of an archive.
func (s *Server) describe(x *exchange, p provider.Package, how state) {
	x.know(how)
	h := x.Header()
	h.Set("Etag", `"`+p.Digest.String()+`"`)
	if s.options.Rules().Open() {
		h.Set("Cache-Control", "public, no-cache")
	}
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", `attachment; filename="`+p.Filename+`"`)
}

// send answers with a zip from where it is nearest: the store, the layout, the
// registry.
func (s *Server) send(x *exchange, t target) error {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	to, err := s.elsewhere(x, t)
	if err != nil {
		return err
	}
	if to != "" {
		x.Header().Set("Cache-Control", "no-store") // it expires
		x.Header().Set("Location", to)
		x.WriteHeader(http.StatusTemporaryRedirect)
		return nil
	}
	content, err := s.content(ctx, t)
	if err != nil {
		s.options.Events.failed(err)
		return err
	}
	return s.sendContent(x, content)
}

// sendContent answers with a zip, or with the part that is asked for.
func (s *Server) sendContent(x *exchange, content *content) error {
	defer content.Close()
	if !content.random && !toTheEnd(x.r.Header.Get("Range")) {
		x.r.Header.Del("Range") // a server may answer with all of it
	}
	w := &partWriter{writer: x.writer}
	http.ServeContent(w, x.r, "", time.Time{}, content)
	s.options.Events.failed(content.err)
	switch {
	case w.busy:
		return errBusy
	case w.outside:
		return &problem{http.StatusRequestedRangeNotSatisfiable, fmt.Sprintf("the archive has %d bytes, and none of those that were asked for", content.size)}
	case content.err != nil && x.sent:
		x.answered.Err = content.err
		panic(http.ErrAbortHandler) // what was sent must not look whole
	}
	return content.err
}

// elsewhere returns the URL at which a client gets a zip from the storage behind the
// registry; empty where there is none. Such URLs are good for GET alone.
func (s *Server) elsewhere(x *exchange, t target) (string, error) {
	redirect := t.repo.Traits().Redirect
	if !s.options.Redirect || redirect == nil || x.r.Method != http.MethodGet || s.stored(x.r.Context(), t) {
		return "", nil
	}
	return redirect(x.r.Context(), t.zip)
}

// partWriter lets the refusal of a range be written as all others are.
type partWriter struct {
	*writer
	outside bool
}

func (w *partWriter) WriteHeader(status int) {
	if w.outside = status == http.StatusRequestedRangeNotSatisfiable; !w.outside {
		w.writer.WriteHeader(status)
	}
}

func (w *partWriter) Write(p []byte) (int, error) {
	if w.outside {
		return len(p), nil
	}
	return w.writer.Write(p)
}

// toTheEnd reports whether a Range header asks for one part, from somewhere to the end:
// what a client asks that goes on with a download. Such a part can be verified of a
// stream, since all of it passes.
func toTheEnd(header string) bool {
	first, found := strings.CutPrefix(strings.TrimSpace(header), "bytes=")
	return found && strings.Count(first, ",") == 0 && strings.HasSuffix(strings.TrimSpace(first), "-")
}
