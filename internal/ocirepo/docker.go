package ocirepo

import (
	"context"
	"strings"

	"oras.land/oras-go/v2/registry/remote/credentials"
)

// DockerCredentials looks logins up where docker login puts them: in
// $DOCKER_CONFIG or ~/.docker, and in the helpers named there.
func DockerCredentials() (func(ctx context.Context, repository string) (Credential, error), error) {
	store, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, repository string) (Credential, error) {
		registry, _, _ := strings.Cut(repository, "/")
		c, err := credentials.Credential(store)(ctx, registry)
		if err != nil {
			return Credential{}, err
		}
		return Credential{Username: c.Username, Password: c.Password, RefreshToken: c.RefreshToken, AccessToken: c.AccessToken}, nil
	}, nil
}
