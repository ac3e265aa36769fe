package origin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxVersions is the maximum size of the version list in bytes. The largest list on
	// registry.opentofu.org is smaller than 2 MiB.
	maxVersions = 8 << 20
	// maxVersionsValues is the maximum number of JSON values in the version list. A
	// platform uses three values.
	maxVersionsValues = 512 << 10
	// maxListed is the maximum number of versions. Providers have at most a few hundred
	// versions.
	maxListed = 10_000
	// maxPlatforms is the maximum number of platforms per version. Each platform
	// requires a request for its package document. Go supports about 50 platforms.
	maxPlatforms = 256
)

// listing is the version list of a provider in a registry.
type listing map[provider.Version]listed

// listed is the entry for a version in a listing.
type listed struct {
	// text is the version as the registry writes it. As in OpenTofu, requests use the
	// version's canonical form.
	text      string
	protocols []string
	published time.Time // zero if unknown
	// platforms lists the sorted platforms. The protocol only recommends listing
	// platforms, and OpenTofu ignores them, so the list can be incomplete or empty.
	platforms []provider.Platform
}

func (l listing) newestFirst() []provider.Version {
	return provider.NewestFirst(slices.Collect(maps.Keys(l)))
}

// versionsDocument is the response to :namespace/:type/versions. Its warnings are
// ignored, because they are intended for users who choose a provider. In a module
// registry, the first element of Modules contains the same document for the module.
type versionsDocument struct {
	Modules  []versionsDocument `json:"modules"`
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
	at := registry.at(a, "versions")
	doc, err := httpclient.Get(ctx, c.http, at, httpclient.Request{Header: registry.header(), Limit: maxVersions})
	if httpclient.IsNotFound(err) {
		return nil, fmt.Errorf("%w: %w", c.notFound(), err)
	}
	if err != nil {
		return nil, registry.token.Refused(err)
	}
	var response versionsDocument
	if err := doc.DecodeJSON(&response, maxVersionsValues); err != nil {
		return nil, err
	}
	if c.service == modulesService {
		response = response.ofModule()
	}
	l, err := response.listing(doc)
	if err != nil {
		return nil, doc.Error(fmt.Errorf("GET %s: %w", httpclient.RedactURL(doc.URL), err))
	}
	return l, nil
}

// ofModule returns the document for the module. Like OpenTofu, it ignores other modules
// and allows versions such as v1.0.0.
func (response versionsDocument) ofModule() versionsDocument {
	if len(response.Modules) == 0 {
		return versionsDocument{}
	}
	document := response.Modules[0]
	for i, item := range document.Versions {
		document.Versions[i].Version = strings.TrimPrefix(item.Version, "v")
	}
	return document
}

// listing parses the versions in the document. doc is the response that contained the
// document.
func (response versionsDocument) listing(doc httpclient.Document) (listing, error) {
	if len(response.Versions) > maxListed {
		return nil, fmt.Errorf("list has %d versions; the maximum is %d", len(response.Versions), maxListed)
	}
	l := listing{}
	for _, item := range response.Versions {
		v, err := provider.ParseVersion(item.Version)
		// If a version is written in two ways, the canonical form takes precedence.
		if err != nil || l[v].text == v.String() {
			continue
		}
		if len(item.Platforms) > maxPlatforms {
			return nil, fmt.Errorf("version %s has %d platforms; the maximum is %d", v, len(item.Platforms), maxPlatforms)
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
