package logins

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// Finder looks logins up. It lives for one run and may be used by many
// goroutines.
type Finder struct {
	config cliconfig.Config
	files  func() []file
	now    func() time.Time
	// replies are what helpers answered.
	replies memo.Memo[question, reply]
	// given tells when [Finder.LoginFrom] first gave an access token for a repository.
	given memo.Memo[string, time.Time]
}

// New returns a finder for a CLI configuration. Files are read when they are first needed.
func New(c cliconfig.Config, e Environment) *Finder {
	f := &Finder{config: c, now: time.Now, replies: memo.Memo[question, reply]{Lifetime: freshness}}
	f.files = sync.OnceValue(func() []file {
		var files []file
		for _, p := range f.places(e) {
			files = append(files, readFile(p))
		}
		return files
	})
	return f
}

func (f *Finder) places(e Environment) []place {
	switch {
	case f.config.DefaultLogins.NoAmbient:
		return nil
	case f.named():
		return listed(f.config.DefaultLogins.DockerFiles)
	}
	return e.places()
}

// named reports whether the configuration names the files itself.
func (f *Finder) named() bool { return f.config.DefaultLogins.DockerFiles != nil }

// Find returns the login for a repository, "host/name", and says where it came
// from. The zero login is that of everybody. The origin beside an error is the
// source at fault, as far as there is one. To compare with OpenTofu, helpers may
// be asked more than by [Finder.LoginFrom].
func (f *Finder) Find(ctx context.Context, repository string) (Credential, Origin, error) {
	r, err := parseRepository(repository)
	if err != nil {
		return Credential{}, Origin{}, err
	}
	all := f.candidates(r)
	login, from, err := f.search(ctx, r, all)
	var origin Origin
	if from != nil {
		origin = from.origin
	}
	if err != nil {
		return Credential{}, origin, err
	}
	if origin.Stops, origin.Why = f.stops(all); origin.Why == "" {
		origin.Why = f.compare(ctx, r, all, from)
	}
	origin.OpenTofu = origin.Why == ""
	return login, origin, nil
}

// search asks one source after the other. It gives nil for one when there is no
// login.
func (f *Finder) search(ctx context.Context, r repository, all []*candidate) (Credential, *candidate, error) {
	// 1. What the configuration names has to be there.
	if f.named() {
		for _, file := range f.files() {
			if err := file.unusable(); err != nil {
				return Credential{}, nil, err
			}
		}
	}

	// 2. The first that knows a login has it.
	for _, c := range all {
		login, err := f.ask(ctx, r, c)
		if err != nil {
			return Credential{}, c, err
		}
		if login.logsIn() {
			return login, c, nil
		}
	}

	// 3. Perhaps it is in a file that can't be read.
	for _, file := range f.files() {
		if file.err != nil {
			return Credential{}, nil, file.err
		}
	}
	return Credential{}, nil, nil
}

// ask returns what a source knows. What a helper knew, and by which name, is noted.
func (f *Finder) ask(ctx context.Context, r repository, c *candidate) (Credential, error) {
	if c.err != nil || c.origin.Helper == "" {
		return c.credential, c.err
	}
	for _, server := range r.servers() {
		login, err := f.askHelper(ctx, question{helper: c.origin.Helper, server: server})
		if err != nil {
			return Credential{}, fmt.Errorf("asking the helper of %s for %q: %w", c.origin.where(), server, err)
		}
		if login.logsIn() {
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
func (f *Finder) LoginFrom(ctx context.Context, repository string) (Credential, Origin, error) {
	r, err := parseRepository(repository)
	if err != nil {
		return Credential{}, Origin{}, err
	}
	login, from, err := f.search(ctx, r, f.candidates(r))
	if err != nil || from == nil {
		return Credential{}, Origin{}, err
	}
	if !login.RegistryToken.IsEmpty() && !login.IdentityToken.IsEmpty() {
		first, _ := f.given.Get(ctx, repository, func(context.Context) (time.Time, error) { return f.now(), nil })
		if f.now().Sub(first) >= freshness {
			login.RegistryToken = text.Secret{}
		}
	}
	return login, from.origin, nil
}
