package repository_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

func TestMissingContent(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		missing := blob("never pushed").Descriptor
		if tags, err := open().Tags(t.Context()); !errors.Is(err, repository.ErrNoRepository) {
			t.Errorf("Tags: %v, %v", tags, err)
		}
		for _, reference := range []string{"1.2.3", missing.Digest.String()} {
			_, _, err := open().Manifest(t.Context(), reference)
			if !errors.Is(err, repository.ErrNotFound) && !errors.Is(err, repository.ErrNoRepository) {
				t.Errorf("Manifest %s: %v", reference, err)
			}
			if err != nil && !strings.Contains(err.Error(), reference) {
				t.Errorf("the error does not name %s: %v", reference, err)
			}
		}
		if _, err := open().Stat(t.Context(), missing); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("Stat: %v", err)
		}
		if _, err := open().Blob(t.Context(), missing); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("Blob: %v", err)
		}
	})
}

func TestNotFoundAmongOthers(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		pushTag(t, open(), index(t, "a"), "1.0.0", "")
		for _, reference := range []string{"1.2.3", blob("x").Descriptor.Digest.String()} {
			if _, _, err := open().Manifest(t.Context(), reference); !errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository) {
				t.Errorf("Manifest %s: %v", reference, err)
			}
		}
	})
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		b, x := blob("a zip, say"), index(t, "a")
		if err := open().PushBlob(t.Context(), b.Descriptor, streamed(b.Bytes)); err != nil {
			t.Fatal(err)
		}
		// Pushing the blob again is not an error.
		pushBlob(t, open(), b)
		if size, err := open().Stat(t.Context(), b.Descriptor); size != 10 || err != nil {
			t.Errorf("Stat: %d, %v", size, err)
		}
		body, err := open().Blob(t.Context(), b.Descriptor)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil || string(got) != "a zip, say" {
			t.Errorf("Blob: %q, %v", got, err)
		}
		if err := open().PushManifest(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		pushTag(t, open(), x, "1.2.3", "")
		for _, reference := range []string{"1.2.3", x.Descriptor.Digest.String()} {
			d, got, err := open().Manifest(t.Context(), reference)
			if err != nil || d.Digest != x.Descriptor.Digest || d.Size != x.Descriptor.Size || !bytes.Equal(got, x.Bytes) {
				t.Errorf("Manifest %s: %+v %s, %v", reference, d, got, err)
			}
		}
	})
}

func TestTags(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		want := []string{"1.0.0", "1.0.0-rc1", "1.0.0_build", "latest"}
		for _, tag := range []string{"latest", "1.0.0", "1.0.0_build", "1.0.0-rc1"} {
			pushTag(t, open(), index(t, tag), tag, "")
		}
		got, err := open().Tags(t.Context())
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	})
}

func TestPushTagComparesFirst(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		a, b, c := index(t, "a"), index(t, "b"), index(t, "c")
		if err := open().PushTag(t.Context(), a, "1.0.0", c.Descriptor.Digest); !errors.Is(err, repository.ErrTagMoved) {
			t.Errorf("a tag that vanished: %v", err)
		}
		pushTag(t, open(), a, "1.0.0", "")
		for name, was := range map[string]digest.Digest{"was not there": "", "was another": c.Descriptor.Digest} {
			err := open().PushTag(t.Context(), b, "1.0.0", was)
			if !errors.Is(err, repository.ErrTagMoved) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if d, _, err := open().Manifest(t.Context(), "1.0.0"); d.Digest != a.Descriptor.Digest || err != nil {
			t.Errorf("the tag was changed: %s, %v", d.Digest, err)
		}
		pushTag(t, open(), b, "1.0.0", a.Descriptor.Digest)
		if d, _, err := open().Manifest(t.Context(), "1.0.0"); d.Digest != b.Descriptor.Digest || err != nil {
			t.Errorf("the tag was not changed: %s, %v", d.Digest, err)
		}
		if tags, err := open().Tags(t.Context()); len(tags) != 1 || err != nil {
			t.Errorf("tags: %v, %v", tags, err)
		}
	})
}

func TestPushWrongBlob(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		for name, text := range map[string]string{"other bytes": "wrong", "too few": "righ", "too many": "wright", "nothing": ""} {
			right := blob("right")
			if err := open().PushBlob(t.Context(), right.Descriptor, streamed([]byte(text))); err == nil {
				t.Errorf("%s: no error", name)
			}
			if size, err := open().Stat(t.Context(), right.Descriptor); !errors.Is(err, repository.ErrNotFound) {
				t.Errorf("%s: stored %d bytes, %v", name, size, err)
			}
		}
	})
}

func TestManifestTooLarge(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		for name, test := range map[string]struct {
			size int
			fine bool
		}{"at the limit": {artifact.MaxManifestSize, true}, "over it": {artifact.MaxManifestSize + 1, false}} {
			text := fmt.Sprintf(`{"manifests":[],"x":%q}`, name)
			text += strings.Repeat(" ", test.size-len(text))
			m := blob(text)
			m.Descriptor.MediaType = "application/vnd.example+json"
			if err := open().PushManifest(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			_, _, err := open().Manifest(t.Context(), m.Descriptor.Digest.String())
			_, isFormat := errors.AsType[*artifact.FormatError](err)
			if test.fine != (err == nil) || test.fine == isFormat {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestCanceled checks that each method returns the error of a canceled context.
func TestCanceled(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		b, x, y := blob("content"), index(t, "a"), index(t, "b")
		pushBlob(t, open(), b)
		pushTag(t, open(), x, "1.0.0", "")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, do := range map[string]func(repository.Repository) error{
			"Tags":     func(r repository.Repository) error { _, err := r.Tags(ctx); return err },
			"Manifest": func(r repository.Repository) error { _, _, err := r.Manifest(ctx, "1.0.0"); return err },
			"Blob":     func(r repository.Repository) error { _, err := r.Blob(ctx, b.Descriptor); return err },
			"Stat":     func(r repository.Repository) error { _, err := r.Stat(ctx, b.Descriptor); return err },
			"PushBlob": func(r repository.Repository) error {
				return r.PushBlob(ctx, blob("new").Descriptor, streamed([]byte("new")))
			},
			"PushManifest": func(r repository.Repository) error { return r.PushManifest(ctx, y) },
			"PushTag":      func(r repository.Repository) error { return r.PushTag(ctx, y, "1.0.0", x.Descriptor.Digest) },
		} {
			if err := do(open()); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if d, _, err := open().Manifest(t.Context(), "1.0.0"); d.Digest != x.Descriptor.Digest || err != nil {
			t.Errorf("a canceled call moved the tag: %s, %v", d.Digest, err)
		}
		if _, err := open().Stat(t.Context(), blob("new").Descriptor); !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("a canceled call stored a blob: %v", err)
		}
	})
}

// unstoppable is a reader that calls call on each read. After left reads, it returns an
// error.
type unstoppable struct {
	call func()
	left int
}

func (u *unstoppable) Read(p []byte) (int, error) {
	u.call()
	if u.left--; u.left < 0 {
		return 0, errors.New("still read on")
	}
	return len(p), nil
}

func TestCanceledDuringPush(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := ocispec.Descriptor{Digest: digest.FromString("x"), Size: 1 << 30}
		if err := open().PushBlob(ctx, d, &unstoppable{cancel, 1000}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
