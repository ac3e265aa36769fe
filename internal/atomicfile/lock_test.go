package atomicfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
)

func TestDoTakesTurns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var group sync.WaitGroup
	var busy, crowds atomic.Int32
	for range 8 {
		group.Go(func() {
			err := atomicfile.WithLock(t.Context(), dir, func() error {
				if busy.Add(1) > 1 {
					crowds.Add(1)
				}
				runtime.Gosched()
				busy.Add(-1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := crowds.Load(); n > 0 {
		t.Errorf("%d times it was not alone", n)
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	err := atomicfile.WithLock(t.Context(), dir, func() error {
		cancel()
		return atomicfile.WithLock(ctx, dir, func() error { return nil })
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDoRefuses(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(dir string) error{
		"a directory in its place": func(dir string) error { return os.Mkdir(filepath.Join(dir, atomicfile.LockName), 0o700) },
		"no directory":             os.Remove,
	} {
		dir := t.TempDir()
		if err := prepare(dir); err != nil {
			t.Fatal(err)
		}
		err := atomicfile.WithLock(t.Context(), dir, func() error {
			t.Errorf("%s: it is locked", name)
			return nil
		})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
