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

// dates has the fields that contain the date of a version. None of them is part of the
// protocol. discovered or discovered_at is when registry.opentofu.org first saw the
// version, so its author can't backdate it. Older versions, which the registry saw before
// it recorded that date, share a later one or have none (opentofu/registry#4113).
// OpenTofu's provider documents have published, those of registry.terraform.io
// published_at.
type dates struct {
	Discovered   date `json:"discovered"`
	DiscoveredAt date `json:"discovered_at"`
	Published    date `json:"published"`
	PublishedAt  date `json:"published_at"`
}

// date is a date in seconds since 1970, or 0 for none, as small as possible because a
// list has many. Text that is not a date must not spoil the document, so it is none.
type date int64

func (d *date) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		t, _ := time.Parse(time.RFC3339, text) // the zero time if invalid
		if t = provider.CleanDate(t); !t.IsZero() {
			*d = date(t.Unix())
		}
	}
	return nil
}

// published returns the date in the document, or the zero time. A date that the registry
// set takes precedence over one that the author set.
func (d dates) published(doc httpclient.Document) time.Time {
	for _, stated := range []date{d.Discovered, d.DiscoveredAt, d.Published, d.PublishedAt} {
		if stated == 0 {
			continue
		}
		if t := notAfterAnswer(time.Unix(int64(stated), 0).UTC(), doc); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// lastModified returns the date of a file by the server that has it.
func lastModified(doc httpclient.Document) time.Time {
	modified, err := http.ParseTime(doc.Header.Get("Last-Modified"))
	if err != nil {
		return time.Time{}
	}
	return notAfterAnswer(provider.CleanDate(modified), doc)
}

// notAfterAnswer returns a date, unless it is later than the answer that has it, by the
// answer's own Date: the clock of this machine has no part in what is stored.
// https://www.rfc-editor.org/rfc/rfc9110#section-8.8.2.1
func notAfterAnswer(t time.Time, doc httpclient.Document) time.Time {
	if answered, err := http.ParseTime(doc.Header.Get("Date")); err == nil && t.After(answered) {
		return time.Time{}
	}
	return t
}

// statedBy returns the date that package documents state, the latest one where they
// disagree.
func statedBy(ds []description) (latest time.Time) {
	for _, d := range ds {
		if d.published.After(latest) {
			latest = d.published
		}
	}
	return latest
}

// date tells when a version was published, for nothing where the list of versions
// says so, else for one package document and SHA256SUMS. A release that is asked for
// afterwards does not ask for these again.
func (s *Source) date(ctx context.Context, a provider.Address, v provider.Version) (time.Time, error) {
	version, err := s.versionOf(ctx, a, v)
	if err != nil || !version.published.IsZero() {
		return version.published, err
	}
	q := question{s, a, v, version}
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
