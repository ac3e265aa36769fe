package logins

import "context"

// Login gives the login for a repository, "host/name", to a client that needs
// one now: at first, and again whenever the registry refuses the last one. An
// access token that was given more than a minute ago is taken to have expired,
// and is left out when there is an identity token to get another one with.
func (f *Finder) Login(ctx context.Context, repository string) (Credential, error) {
	login, _, err := f.LoginFrom(ctx, repository)
	return login, err
}

// LoginFrom is [Finder.Login], and says where the login came from.
func (f *Finder) LoginFrom(ctx context.Context, repository string) (Credential, Origin, error) {
	r, err := parseRepository(repository)
	if err != nil {
		return Credential{}, Origin{}, err
	}
	login, from, err := f.search(ctx, r, f.candidates(r))
	if err != nil || from == nil {
		return Credential{}, Origin{}, err
	}
	if !login.RegistryToken.IsEmpty() && !login.IdentityToken.IsEmpty() && f.isOld(repository) {
		login.RegistryToken = Secret{}
	}
	return login, from.origin, nil
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
