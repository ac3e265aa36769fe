package serve

import (
	"context"
	"io"
	"sync"

	"github.com/tofu-oci/tofu-oci/internal/serve/spool"
)

// downloads shares downloads of zips from registries between clients.
type downloads struct {
	pool *spool.Pool
	// ctx is canceled when the server is closed. goroutines counts the goroutines that use
	// ctx.
	ctx        context.Context //nolint:containedctx // it is the context of goroutines, not of a call
	cancel     context.CancelFunc
	goroutines sync.WaitGroup

	mu      sync.Mutex
	running map[contentKey]*spool.Spool
}

// newDownloads returns downloads that store zips temporarily in the store's directory.
func newDownloads(o Options) *downloads {
	d := &downloads{running: map[contentKey]*spool.Spool{}}
	if o.Store != nil {
		d.pool = spool.NewPool(o.Store.Dir(), spool.DefaultMaxDisk, nil)
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// close cancels all downloads and waits until they have stopped.
func (d *downloads) close() {
	d.mu.Lock()
	d.cancel()
	d.mu.Unlock()
	d.goroutines.Wait()
}

// join joins the download of a zip. If no download is running, it starts one with open.
// The caller must release the result. When no callers remain, the download is canceled.
func (d *downloads) join(key contentKey, name string, open func(context.Context) (io.ReadCloser, int64, error)) *spool.Spool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.running[key]; s != nil && s.Retain() {
		return s
	}
	s := d.pool.New(name, open)
	if d.ctx.Err() != nil { // the server is closed
		s.Run(d.ctx)
		return s
	}
	d.running[key] = s
	d.goroutines.Go(func() {
		s.Run(d.ctx)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.running[key] == s {
			delete(d.running, key)
		}
	})
	return s
}
