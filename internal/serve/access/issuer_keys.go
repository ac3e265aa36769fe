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
	// fetchTime limits a request for keys, including retries.
	fetchTime = 10 * time.Second
	// fetchPause is the time between two requests. Issuers publish a key some time before
	// they sign with it.
	fetchPause = time.Minute
	// failurePause is the time after a failed request.
	failurePause = 10 * time.Second
	// refreshAfter is the age at which keys are requested again in the background, so that
	// revoked keys disappear.
	refreshAfter = time.Hour
	// maxKeyAge is the maximum age of keys if the issuer does not respond.
	maxKeyAge = 24 * time.Hour
)

// keyCache has the keys of all issuers.
type keyCache struct {
	http    *http.Client
	issuers sync.Map // URL → *issuerKeys
}

func (c *keyCache) of(url string) *issuerKeys {
	known, _ := c.issuers.LoadOrStore(url, &issuerKeys{url: url, http: c.http})
	keys, _ := known.(*issuerKeys)
	return keys
}

// issuerKeys caches the keys of an issuer. Anyone can send tokens with unknown keys, so
// they cause few requests. The key set of go-oidc sends one for each.
type issuerKeys struct {
	url    string
	http   *http.Client
	flight singleflight.Group

	mu   sync.Mutex
	keys []jose.JSONWebKey
	// fetched is the time of the keys, and tried that of the last request, which ended with
	// failed.
	fetched, requested time.Time
	lastError          error
}

// matching returns the keys that can verify a token. It only waits for the issuer if
// no known key matches. Errors are [ErrUnavailable] and those of the context.
func (i *issuerKeys) matching(ctx context.Context, token *jose.JSONWebSignature) ([]jose.JSONWebKey, error) {
	header := token.Signatures[0].Header
	keys, due, _ := i.lookup(header)
	if due {
		done := i.flight.DoChan("", func() (any, error) {
			if _, due, _ := i.lookup(header); due {
				i.fetch(context.WithoutCancel(ctx)) // others wait for it, too
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

// look returns the known keys that match, and whether a request is due and allowed.
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

// fetch requests the keys.
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

// matchingKeys returns the keys with an ID that are for an algorithm. A token without an
// ID matches only a single key, see section 10.1 of OpenID Connect Core.
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
