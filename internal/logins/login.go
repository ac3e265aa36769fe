package logins

import "context"

// Login gives the login for a repository, "host/name", to a client that needs
// one now: at first, and again whenever the registry refuses the last one. An
// access token that was given more than a minute ago is taken to have expired,
// and is left out when there is an identity token to get another one with.
func (f *Finder) Login(ctx context.Context, repository string) (Credential, error) {
	r, err := parseRepository(repository)
	if err != nil {
		return Credential{}, err
	}
	login, _, err := f.search(ctx, r, f.candidates(r))
	if err != nil {
		return Credential{}, err
	}
	if !login.RegistryToken.IsEmpty() && !login.IdentityToken.IsEmpty() && f.isOld(repository) {
		login.RegistryToken = Secret{}
	}
	return login, nil
}

// isOld notes that an access token is given, and tells whether that was done
// before, and is no request beside the first one.
func (f *Finder) isOld(repository string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, before := f.given[repository]
	if !before {
		f.given[repository] = f.now()
		return false
	}
	return f.now().Sub(at) >= freshness
}
