package repository

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
)

// writable implements [Traits.Writable]. It starts the upload of a blob and cancels it,
// because registries check the same permissions as for a push. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-blobs.
func (r *remoteRepository) writable(ctx context.Context) error {
	started, err := r.startUpload(r.pushContext(ctx))
	if err != nil {
		return r.fail("starting an upload to", "", err)
	}
	r.cancel(ctx, started)
	return nil
}

// cancel cancels an upload. If a registry doesn't support canceling, the upload
// expires.
func (r *remoteRepository) cancel(ctx context.Context, started *http.Response) {
	p, err := r.uploadLocation(started)
	if err != nil {
		return
	}
	req, err := http.NewRequestWithContext(r.pushContext(ctx), http.MethodDelete, p.location.String(), nil)
	if err != nil {
		return
	}
	if resp, err := r.remote.Client.Do(req); err == nil {
		_ = resp.Body.Close()
	}
}

// writable implements [Traits.Writable]. It creates and removes a file in the layout or,
// if the layout doesn't exist, in its closest existing parent directory.
func (l *layout) writable(context.Context) error {
	dir := l.dir
	for {
		_, err := os.Stat(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".tofu-oci-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
