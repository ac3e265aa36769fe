package serve

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// documentTypes are the media types that are said to clients. Others are whatever
// somebody wrote.
var documentTypes = []string{
	artifact.MediaTypeSums, artifact.MediaTypeSignature, artifact.MediaTypeKeys, artifact.MediaTypeSPDX,
	artifact.MediaTypeCycloneDX, artifact.MediaTypeInToto, artifact.MediaTypeSigstore,
}

// apiDocument answers with a document of a release, verified.
func (s *Server) apiDocument(x *exchange) error {
	r, d, err := s.documentAt(x)
	if err != nil {
		return err
	}
	x.know(r.how)
	s.personal(x)
	if x.unchanged(`"` + d.Digest + `"`) {
		return nil
	}
	if x.r.Method == http.MethodHead {
		s.describeDocument(x, d)
		return nil
	}
	body, err := openBlob(x.r.Context(), r.summary.repo, d.descriptor(), d.Name)
	if err != nil {
		return err
	}
	defer body.Close()
	s.describeDocument(x, d)
	if _, err = io.Copy(x.w, body); err != nil && x.w.sent {
		x.answered.Err = err
		s.options.Events.failed(err)
		panic(http.ErrAbortHandler) // what was sent must not look whole
	}
	return err
}

// describeDocument says what a body is. No browser shows it as a page of this server.
func (s *Server) describeDocument(x *exchange, d namedDocument) {
	h := x.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	if slices.Contains(documentTypes, d.MediaType) {
		h.Set("Content-Type", d.MediaType)
	}
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": d.Name}))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Content-Length", strconv.FormatInt(d.Size, 10))
}

// namedDocument is a document that a path names.
type namedDocument struct{ api.Document }

func (d namedDocument) descriptor() ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: d.MediaType, Digest: digest.Digest(d.Digest), Size: d.Size}
}

// documentAt finds the document that a path names among those of the release.
func (s *Server) documentAt(x *exchange) (release, namedDocument, error) {
	r, err := s.releaseAt(x)
	if err != nil {
		return r, namedDocument{}, err
	}
	asked := x.values["DIGEST"]
	d, found := r.summary.document(asked, nil)
	if !found && r.summary.repo != nil {
		seen, err := s.browse.report(x.r.Context(), r.at.place, r.index)
		if err != nil {
			return r, namedDocument{}, err
		}
		d, found = r.summary.document(asked, seen.referrers)
	}
	if !found {
		return r, namedDocument{}, &problem{http.StatusNotFound, "the release has no such document"}
	}
	return r, namedDocument{d}, nil
}

// apiComponents answers what an SBOM lists.
func (s *Server) apiComponents(x *exchange) error {
	bom, how, err := s.describeComponents(x)
	if err != nil {
		return err
	}
	return s.answerTagged(x, bom, how)
}

// describeComponents reads the SBOM that a path names.
func (s *Server) describeComponents(x *exchange) (api.SBOM, state, error) {
	r, d, err := s.documentAt(x)
	if err != nil {
		return api.SBOM{}, r.how, err
	}
	bom, err := s.componentsOf(x, r, d)
	return bom, r.how, err
}

// componentsOf reads an SBOM, once.
func (s *Server) componentsOf(x *exchange, r release, d namedDocument) (api.SBOM, error) {
	if d.Kind != string(provider.KindSBOM) {
		return api.SBOM{}, &problem{http.StatusNotFound, "the document is no software bill of materials"}
	}
	if d.Size > api.MaxSBOM {
		return api.SBOM{}, &problem{http.StatusUnprocessableEntity, "the document is too large to be shown; download it"}
	}
	bom, _, err := s.browse.boms.get(x.r.Context(), digest.Digest(d.Digest), func(ctx context.Context) (api.SBOM, error) {
		body, err := repository.Verified(ctx, r.summary.repo, d.descriptor(), d.Name)
		if err != nil {
			return api.SBOM{}, err
		}
		defer body.Close()
		data, err := io.ReadAll(io.LimitReader(body, api.MaxSBOM+1))
		if err != nil {
			return api.SBOM{}, err
		}
		return api.ParseSBOM(data)
	})
	if errors.Is(err, api.ErrNoSBOM) {
		return api.SBOM{}, because(err, http.StatusUnprocessableEntity, err.Error())
	}
	return bom, err
}
