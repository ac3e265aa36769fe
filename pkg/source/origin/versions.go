package origin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxVersions bounds the list of versions, in bytes. The longest on
	// registry.opentofu.org has under 2 MiB.
	maxVersions = 8 << 20
	// maxVersionsValues bounds the JSON values in it: a platform takes three.
	maxVersionsValues = 512 << 10
	// maxListed bounds the versions themselves; the most that a provider has are
	// some hundreds.
	maxListed = 10_000
	// maxPlatforms bounds the platforms of a version, each of which costs a
	// request for its package document; Go knows some fifty.
	maxPlatforms = 256
)

// listing is what a registry lists of a provider.
type listing map[provider.Version]listed

// listed is one version in a listing.
type listed struct {
	// text is the version as the registry writes it. It is asked for in its
	// canonical form all the same, as OpenTofu does it.
	text      string
	protocols []string
	published time.Time // zero: the list does not say
	// platforms are sorted. They are only recommended by the protocol, and
	// OpenTofu does not look at them: there may be others, and none listed.
	platforms []provider.Platform
}

func (l listing) newestFirst() []provider.Version {
	return provider.NewestFirst(slices.Collect(maps.Keys(l)))
}

// versionsDocument is the answer to :namespace/:type/versions. Its warnings are
// for people who choose a provider, and left alone.
type versionsDocument struct {
	Versions []struct {
		Version   string   `json:"version"`
		Protocols []string `json:"protocols"`
		Platforms []struct {
			OS   string `json:"os"`
			Arch string `json:"arch"`
		} `json:"platforms"`
		dates
	} `json:"versions"`
}

func (c client) versions(ctx context.Context, registry service, a provider.Address) (listing, error) {
	at := registry.base.JoinPath(url.PathEscape(a.Namespace), url.PathEscape(a.Type), "versions")
	doc, err := httpclient.Get(ctx, c.http, at, httpclient.Request{Header: registry.header(), Limit: maxVersions})
	if isStatus(err, http.StatusNotFound) {
		return nil, fmt.Errorf("%w: %w", provider.ErrProviderNotFound, err)
	}
	if err != nil {
		return nil, registry.refused(err)
	}
	var answer versionsDocument
	if err := decode(doc, &answer, maxVersionsValues); err != nil {
		return nil, err
	}
	l, err := answer.listing(doc)
	if err != nil {
		return nil, doc.Error(fmt.Errorf("GET %s: %w", httpclient.RedactURL(doc.URL), err))
	}
	return l, nil
}

// listing reads the versions of the document, which came as doc.
func (answer versionsDocument) listing(doc httpclient.Document) (listing, error) {
	if len(answer.Versions) > maxListed {
		return nil, fmt.Errorf("%d versions are listed, more than the %d that are read", len(answer.Versions), maxListed)
	}
	l := listing{}
	for _, item := range answer.Versions {
		v, err := provider.ParseVersion(item.Version)
		// Of two ways to write a version, the canonical one counts.
		if err != nil || l[v].text == v.String() {
			continue
		}
		if len(item.Platforms) > maxPlatforms {
			return nil, fmt.Errorf("version %s is listed with %d platforms, more than the %d that can be real", v, len(item.Platforms), maxPlatforms)
		}
		found := listed{text: item.Version, protocols: provider.SortProtocols(item.Protocols), published: item.published(doc)}
		for _, p := range item.Platforms {
			if platform, err := provider.ParsePlatform(p.OS + "_" + p.Arch); err == nil {
				found.platforms = append(found.platforms, platform)
			}
		}
		found.platforms = provider.SortPlatforms(found.platforms)
		l[v] = found
	}
	return l, nil
}

// decode reads a JSON document of at most so many values, and says what came when
// it is something else.
func decode(doc httpclient.Document, into any, values int) error {
	err := bounded.DecodeJSON(doc.Bytes, into, values)
	if errors.Is(err, bounded.ErrJSONLimit) {
		return doc.Error(fmt.Errorf("GET %s: the answer is not read: %w", httpclient.RedactURL(doc.URL), err))
	}
	if err != nil && isPage(doc) {
		return doc.Error(fmt.Errorf("GET %s: %w, got %s", httpclient.RedactURL(doc.URL), ErrPage, doc.Page()))
	}
	if err != nil {
		return doc.Error(fmt.Errorf("GET %s: the answer is not the JSON that was expected (%w)%s",
			httpclient.RedactURL(doc.URL), err, colonExcerpt(doc)))
	}
	return nil
}

// maxShown is how much of a wrong document an error shows, in bytes: enough
// to recognize it.
const maxShown = 120

// colonExcerpt returns ": " and the document's beginning, or nothing for nothing.
func colonExcerpt(doc httpclient.Document) string {
	if text := doc.Excerpt(maxShown); text != "" {
		return ": " + text
	}
	return ""
}

func isStatus(err error, status int) bool {
	var failure *provider.StatusError
	return errors.As(err, &failure) && failure.Status == status
}
