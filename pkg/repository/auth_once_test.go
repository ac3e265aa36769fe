package repository_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// newBearer starts a registry that requires bearer tokens and returns a repository in
// it.
func newBearer(t *testing.T) (*server, repository.Repository) {
	t.Helper()
	s := newServer(t, registrytest.Options{Username: "user", Password: "password", Bearer: true})
	s.options.Credential = func(context.Context, string) (repository.Credential, error) {
		return repository.Credential{Username: "user", Password: "password"}, nil
	}
	r := s.open(t)
	return s, r
}

// TestTokenOnce checks that concurrent requests share one token, so the registry
// rejects only the first request.
func TestTokenOnce(t *testing.T) {
	t.Parallel()
	const many = 50
	s, r := newBearer(t)
	var group sync.WaitGroup
	for range many {
		group.Go(func() {
			if _, err := r.Stat(t.Context(), blob("content").Descriptor); !errors.Is(err, repository.ErrNotFound) {
				t.Errorf("got %v", err)
			}
		})
	}
	group.Wait()
	if n := s.Requests(); n[registrytest.Token] != 1 || n[registrytest.BlobHead] != many+1 {
		t.Errorf("unexpected requests: %v", n)
	}
}

// TestFirstRequestCanceled checks requests that wait for the response to the first request.
// They continue if the first request is canceled, and they return when their own
// context is canceled.
func TestFirstRequestCanceled(t *testing.T) {
	t.Parallel()
	s, r := newBearer(t)
	arrived := make(chan struct{})
	s.Misbehave(registrytest.BlobHead, func(_ http.ResponseWriter, req *http.Request, _ http.HandlerFunc) {
		close(arrived)
		<-req.Context().Done()
	}, 1)
	ask := func(ctx context.Context) error {
		_, err := r.Stat(ctx, blob("content").Descriptor)
		return err
	}
	first, cancel := context.WithCancel(t.Context())
	defer cancel()
	var group sync.WaitGroup
	group.Go(func() {
		if err := ask(first); !errors.Is(err, context.Canceled) {
			t.Errorf("the first got %v", err)
		}
	})
	<-arrived
	group.Go(func() {
		if err := ask(t.Context()); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("who waited got %v", err)
		}
	})
	ended, end := context.WithCancel(t.Context())
	end()
	if err := ask(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up got %v", err)
	}
	cancel()
	group.Wait()
}
