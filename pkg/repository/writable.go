package repository

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
)

// writable is the trait of that name. It begins the upload of a blob, to which a
// registry answers as it would to a push, and cancels it: nothing has been sent.
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pushing-blobs
func (r *remoteRepository) writable(ctx context.Context) error {
	begun, err := r.startUpload(r.pushContext(ctx))
	if err != nil {
		return r.fail("beginning an upload to", "", err)
	}
	r.cancel(ctx, begun)
	return nil
}

// cancel ends an upload. A registry that can't do that forgets it after a while.
func (r *remoteRepository) cancel(ctx context.Context, begun *http.Response) {
	p, err := r.uploadLocation(begun)
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

// writable is the trait of that name: a file can be made in the layout, or in the
// directory that is there of its path. It is gone again.
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
