package repository_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestCopyAcquires checks that Copy calls Acquire and release once for each blob that
// it sends. Copy does not call Acquire for existing blobs.
func TestCopyAcquires(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		from.fill(t)
		var turn, mu sync.Mutex // one blob at a time
		acquired, size := 0, int64(0)
		o := repository.CopyOptions{Acquire: func(_ context.Context, n int64) (func(), error) {
			turn.Lock()
			mu.Lock()
			defer mu.Unlock()
			acquired, size = acquired+1, size+n
			return turn.Unlock, nil
		}}
		done := from.wantCopied(t, to, o)
		if acquired != done.Blobs || size != done.Bytes || acquired == 0 {
			t.Errorf("%d blobs of %d bytes waited, not %+v", acquired, size, done)
		}
		from.wantCopied(t, to, o)
		if acquired != done.Blobs {
			t.Errorf("%d more waited", acquired-done.Blobs)
		}
	})
}

var errNoTurn = errors.New("no turn")

func TestCopyAcquiresNothing(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		from.fill(t)
		_, err := from.copyTo(t, to, repository.CopyOptions{Acquire: func(context.Context, int64) (func(), error) { return nil, errNoTurn }})
		if !errors.Is(err, errNoTurn) || to.at(t, tag) != "" {
			t.Errorf("got %v", err)
		}
	})
}

// TestCopySendsOnce checks that Copy sends all blobs with Once, and only once.
func TestCopySendsOnce(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		from.fill(t)
		var mu sync.Mutex
		sent := map[digest.Digest]int{}
		done := from.wantCopied(t, to, repository.CopyOptions{Once: func(ctx context.Context, blob digest.Digest, send func(context.Context) error) error {
			mu.Lock()
			sent[blob]++
			mu.Unlock()
			return send(ctx)
		}})
		if len(sent) != done.Blobs || done.Blobs == 0 {
			t.Errorf("%d blobs were sent with Once, not %d", len(sent), done.Blobs)
		}
		for blob, n := range sent {
			if n != 1 {
				t.Errorf("%s was sent %d times", blob, n)
			}
		}
	})
}
