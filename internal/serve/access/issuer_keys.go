package access

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
)

const (
	// fetchTime limits the duration of fetching keys, including retries.
	fetchTime = 10 * time.Second
	// fetchPause is the minimum time between two fetches. Issuers publish a key some
	// time before they sign with it.
	fetchPause = time.Minute
	// failurePause is the minimum time between a failed fetch and the next fetch.
	failurePause = 10 * time.Second
	// refreshAfter is the age at which keys are fetched again in the background, so
	// that revoked keys are removed.
	refreshAfter = time.Hour
	// maxKeyAge is the maximum age of keys if the issuer does not respond.
	maxKeyAge = 24 * time.Hour
)

// keyCache contains the keys of all issuers.
type keyCache struct {
	http    *http.Client
	issuers sync.Map // maps URLs to *issuerKeys
}

func (c *keyCache) forIssuer(url string) *issuerKeys {
	known, _ := c.issuers.LoadOrStore(url, &issuerKeys{url: url, http: c.http})
	keys, _ := known.(*issuerKeys)
	return keys
}

// issuerKeys caches an issuer's keys. Anyone can send tokens with unknown keys, so
// issuerKeys limits how often such tokens cause a fetch. The key set of go-oidc would
// fetch the keys for every such token.
type issuerKeys struct {
	url    string
	http   *http.Client
	flight singleflight.Group

	mu   sync.Mutex
	keys []jose.JSONWebKey
	// fetched is the time at which the keys were fetched. requested and lastError
	// describe the last attempt.
	fetched, requested time.Time
	lastError          error
}

// matching returns the keys that can verify a token. It waits for the issuer only if no
// cached key matches. It returns [ErrUnavailable] or the context's error.
func (i *issuerKeys) matching(ctx context.Context, token *jose.JSONWebSignature) ([]jose.JSONWebKey, error) {
	header := token.Signatures[0].Header
	keys, due, _ := i.lookup(header)
	if due {
		done := i.flight.DoChan("", func() (any, error) {
			if _, due, _ := i.lookup(header); due {
				i.fetch(context.WithoutCancel(ctx)) // other callers can wait for this fetch
			}
			return nil, nil
		})
		if len(keys) == 0 {
			select {
			case <-done:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	if len(keys) > 0 {
		return keys, nil
	}
	keys, _, lastError := i.lookup(header)
	if len(keys) == 0 && lastError != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, lastError)
	}
	return keys, nil
}

// lookup returns the matching cached keys and the error of the last fetch. due reports
// whether a fetch is due and allowed.
func (i *issuerKeys) lookup(header jose.Header) (keys []jose.JSONWebKey, due bool, lastError error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	age, pause := time.Since(i.fetched), fetchPause
	if age < maxKeyAge {
		keys = matchingKeys(i.keys, header.KeyID, header.Algorithm)
	}
	if i.lastError != nil {
		pause = failurePause
	}
	due = (len(keys) == 0 || age >= refreshAfter) && time.Since(i.requested) >= pause
	return keys, due, i.lastError
}

// fetch requests the issuer's keys. If the request fails, the previous keys are kept.
func (i *issuerKeys) fetch(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, fmt.Errorf("no response within %s", fetchTime))
	defer cancel()
	keys, err := fetchKeys(ctx, i.http, i.url)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.requested, i.lastError = time.Now(), err
	if err == nil {
		i.keys, i.fetched = keys, i.requested
	}
}

// matchingKeys returns the keys that have the given ID and support an algorithm.
// Without an ID, exactly one key must support the algorithm (section 10.1 of OpenID
// Connect Core).
func matchingKeys(keys []jose.JSONWebKey, id, algorithm string) []jose.JSONWebKey {
	var matching []jose.JSONWebKey
	for _, key := range keys {
		if (id == "" || key.KeyID == id) && supports(key, algorithm) {
			matching = append(matching, key)
		}
	}
	if id == "" && len(matching) > 1 {
		return nil
	}
	return matching
}
