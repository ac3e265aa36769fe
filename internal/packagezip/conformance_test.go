package packagezip_test

import (
	stdzip "archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// verdict describes the results of streaming an archive and of reading it with random
// access.
type verdict string

const (
	// both means that both ways of reading succeed with the same result.
	both verdict = "both accept it"
	// neither means that both ways of reading report an error.
	neither verdict = "both refuse it"
	// randomOnly means that the archive cannot be streamed, but random access accepts
	// it.
	randomOnly verdict = "random access accepts it"
	// fallbackRefuses means that the archive cannot be streamed, and random access
	// rejects it.
	fallbackRefuses verdict = "random access refuses it"
)

// outcome is the result of unpacking.
type outcome struct {
	Contents packagezip.Contents
	Bytes    map[string]string
	Modes    map[string]fs.FileMode
}

// readAllWays hashes and unpacks an archive in all supported ways. It fails the test if the
// results are inconsistent.
func readAllWays(t *testing.T, data []byte) (verdict, error) {
	t.Helper()
	got, err := agree(t, data)
	if got != both {
		checkUnfinished(t, data)
	}
	if got != both && got != randomOnly {
		return got, err
	}
	random := unpackRandom(t, data)
	checkStandard(t, data, random)
	if got == both {
		if diff := cmp.Diff(random, unpackStream(t, data)); diff != "" {
			t.Errorf("random access and stream differ (-random +stream):\n%s", diff)
		}
	}
	return got, err
}

// agree hashes an archive in all supported ways without writing files.
func agree(t *testing.T, data []byte) (verdict, error) {
	t.Helper()
	random, randomErr := hashRandom(t.Context(), data)
	streamed, streamErr := packagezip.HashStream(t.Context(), &trickle{data: data})
	written, writeErr := hashWriter(t.Context(), data)
	if diff := cmp.Diff(streamed, written); diff != "" || (streamErr == nil) != (writeErr == nil) {
		t.Errorf("HashWriter: %v, HashStream: %v, hashes (-stream +writer):\n%s", writeErr, streamErr, diff)
	}
	checkClass(t, "random access", randomErr)
	checkClass(t, "stream", streamErr)
	var guess *packagezip.NotStreamableError
	switch {
	case streamErr == nil && randomErr == nil:
		if diff := cmp.Diff(random, streamed); diff != "" {
			t.Errorf("random access and stream differ (-random +stream):\n%s", diff)
		}
		return both, nil
	case errors.As(streamErr, &guess) && randomErr == nil:
		return randomOnly, streamErr
	case errors.As(streamErr, &guess):
		return fallbackRefuses, randomErr
	case streamErr != nil && randomErr != nil:
		return neither, errors.Join(streamErr, randomErr)
	}
	t.Errorf("random access: %v, stream: %v", randomErr, streamErr)
	return "", nil
}

func hashRandom(ctx context.Context, data []byte) (packagezip.Contents, error) {
	r, err := open(data)
	if err != nil {
		return packagezip.Contents{}, err
	}
	return r.Contents(ctx)
}

// checkClass checks that an error about an archive is not reported as an interrupted
// transfer.
func checkClass(t *testing.T, way string, err error) {
	t.Helper()
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: error %v is of another class", way, err)
	}
}

func unpackRandom(t *testing.T, data []byte) outcome {
	t.Helper()
	dir := t.TempDir()
	c, err := mustOpen(t, data).Extract(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return look(t, dir, c)
}

func unpackStream(t *testing.T, data []byte) outcome {
	t.Helper()
	dir := t.TempDir()
	src := &trickle{data: data}
	c, err := packagezip.UnpackStream(t.Context(), src, dir)
	if err != nil {
		t.Fatal(err)
	}
	if !src.ended {
		t.Error("the archive was not read to its end")
	}
	return look(t, dir, c)
}

// checkUnfinished tries to stream an archive that cannot be streamed. It checks that no
// files are created outside the target directory, and that no file in the directory is
// executable.
func checkUnfinished(t *testing.T, data []byte) {
	t.Helper()
	parent := t.TempDir()
	dir := filepath.Join(parent, "dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := packagezip.UnpackStream(t.Context(), &trickle{data: data}, dir); err == nil {
		t.Error("UnpackStream accepts an archive that HashStream rejects")
	}
	err := filepath.WalkDir(parent, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == parent {
			return err
		}
		if path != dir && !strings.HasPrefix(path, dir+string(filepath.Separator)) {
			t.Errorf("%s is outside of the directory", path)
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() && info.Mode()&^0o666 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// trickle returns data in reads of varying size. It records whether it was read again
// after the end of the data.
type trickle struct {
	data  []byte
	n     int
	ended bool
}

func (r *trickle) Read(p []byte) (int, error) {
	if len(r.data) == 0 {
		r.ended = true
		return 0, io.EOF
	}
	r.n = r.n*5%4093 + 1
	n := copy(p[:min(len(p), r.n)], r.data)
	r.data = r.data[n:]
	return n, nil
}

func look(t *testing.T, dir string, c packagezip.Contents) outcome {
	t.Helper()
	out := outcome{Contents: c, Bytes: contents(t, dir), Modes: map[string]fs.FileMode{}}
	for name := range out.Bytes {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out.Modes[name] = info.Mode()
	}
	if got, err := sums.H1Dir(dir); err != nil || got != c.H1Unpacked {
		t.Errorf("the directory has the hash %s, %v, want %s of H1Unpacked", got, err, c.H1Unpacked)
	}
	return out
}

// checkStandard checks that the standard library, which OpenTofu uses, reads the same
// files and computes the same hash.
func checkStandard(t *testing.T, data []byte, got outcome) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.zip")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if want, err := dirhash.HashZip(file, dirhash.Hash1); err != nil || want != got.Contents.H1 {
		t.Errorf("got H1 %s, want %s of dirhash, %v", got.Contents.H1, want, err)
	}
	z, err := stdzip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Errorf("the standard library rejects the archive: %v", err)
		return
	}
	want := map[string]string{}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		want[f.Name] = string(content)
	}
	files := map[string]string{}
	for name, content := range got.Bytes {
		if !strings.HasSuffix(name, "/") {
			files[name] = content
		}
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-standard library +ours):\n%s", diff)
	}
}

// hashWriter hashes an archive with a HashWriter.
func hashWriter(ctx context.Context, data []byte) (packagezip.Contents, error) {
	w := packagezip.NewHashWriter(ctx)
	defer w.Close()
	if _, err := io.Copy(w, &trickle{data: data}); err != nil {
		return packagezip.Contents{}, err
	}
	return w.Contents()
}
