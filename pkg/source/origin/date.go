package origin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// dates contains the date fields of a version. The protocol defines none of them.
// discovered and discovered_at contain the time when registry.opentofu.org first found
// the version, so authors can't backdate versions. Older versions share a later date or
// have none (opentofu/registry#4113). published is used in OpenTofu's provider
// documents, and published_at in the documents of registry.terraform.io.
type dates struct {
	Discovered   date `json:"discovered"`
	DiscoveredAt date `json:"discovered_at"`
	Published    date `json:"published"`
	PublishedAt  date `json:"published_at"`
}

// date is a Unix time, or 0 if the date is unknown. It is an integer, because a list
// can contain many dates. Invalid dates are ignored, so that they don't make the
// document invalid.
type date int64

func (d *date) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		t, _ := time.Parse(time.RFC3339, text) // the zero time if text is invalid
		if t = provider.CleanDate(t); !t.IsZero() {
			*d = date(t.Unix())
		}
	}
	return nil
}

// published returns the date in the document, or the zero time if the document has no
// date. A date from the registry takes precedence over a date from the author.
func (d dates) published(doc httpclient.Document) time.Time {
	for _, stated := range []date{d.Discovered, d.DiscoveredAt, d.Published, d.PublishedAt} {
		if stated == 0 {
			continue
		}
		if t := notAfterResponse(time.Unix(int64(stated), 0).UTC(), doc); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// lastModified returns the Last-Modified time of a file.
func lastModified(doc httpclient.Document) time.Time {
	modified, err := http.ParseTime(doc.Header.Get("Last-Modified"))
	if err != nil {
		return time.Time{}
	}
	return notAfterResponse(provider.CleanDate(modified), doc)
}

// notAfterResponse returns t, or the zero time if t is later than the Date header of
// the response. It doesn't use the local clock, because stored dates must not depend on
// it. See https://www.rfc-editor.org/rfc/rfc9110#section-8.8.2.1.
func notAfterResponse(t time.Time, doc httpclient.Document) time.Time {
	if responded, err := http.ParseTime(doc.Header.Get("Date")); err == nil && t.After(responded) {
		return time.Time{}
	}
	return t
}

// publicationDate returns the latest date in the package documents.
func publicationDate(ds []description) (latest time.Time) {
	for _, d := range ds {
		if d.published.After(latest) {
			latest = d.published
		}
	}
	return latest
}

// date returns the publication date of a version. If the version list contains dates,
// date requests only this list. Otherwise, it also requests one package document and
// SHA256SUMS, which are cached for Release.
func (s *Source) date(ctx context.Context, a provider.Address, v provider.Version) (time.Time, error) {
	version, err := s.versionOf(ctx, a, v)
	if err != nil || !version.published.IsZero() {
		return version.published, err
	}
	q := query{s, a, v, version}
	found, err := q.any(ctx)
	if _, missing := errors.AsType[*provider.PlatformError](err); missing {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	d := found.descriptions[0]
	if !d.published.IsZero() || d.sums == nil {
		return d.published, nil
	}
	sums, err := s.protocol.document(ctx, d.sums, maxSums)
	if err != nil {
		return time.Time{}, q.failed(err)
	}
	return sums.modified, nil
}
