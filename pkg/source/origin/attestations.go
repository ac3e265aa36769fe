package origin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/internal/sigstore"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxBundles is the maximum number of attestations per package. A package usually has
// provenance, and sometimes an SBOM.
const maxBundles = 30

const (
	// maxAttestations is the maximum total size of a release's attestations in bytes. All
	// of them are stored in memory.
	maxAttestations = 2 * sigstore.MaxSize
	// maxAttestationValues is the maximum number of JSON values in GitHub's response.
	maxAttestationValues = 64 << 10
)

// GitHub finds attestations for releases that are hosted on GitHub. Use [GitHubFromEnv]
// to create it.
type GitHub struct {
	// byHost maps hosts of repositories to their API.
	byHost map[string]githubAPI

	mu sync.Mutex
	// limits contains the latest rate limit of each host.
	limits map[string]rateLimit
}

// rateLimit is a response that limits requests. Its host receives no requests until the
// limit ends.
type rateLimit struct {
	until time.Time
	err   provider.StatusError
}

const (
	// defaultPause is the duration of a rate limit if the host doesn't specify it.
	defaultPause = 5 * time.Minute
	// maxPause is the maximum duration of a rate limit. GitHub's limits end within an
	// hour.
	maxPause = time.Hour
)

type githubAPI struct {
	base  *url.URL
	token text.Secret
}

// GitHubFromEnv returns the configuration for github.com and for the server in
// GITHUB_SERVER_URL, whose API is at GITHUB_API_URL. The token in GH_TOKEN or
// GITHUB_TOKEN is optional, and is sent only to this API. If neither URL is set, the
// token is sent to api.github.com. Both URLs must use https.
func GitHubFromEnv(env func(string) string) (*GitHub, error) {
	g := &GitHub{byHost: map[string]githubAPI{}, limits: map[string]rateLimit{}}
	public := &url.URL{Scheme: "https", Host: "api.github.com"}
	g.byHost["github.com"] = githubAPI{base: public}
	server, err := url.Parse(cmp.Or(env("GITHUB_SERVER_URL"), "https://github.com"))
	if err != nil {
		return nil, provider.Errorf(provider.Misuse, "invalid GITHUB_SERVER_URL")
	}
	api, err := url.Parse(env("GITHUB_API_URL"))
	switch {
	case err != nil || api.Host != "" && (api.Scheme != "https" || api.User != nil):
		return nil, provider.Errorf(provider.Misuse, "invalid GITHUB_API_URL: want an https URL without credentials")
	case api.Host == "" && server.Host == "github.com":
		api = public
	case api.Host == "":
		api = server.JoinPath("api/v3")
	}
	if server.Scheme != "https" {
		return nil, provider.Errorf(provider.Misuse, "invalid GITHUB_SERVER_URL: want an https URL")
	}
	g.byHost[server.Host] = githubAPI{base: api, token: text.NewSecret(cmp.Or(env("GH_TOKEN"), env("GITHUB_TOKEN")))}
	return g, nil
}

// releaseURL matches the path of a file in a GitHub release.
var releaseURL = regexp.MustCompile(`^/([A-Za-z0-9-]+)/([A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*)/releases/download/`)

// query returns the request for the attestations of a zip. ok is false if the zip isn't in
// a GitHub release.
func (g *GitHub) query(zip *url.URL, d digest.Digest) (at *url.URL, header http.Header, ok bool) {
	api, known := g.byHost[zip.Host]
	found := releaseURL.FindStringSubmatch(zip.Path)
	if !known || found == nil {
		return nil, nil, false
	}
	at = api.base.JoinPath("repos", found[1], found[2], "attestations", d.String())
	at.RawQuery = url.Values{"per_page": {fmt.Sprint(maxBundles)}}.Encode()
	header = http.Header{"Accept": {"application/vnd.github+json"}}
	if !api.token.IsEmpty() {
		header.Set("Authorization", "Bearer "+api.token.Reveal())
	}
	return at, header, true
}

// limited returns the response that limits requests to a host. It returns nil if the
// host has no limit, or if the limit has ended.
func (g *GitHub) limited(host string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.limits[host]
	if l.err.RetryAfter = time.Until(l.until); l.err.RetryAfter <= 0 {
		return nil
	}
	return &l.err
}

// noteLimit records a rate limit, and ignores other errors. GitHub responds with 429, or
// with 403 and the time when the limit ends. Without this time, 403 means that the token
// can't read the repository.
func (g *GitHub) noteLimit(host string, err error) {
	status, ok := errors.AsType[*provider.StatusError](err)
	if !ok || status.Status != http.StatusTooManyRequests && (status.Status != http.StatusForbidden || status.RetryAfter == 0) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limits[host] = rateLimit{time.Now().Add(min(cmp.Or(status.RetryAfter, defaultPause), maxPause)), *status}
}

// bundle is a Sigstore bundle with its parsed content.
type bundle struct {
	sigstore.Bundle
	bytes []byte
}

// attestations implements the capability Attestations. To save requests, the bundles of
// the first package are reused for each package that all these bundles cover. If the
// first package has no bundles, attestations doesn't look for the bundles of other
// packages.
func (s *Source) attestations(ctx context.Context, r provider.Release) (map[digest.Digest][]provider.Document, error) {
	all := map[digest.Digest][]provider.Document{}
	var first []bundle
	left := maxAttestations
	for i, p := range r.Packages {
		found := first
		if i == 0 || slices.ContainsFunc(first, func(b bundle) bool { return !b.Covers(p.Digest) }) {
			var err error
			if found, err = s.bundlesOf(ctx, p); err != nil {
				return all, fmt.Errorf("attestations for %s: %w", p.Filename, err)
			}
			for _, b := range found {
				left -= len(b.bytes)
			}
			if left < 0 {
				return nil, provider.Errorf(provider.Refused, "attestations of the release exceed %d bytes", maxAttestations)
			}
		}
		if i == 0 {
			first = found
			if err := s.addSumsBundle(ctx, r, all); err != nil {
				return all, err
			}
		}
		if len(first) == 0 {
			return all, nil
		}
		for _, b := range found {
			d := digest.FromBytes(b.bytes)
			all[p.Digest] = append(all[p.Digest], artifact.NewDocument(artifact.AttestationName(p.Filename, d), artifact.MediaTypeSigstore, b.bytes))
		}
	}
	return all, nil
}

// addSumsBundle adds the Sigstore bundle for SHA256SUMS, which is next to the zips.
func (s *Source) addSumsBundle(ctx context.Context, r provider.Release, all map[digest.Digest][]provider.Document) error {
	sums, has := r.Document(provider.KindSums)
	zip, ok := r.Packages[0].Locator.(*url.URL)
	if !has || !ok {
		return nil
	}
	found, err := s.assets(ctx, zip.JoinPath("..", sums.Name), sums.Digest)
	for _, b := range found {
		all[sums.Digest] = append(all[sums.Digest], artifact.NewDocument(sums.Name+".sigstore.json", artifact.MediaTypeSigstore, b.bytes))
	}
	return err
}

// bundlesOf returns the bundles that cover a package's zip. It requests GitHub's
// attestations or, if GitHub has none, files next to the zip.
func (s *Source) bundlesOf(ctx context.Context, p provider.Package) ([]bundle, error) {
	zip, ok := p.Locator.(*url.URL)
	if !ok {
		return nil, provider.ErrWrongSource
	}
	if at, header, hosted := s.github.query(zip, p.Digest); hosted {
		found, err := s.hosted(ctx, at, header, p.Digest)
		if len(found) > 0 || err != nil {
			return found, err
		}
	}
	return s.assets(ctx, zip, p.Digest)
}

// hosted returns the bundles that GitHub's API lists.
func (s *Source) hosted(ctx context.Context, at *url.URL, header http.Header, subject digest.Digest) ([]bundle, error) {
	if err := s.github.limited(at.Host); err != nil {
		return nil, err
	}
	doc, err := s.small(ctx, at, header, maxAttestations)
	if httpclient.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		s.github.noteLimit(at.Host, err)
		return nil, err
	}
	var list struct {
		Attestations []struct {
			Bundle json.RawMessage `json:"bundle"`
			URL    string          `json:"bundle_url"`
		} `json:"attestations"`
	}
	if err := doc.DecodeJSON(&list, maxAttestationValues); err != nil {
		return nil, err
	}
	if len(list.Attestations) > maxBundles || strings.Contains(doc.Header.Get("Link"), `rel="next"`) {
		return nil, provider.Errorf(provider.Refused, "GET %s: more than %d attestations", httpclient.RedactURL(at), maxBundles)
	}
	var found []bundle
	left := maxAttestations
	for _, a := range list.Attestations {
		data := []byte(a.Bundle)
		if len(data) == 0 || string(data) == "null" {
			if data, err = s.compressed(ctx, a.URL); err != nil {
				return nil, err
			}
		}
		if left -= len(data); left < 0 {
			return nil, provider.Errorf(provider.Refused, "attestations exceed %d bytes", maxAttestations)
		}
		b, err := parseBundle(data, subject)
		if err != nil {
			return nil, fmt.Errorf("GET %s: %w", httpclient.RedactURL(at), err)
		}
		found = append(found, b)
	}
	return found, nil
}

// compressed returns the bundle at a bundle_url. The URL is signed, so it needs no
// credentials. The body is compressed in snappy's block format.
func (s *Source) compressed(ctx context.Context, location string) ([]byte, error) {
	at, err := url.Parse(location)
	if err != nil || at.Scheme != "https" || at.Host == "" || at.User != nil {
		return nil, provider.Errorf(provider.Refused, "invalid bundle_url: want an https URL without credentials")
	}
	doc, err := s.small(ctx, at, nil, sigstore.MaxSize)
	if err != nil {
		return nil, err
	}
	size, err := s2.DecodedLen(doc.Bytes)
	if err == nil && size > sigstore.MaxSize {
		return nil, provider.Errorf(provider.Refused, "GET %s: Sigstore bundle exceeds %d bytes", httpclient.RedactURL(at), sigstore.MaxSize)
	}
	var data []byte
	if err == nil {
		data, err = s2.Decode(nil, doc.Bytes)
	}
	if err != nil {
		return nil, provider.Errorf(provider.Refused, "GET %s: decompressing the Sigstore bundle: %v", httpclient.RedactURL(at), err)
	}
	return data, nil
}

// assets returns the Sigstore bundle next to a file, such as FILE.sigstore.json. It ignores
// files in other formats, and returns an error for bundles that cover other content.
func (s *Source) assets(ctx context.Context, file *url.URL, subject digest.Digest) ([]bundle, error) {
	for _, suffix := range []string{".sigstore.json", ".bundle"} {
		at := *file
		at.Path, at.RawPath = file.Path+suffix, ""
		doc, err := s.small(ctx, &at, nil, sigstore.MaxSize)
		var status *provider.StatusError
		if errors.As(err, &status) && slices.Contains([]int{http.StatusNotFound, http.StatusForbidden, http.StatusGone}, status.Status) {
			continue // storage services respond with 403 for missing files
		}
		if err != nil {
			return nil, err
		}
		if _, err := sigstore.Parse(doc.Bytes); err != nil {
			continue
		}
		b, err := parseBundle(doc.Bytes, subject)
		if err != nil {
			return nil, fmt.Errorf("GET %s: %w", httpclient.RedactURL(&at), err)
		}
		return []bundle{b}, nil
	}
	return nil, nil
}

func parseBundle(data []byte, subject digest.Digest) (bundle, error) {
	parsed, err := sigstore.Parse(data)
	if err == nil && !parsed.Covers(subject) {
		err = errOtherSubject
	}
	return bundle{parsed, data}, err
}

var errOtherSubject = provider.Errorf(provider.Refused, "Sigstore bundle is for different content")

// small requests a document and reserves memory for it, because many releases are read
// concurrently. If small must wait for memory, it repeats the request later.
func (s *Source) small(ctx context.Context, at *url.URL, header http.Header, limit int64) (httpclient.Document, error) {
	doc, err := s.get(ctx, at, header, min(limit, schedule.MaxShared))
	isLarge := errors.Is(err, httpclient.ErrTooLarge) && limit > schedule.MaxShared
	if err != nil && !isLarge {
		return doc, err
	}
	size := int64(len(doc.Bytes))
	if isLarge {
		size = limit
	}
	wait := schedule.ReserveMemory(ctx, size)
	if wait != nil {
		doc = httpclient.Document{}
		if err := wait(); err != nil {
			return doc, err
		}
	}
	if isLarge || wait != nil {
		return s.get(ctx, at, header, limit)
	}
	return doc, nil
}

// get requests a document. The request occupies a slot of the pool.
func (s *Source) get(ctx context.Context, at *url.URL, header http.Header, limit int64) (httpclient.Document, error) {
	release, err := s.downloads.Pool.Acquire(ctx, at.Host)
	if err != nil {
		return httpclient.Document{}, err
	}
	defer release()
	return httpclient.Get(ctx, s.downloads.Client, at, httpclient.Request{Header: header, Limit: limit})
}
