package oidc

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// fetchTime bounds the fetching of keys, retries included.
	fetchTime = 10 * time.Second
	// pause is between two fetches. Issuers publish a key some time before they
	// sign with it.
	pause = time.Minute
	// failurePause is the pause after a fetch that failed.
	failurePause = 10 * time.Second
	// refreshAfter is how old keys are when they are fetched again in the
	// background, so that those which the issuer took back go.
	refreshAfter = time.Hour
	// maxAge is how old keys may be while the issuer does not answer.
	maxAge = 24 * time.Hour
)

// issuer keeps the keys of one.
type issuer struct {
	url  string
	http *http.Client

	mu   sync.Mutex
	keys []jose.JSONWebKey
	// fetched is when the keys were, tried when the last fetch ended, and failed
	// how.
	fetched, tried time.Time
	failed         error
	// fetching is closed when the fetch that is under way ends; nil without one.
	fetching chan struct{}
}

// keysFor gives the keys that may have signed a token, with its key ID and
// algorithm. It waits for the issuer only when no known key fits.
func (i *issuer) keysFor(ctx context.Context, id, algorithm string) ([]jose.JSONWebKey, error) {
	keys, fetching := i.look(ctx, id, algorithm)
	if len(keys) > 0 {
		return keys, nil
	}
	if fetching != nil {
		select {
		case <-fetching:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		keys, _ = i.look(ctx, id, algorithm)
	}
	if len(keys) > 0 {
		return keys, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failed != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, i.failed)
	}
	return nil, fmt.Errorf("%w: the issuer has no such key", ErrInvalid)
}

// look gives the known keys that fit, and begins a fetch when that is due and allowed;
// fetching ends with it.
func (i *issuer) look(ctx context.Context, id, algorithm string) (keys []jose.JSONWebKey, fetching <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	age := time.Since(i.fetched)
	if age < maxAge {
		keys = fitting(i.keys, id, algorithm)
	}
	wait := pause
	if i.failed != nil {
		wait = failurePause
	}
	due := len(keys) == 0 || age >= refreshAfter
	if due && i.fetching == nil && time.Since(i.tried) >= wait {
		i.fetching = make(chan struct{})
		go i.fetch(context.WithoutCancel(ctx))
	}
	return keys, i.fetching
}

// fetch gets the keys anew, for all who wait: ctx does not end with one that goes
// away.
func (i *issuer) fetch(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, fmt.Errorf("no answer for %s", fetchTime))
	defer cancel()
	keys, err := fetchKeys(ctx, i.http, i.url)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tried, i.failed = time.Now(), err
	if err == nil {
		i.keys, i.fetched = keys, i.tried
	}
	close(i.fetching)
	i.fetching = nil
}

// fitting gives the keys with an ID that are for an algorithm. A token without an ID
// fits when there is one such key and no more, as OpenID Connect Core 10.1 has it.
func fitting(keys []jose.JSONWebKey, id, algorithm string) []jose.JSONWebKey {
	var fit []jose.JSONWebKey
	for _, key := range keys {
		if (id == "" || key.KeyID == id) && isFor(key, algorithm) {
			fit = append(fit, key)
		}
	}
	if id == "" && len(fit) > 1 {
		return nil
	}
	return fit
}
