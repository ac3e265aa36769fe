package publish

import (
	"context"

	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/schedule"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Shared is what releases that are published one after the other, or at the same
// time, need to find out once: whose a repository is, and that a missing one was
// made. The zero value is ready.
type Shared struct {
	owners memo.Memo[ownedBy, struct{}]
	made   memo.Memo[string, error]
}

type ownedBy struct {
	repository string
	provider   provider.Address
}

// checkOwner asks unless the repository was seen to be the provider's, or nobody's
// yet.
func (s *Shared) checkOwner(ctx context.Context, key ownedBy, ask func(context.Context) error) error {
	_, err := s.owners.Get(ctx, key, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, ask(schedule.Unweighed(ctx)) // others wait for the answer
	})
	return err
}

// create makes a repository once. A failure is remembered as well: a program that
// could not make it is not run for each release again.
func (s *Shared) create(ctx context.Context, repository string, create func(context.Context) error) error {
	failure, err := s.made.Get(ctx, repository, func(ctx context.Context) (error, error) {
		err := create(ctx)
		if ctx.Err() != nil {
			return nil, err
		}
		return err, nil
	})
	if err != nil {
		return err
	}
	return failure
}
