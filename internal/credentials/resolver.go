package credentials

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// Resolver finds credentials. It is safe for concurrent use. A long-lived Resolver uses
// changed files after a minute.
type Resolver struct {
	config cliconfig.Config
	now    func() time.Time
	// timeouts limits the calls of helpers.
	timeouts timeouts
	// responses caches the responses from helpers.
	responses memo.Memo[helperRequest, helperResponse]
	// issued records when [Resolver.Resolve] first returned an access token for a
	// repository.
	issued memo.Memo[string, time.Time]

	mu sync.Mutex
	// cached contains the files as they were last read. readAt is when they were read.
	cached []file
	readAt time.Time
}

// New returns a resolver for a CLI configuration. The resolver reads files when they
// are needed.
func New(c cliconfig.Config, e Environment) *Resolver {
	r := &Resolver{config: c, now: time.Now, timeouts: e.helperTimeouts(), responses: memo.Memo[helperRequest, helperResponse]{Lifetime: freshness}}
	for _, p := range r.fileSpecs(e) {
		r.cached = append(r.cached, file{fileSpec: p})
	}
	return r
}

// files returns the files with their content, which is at most a minute old.
func (r *Resolver) files() []file {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.now(); r.readAt.IsZero() || now.Sub(r.readAt) >= freshness {
		files := make([]file, len(r.cached)) // callers might use the previous slice
		for i, f := range r.cached {
			files[i] = f.read()
		}
		r.cached, r.readAt = files, now
	}
	return r.cached
}

func (r *Resolver) fileSpecs(e Environment) []fileSpec {
	switch {
	case r.config.DefaultLogins.NoAmbient:
		return nil
	case r.hasConfiguredFiles():
		return configuredFiles(r.config.DefaultLogins.DockerFiles)
	}
	return e.files()
}

// hasConfiguredFiles reports whether the configuration specifies which credentials
// files to read.
func (r *Resolver) hasConfiguredFiles() bool { return r.config.DefaultLogins.DockerFiles != nil }

// Find returns the credentials for a repository, "host/name", and their origin. Empty
// credentials mean anonymous access. If Find returns an error, the origin is the source
// that caused the error, if any. Find compares its result with OpenTofu's result, so it
// can query helpers more often than [Resolver.Resolve].
func (r *Resolver) Find(ctx context.Context, repository string) (Credential, Origin, error) {
	repo, err := parseRepository(repository)
	if err != nil {
		return Credential{}, Origin{}, err
	}
	all := r.candidates(repo)
	login, from, err := r.search(ctx, repo, all)
	var origin Origin
	if from != nil {
		origin = from.origin
	}
	if err != nil {
		return Credential{}, origin, err
	}
	if origin.Stops, origin.Why = r.stops(all); origin.Why == "" {
		origin.Why = r.compare(ctx, repo, all, from)
	}
	origin.OpenTofu = origin.Why == ""
	return login, origin, nil
}

// search queries the sources one after the other. If no source has credentials, search
// returns a nil candidate.
func (r *Resolver) search(ctx context.Context, repo repository, all []*candidate) (Credential, *candidate, error) {
	// 1. Check the files that the configuration specifies. They must exist.
	if r.hasConfiguredFiles() {
		for _, file := range r.files() {
			if err := file.unusable(); err != nil {
				return Credential{}, nil, err
			}
		}
	}

	// 2. Use the first source with credentials.
	for _, c := range all {
		login, err := r.queryCandidate(ctx, repo, c)
		if err != nil {
			return Credential{}, c, err
		}
		if login.hasSecret() {
			return login, c, nil
		}
	}

	// 3. Return an error if a file cannot be read, because it might contain the
	// credentials.
	for _, file := range r.files() {
		if file.err != nil {
			return Credential{}, nil, file.err
		}
	}
	return Credential{}, nil, nil
}

// queryCandidate returns a source's credentials. If the source is a helper, it records
// the result and the server name.
func (r *Resolver) queryCandidate(ctx context.Context, repo repository, c *candidate) (Credential, error) {
	if c.err != nil || c.origin.Helper == "" {
		return c.credential, c.err
	}
	for _, server := range repo.servers() {
		login, err := r.queryHelper(ctx, helperRequest{helper: c.origin.Helper, server: server})
		if err != nil {
			return Credential{}, fmt.Errorf("querying the helper in %s for %q: %w", c.origin.where(), server, err)
		}
		if login.hasSecret() {
			c.credential, c.origin.Asked = login, server
			return login, nil
		}
	}
	return Credential{}, nil
}

// Resolve returns the credentials for a repository, "host/name", and their origin. A
// client calls Resolve before its first request, and again whenever the registry
// rejects the credentials. An access token that was first returned more than a minute
// ago is considered expired. Resolve omits an expired token if an identity token is
// available to obtain a new one.
func (r *Resolver) Resolve(ctx context.Context, repository string) (Credential, Origin, error) {
	repo, err := parseRepository(repository)
	if err != nil {
		return Credential{}, Origin{}, err
	}
	login, from, err := r.search(ctx, repo, r.candidates(repo))
	if err != nil || from == nil {
		return Credential{}, Origin{}, err
	}
	if !login.RegistryToken.IsEmpty() && !login.IdentityToken.IsEmpty() {
		first, _ := r.issued.Get(ctx, repository, func(context.Context) (time.Time, error) { return r.now(), nil })
		if r.now().Sub(first) >= freshness {
			login.RegistryToken = text.Secret{}
		}
	}
	return login, from.origin, nil
}
