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

// Resolver looks logins up. It lives for one run and may be used by many
// goroutines.
type Resolver struct {
	config cliconfig.Config
	files  func() []file
	now    func() time.Time
	// replies are what helpers answered.
	responses memo.Memo[helperRequest, helperResponse]
	// given tells when [Resolver.Resolve] first gave an access token for a repository.
	issued memo.Memo[string, time.Time]
}

// New returns a finder for a CLI configuration. Files are read when they are first needed.
func New(c cliconfig.Config, e Environment) *Resolver {
	r := &Resolver{config: c, now: time.Now, responses: memo.Memo[helperRequest, helperResponse]{Lifetime: freshness}}
	r.files = sync.OnceValue(func() []file {
		var files []file
		for _, p := range r.fileSpecs(e) {
			files = append(files, readFile(p))
		}
		return files
	})
	return r
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

// named reports whether the configuration names the files itself.
func (r *Resolver) hasConfiguredFiles() bool { return r.config.DefaultLogins.DockerFiles != nil }

// Find returns the login for a repository, "host/name", and says where it came
// from. The zero login is that of everybody. The origin beside an error is the
// source at fault, as far as there is one. To compare with OpenTofu, helpers may
// be asked more than by [Resolver.Resolve].
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

// search asks one source after the other. It gives nil for one when there is no
// login.
func (r *Resolver) search(ctx context.Context, repo repository, all []*candidate) (Credential, *candidate, error) {
	// 1. What the configuration names has to be there.
	if r.hasConfiguredFiles() {
		for _, file := range r.files() {
			if err := file.unusable(); err != nil {
				return Credential{}, nil, err
			}
		}
	}

	// 2. The first that knows a login has it.
	for _, c := range all {
		login, err := r.queryCandidate(ctx, repo, c)
		if err != nil {
			return Credential{}, c, err
		}
		if login.hasSecret() {
			return login, c, nil
		}
	}

	// 3. Perhaps it is in a file that can't be read.
	for _, file := range r.files() {
		if file.err != nil {
			return Credential{}, nil, file.err
		}
	}
	return Credential{}, nil, nil
}

// ask returns what a source knows. What a helper knew, and by which name, is noted.
func (r *Resolver) queryCandidate(ctx context.Context, repo repository, c *candidate) (Credential, error) {
	if c.err != nil || c.origin.Helper == "" {
		return c.credential, c.err
	}
	for _, server := range repo.servers() {
		login, err := r.queryHelper(ctx, helperRequest{helper: c.origin.Helper, server: server})
		if err != nil {
			return Credential{}, fmt.Errorf("asking the helper of %s for %q: %w", c.origin.where(), server, err)
		}
		if login.hasSecret() {
			c.credential, c.origin.Asked = login, server
			return login, nil
		}
	}
	return Credential{}, nil
}

// LoginFrom returns the login for a repository, "host/name", to a client that needs
// one now: at first, and again whenever the registry refuses the last one. An
// access token that was given more than a minute ago is taken to have expired,
// and is left out when there is an identity token to get another one with. The origin
// says where the login came from.
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
