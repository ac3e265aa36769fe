package repository_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// files lists the files in a directory. If the directory does not exist, the list is
// empty.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == dir {
			return nil
		}
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(dir, path)
			found = append(found, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReadingCreatesNothing(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	l := repository.NewLayout(filepath.Join(parent, "layout"))
	_, _ = l.Tags(t.Context())
	_, _, _ = l.Manifest(t.Context(), "1.0.0")
	_, _ = l.Stat(t.Context(), ocispec.Descriptor{Digest: digest.FromString("x")})
	_, _ = l.Blob(t.Context(), blob("x").Descriptor)
	entries, err := os.ReadDir(parent)
	if len(entries) != 0 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestLayoutFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := repository.NewLayout(dir)
	a, b := index(t, "a"), index(t, "b")
	pushTag(t, l, b, "2.0.0", "")
	pushTag(t, l, a, "1.0.0", "")
	want := []string{".tofu-oci.blobs", ".tofu-oci.lock", "blobs/sha256/" + a.Descriptor.Digest.Encoded(), "blobs/sha256/" + b.Descriptor.Digest.Encoded(), "index.json", "oci-layout"}
	slices.Sort(want)
	if diff := cmp.Diff(want, files(t, dir)); diff != "" {
		t.Error(diff)
	}
	if got := read(t, filepath.Join(dir, "oci-layout")); got != `{"imageLayoutVersion":"1.0.0"}` {
		t.Error(got)
	}
	entry := func(b artifact.Blob, tag string) string {
		return fmt.Sprintf(`{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"%s","size":%d,`+
			`"annotations":{"org.opencontainers.image.ref.name":"%s"},"artifactType":"application/vnd.opentofu.provider"}`,
			b.Descriptor.Digest, b.Descriptor.Size, tag)
	}
	wantIndex := `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[` + entry(a, "1.0.0") + "," + entry(b, "2.0.0") + `]}`
	if diff := cmp.Diff(wantIndex, read(t, filepath.Join(dir, "index.json"))); diff != "" {
		t.Error(diff)
	}
}

func TestOrderOfTaggingDoesNotMatter(t *testing.T) {
	t.Parallel()
	tags := []string{"1.0.0", "1.1.0", "2.0.0-rc1", "2.0.0"}
	var want string
	for turn := range tags {
		dir := t.TempDir()
		for i := range tags {
			tag := tags[(turn+i)%len(tags)]
			pushTag(t, repository.NewLayout(dir), index(t, tag), tag, "")
		}
		got := read(t, filepath.Join(dir, "index.json"))
		if turn == 0 {
			want = got
		}
		if got != want {
			t.Errorf("beginning with %s: %s", tags[turn], got)
		}
	}
}

func TestOtherEntriesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	foreign := `{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"` + digest.FromString("other").String() +
		`","size":7,"annotations":{"com.example":"x"},"platform":{"architecture":"mips64","os":"plan9"}}`
	write(t, filepath.Join(dir, "oci-layout"), `{"imageLayoutVersion": "1.0.0"}`)
	write(t, filepath.Join(dir, "index.json"), `{"schemaVersion":2,"manifests":[`+foreign+`],"annotations":{"com.example.all":"y"}}`)
	l := repository.NewLayout(dir)
	if tags, err := l.Tags(t.Context()); len(tags) != 0 || err != nil {
		t.Errorf("an entry without a tag is a tag: %v, %v", tags, err)
	}
	pushTag(t, l, index(t, "a"), "1.0.0", "")
	got := read(t, filepath.Join(dir, "index.json"))
	for _, part := range []string{foreign, `"annotations":{"com.example.all":"y"}`, `"org.opencontainers.image.ref.name":"1.0.0"`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is missing in %s", part, got)
		}
	}
}

// TestUntaggedIndex checks layouts as written by crane pull --format=oci.
func TestUntaggedIndex(t *testing.T) {
	t.Parallel()
	for annotations, want := range map[string]error{
		`{}`: repository.ErrUntagged,
		`{"org.opencontainers.image.ref.name":"localhost:5000/acme/widget:1.0.0"}`: repository.ErrUntagged,
		`{"org.opencontainers.image.ref.name":"latest"}`:                           nil,
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "oci-layout"), `{"imageLayoutVersion": "1.0.0"}`)
		write(t, filepath.Join(dir, "index.json"), `{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"`+
			digest.FromString("other").String()+`","size":7,"annotations":`+annotations+`}]}`)
		if tags, err := repository.NewLayout(dir).Tags(t.Context()); !errors.Is(err, want) {
			t.Errorf("%s: got %v, %v", annotations, tags, err)
		}
	}
}

// TestTagTwice checks a layout that lists a tag twice. Tools that append tags without
// checking write this kind of layout.
func TestTagTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, a, b := repository.NewLayout(dir), index(t, "a"), index(t, "b")
	pushTag(t, l, a, "1.0.0", "")
	path := filepath.Join(dir, "index.json")
	before, list, _ := strings.Cut(read(t, path), "[")
	entry, after, _ := strings.Cut(list, "]")
	write(t, path, before+"["+entry+","+entry+"]"+after)
	pushTag(t, l, b, "1.0.0", a.Descriptor.Digest)
	if tags, err := l.Tags(t.Context()); len(tags) != 1 || err != nil {
		t.Errorf("%v, %v", tags, err)
	}
	if d, _, err := l.Manifest(t.Context(), "1.0.0"); d.Digest != b.Descriptor.Digest || err != nil {
		t.Errorf("%s, %v", d.Digest, err)
	}
}

func TestDamagedLayouts(t *testing.T) {
	t.Parallel()
	const marker = `{"imageLayoutVersion":"1.0.0"}`
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"marker":             {map[string]string{"oci-layout": "{"}, "oci-layout is damaged"},
		"marker empty":       {map[string]string{"oci-layout": ""}, "oci-layout is damaged"},
		"other version":      {map[string]string{"oci-layout": `{"imageLayoutVersion":"2.0.0"}`}, `has layout version "2.0.0", want "1.0.0"`},
		"index":              {map[string]string{"oci-layout": marker, "index.json": `{"manifests":[{`}, "index.json is damaged"},
		"index empty":        {map[string]string{"oci-layout": marker, "index.json": ""}, "index.json is damaged"},
		"index too large":    {map[string]string{"oci-layout": marker, "index.json": strings.Repeat(" ", 16<<20+1)}, "exceeds 16777216 bytes"},
		"index, no marker":   {map[string]string{"index.json": `{"manifests":[]}`}, "has index.json but no oci-layout"},
		"a parent is a file": {map[string]string{"": "not a directory"}, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "layout")
			for file, text := range test.files {
				write(t, filepath.Join(dir, file), text)
			}
			l := repository.NewLayout(dir)
			_, tagsErr := l.Tags(t.Context())
			_, _, manifestErr := l.Manifest(t.Context(), "1.0.0")
			pushErr := l.PushTag(t.Context(), index(t, "a"), "1.0.0", "")
			for method, err := range map[string]error{"Tags": tagsErr, "Manifest": manifestErr, "PushTag": pushErr} {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %v", method, err)
				}
				if errors.Is(err, repository.ErrNotFound) || errors.Is(err, repository.ErrNoRepository) {
					t.Errorf("%s: damage passes for absence: %v", method, err)
				}
			}
			for file, text := range test.files {
				if read(t, filepath.Join(dir, file)) != text {
					t.Errorf("%s was changed", file)
				}
			}
		})
	}
}

// TestLayoutTypes checks that the types of a manifest come from its content, because
// anyone can edit index.json, and types are written to other repositories.
func TestLayoutTypes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := repository.NewLayout(dir)
	stored := index(t, "a")
	pushTag(t, l, stored, "1.0.0", "")
	want := ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageIndex, ArtifactType: artifact.TypeProvider, Digest: stored.Descriptor.Digest, Size: stored.Descriptor.Size,
	}
	file := filepath.Join(dir, ocispec.ImageIndexFile)
	text := read(t, file)
	changed := strings.Replace(strings.Replace(text, artifact.TypeProvider, "text/html", 1), ocispec.MediaTypeImageIndex+`","digest`, `a/b\r\nX: y","digest`, 1)
	if !strings.Contains(changed, "text/html") || !strings.Contains(changed, "X: y") {
		t.Fatal(text)
	}
	write(t, file, changed)
	for _, reference := range []string{"1.0.0", want.Digest.String()} {
		got, _, err := l.Manifest(t.Context(), reference)
		got.Annotations = nil
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", reference, err, diff)
		}
	}
}

// TestIncompleteLayout checks a layout whose creation was interrupted before index.json
// was written.
func TestIncompleteLayout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "oci-layout"), `{"imageLayoutVersion":"1.0.0"}`)
	l := repository.NewLayout(dir)
	if tags, err := l.Tags(t.Context()); len(tags) != 0 || err != nil {
		t.Errorf("%v, %v", tags, err)
	}
	pushTag(t, l, index(t, "a"), "1.0.0", "")
}

func TestDamagedBlobIsReplaced(t *testing.T) {
	t.Parallel()
	l, b := repository.NewLayout(t.TempDir()), blob("content")
	path, err := l.Capabilities().BlobPath(b.Descriptor.Digest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "cont")
	for _, text := range []string{"cont", "CONTENT"} {
		write(t, path, text)
		_, err := l.Stat(t.Context(), b.Descriptor)
		if _, damaged := errors.AsType[*sums.MismatchError](err); !damaged || !errors.Is(err, repository.ErrNotFound) {
			t.Errorf("%s: %v", text, err)
		}
		pushBlob(t, l, b)
		if got := read(t, path); got != "content" {
			t.Error(got)
		}
		if size, err := l.Stat(t.Context(), b.Descriptor); size != 7 || err != nil {
			t.Errorf("%d, %v", size, err)
		}
	}
}

// TestStatReadsOnce checks that a blob is read again only if its file has changed. A
// process that only reads blobs does not create a record file.
func TestStatReadsOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, other := blob("content"), blob("other")
	pushBlob(t, repository.NewLayout(dir), b)
	record := filepath.Join(dir, ".tofu-oci.blobs")
	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	l := repository.NewLayout(dir)
	stat := func() error {
		_, err := l.Stat(t.Context(), b.Descriptor)
		return err
	}
	if err := stat(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(record); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading made a record: %v", err)
	}
	// The next write also records blobs that were verified by reading.
	pushBlob(t, l, other)
	if text := read(t, record); strings.Count(text, "\n") != 2 || !strings.Contains(text, b.Descriptor.Digest.String()) {
		t.Errorf("the record is %q", text)
	}
	// This check can't detect corruption that keeps the file's modification time.
	path, err := l.Capabilities().BlobPath(b.Descriptor.Digest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "CONTENT")
	l = repository.NewLayout(dir)
	if err := stat(); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("a changed file: %v", err)
	}
}

func TestDamagedManifest(t *testing.T) {
	t.Parallel()
	l, x := repository.NewLayout(t.TempDir()), index(t, "a")
	pushTag(t, l, x, "1.0.0", "")
	path, err := l.Capabilities().BlobPath(x.Descriptor.Digest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(x.Bytes[1:]))
	for _, reference := range []string{"1.0.0", x.Descriptor.Digest.String()} {
		_, _, err := l.Manifest(t.Context(), reference)
		if mismatch, ok := errors.AsType[*sums.MismatchError](err); !ok || mismatch.Want != x.Descriptor.Digest.String() {
			t.Errorf("%s: %v", reference, err)
		}
	}
}

func TestWrongBlobLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, b := repository.NewLayout(dir), blob("content")
	err := l.PushBlob(t.Context(), b.Descriptor, streamed([]byte("CONTENT")))
	if _, ok := errors.AsType[*sums.MismatchError](err); !ok {
		t.Error(err)
	}
	if found := files(t, dir); len(found) != 0 {
		t.Error(found)
	}
}

// TestLayoutChecksSpaceFirst checks that PushBlob fails before it reads the content if
// the disk has too little free space.
func TestLayoutChecksSpaceFirst(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "layout")
	d := ocispec.Descriptor{Digest: digest.FromString("large"), Size: 1 << 60}
	err := repository.NewLayout(dir).PushBlob(t.Context(), d, iotest.ErrReader(errors.New("it was read")))
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want ENOSPC", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was made for nothing: %v", err)
	}
}

func TestDigestIsNotAPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "secret"), "secret")
	l := repository.NewLayout(filepath.Join(dir, "layout"))
	for _, d := range []digest.Digest{"sha256:../../../secret", "../secret", "", "sha256:", "sha256:" + digest.Digest(strings.Repeat("A", 64))} {
		b := blob("x")
		b.Descriptor.Digest = d
		if body, err := l.Blob(t.Context(), b.Descriptor); err == nil {
			_ = body.Close()
			t.Errorf("%q was opened", d)
		}
		if _, err := l.Stat(t.Context(), ocispec.Descriptor{Digest: d}); err == nil {
			t.Errorf("%q was found", d)
		}
		if err := l.PushBlob(t.Context(), b.Descriptor, streamed(b.Bytes)); err == nil {
			t.Errorf("%q was written", d)
		}
	}
}

func TestLayoutBlobIsReaderAt(t *testing.T) {
	t.Parallel()
	l, b := repository.NewLayout(t.TempDir()), blob("content")
	pushBlob(t, l, b)
	body, err := l.Blob(t.Context(), b.Descriptor)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	at, ok := body.(io.ReaderAt)
	if !ok {
		t.Fatal("no io.ReaderAt")
	}
	part := make([]byte, 3)
	if _, err := at.ReadAt(part, 2); err != nil || string(part) != "nte" {
		t.Errorf("%q, %v", part, err)
	}
}

// TestConcurrentWriters checks concurrent writers with separate Repository values. Each
// writer writes a separate tag, and exactly one writer can write a shared tag.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const writers = 16
	var group sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range writers {
		x := index(t, fmt.Sprint(i))
		group.Go(func() {
			l := repository.NewLayout(dir)
			if err := l.PushTag(t.Context(), x, fmt.Sprintf("1.%d.0", i), ""); err != nil {
				t.Error(err)
			}
			err := l.PushTag(t.Context(), x, "2.0.0", "")
			if err != nil && !errors.Is(err, repository.ErrTagMoved) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			}
			var list struct{ Manifests []json.RawMessage }
			text, err := bounded.ReadFile(filepath.Join(dir, "index.json"), 1<<20)
			if err := errors.Join(err, json.Unmarshal(text, &list)); err != nil || len(list.Manifests) == 0 {
				t.Errorf("index.json was seen half-written: %v", err)
			}
		})
	}
	group.Wait()
	if won != 1 {
		t.Errorf("%d writers made one tag", won)
	}
	if tags, err := repository.NewLayout(dir).Tags(t.Context()); len(tags) != writers+1 || err != nil {
		t.Errorf("%d tags, %v", len(tags), err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"oci-layout:some/dir": "oci-layout:some/dir", "registry.example.com/acme/thing": "registry.example.com/acme/thing"} {
		ref, err := template.ParseReference(text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := repository.Open(ref, repository.Options{})
		if err != nil || r.String() != want {
			t.Errorf("%s: %v, %v", text, r, err)
		}
	}
	if _, err := repository.Open(template.Reference{Registry: "registry.example.com", Name: "UPPER"}, repository.Options{}); err == nil {
		t.Error("a name that is none was taken")
	}
}
