package bundle_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// fault is a bundle with a fault.
type fault struct {
	name  string
	parts [][]byte
	// refused means that no part can be used.
	refused bool
	verify  func(document, signature []byte) error
}

// file is a file in a part.
type file struct {
	header tar.Header
	data   []byte
	// start is the position of the header.
	start int
}

// filesOf returns the files in a part.
func filesOf(t *testing.T, part []byte) (files []file) {
	t.Helper()
	archive := tar.NewReader(bytes.NewReader(part))
	for start := 0; ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		data, readErr := io.ReadAll(archive)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		files = append(files, file{header: *h, data: data, start: start})
		start += 512 + (len(data)+511)/512*512
	}
}

// pack returns an archive of files.
func pack(t *testing.T, files ...file) []byte {
	t.Helper()
	var part bytes.Buffer
	archive := tar.NewWriter(&part)
	for _, f := range files {
		f.header.Size = int64(len(f.data))
		if f.header.Typeflag != tar.TypeReg {
			f.header.Size, f.data = 0, nil
		}
		err := archive.WriteHeader(&f.header)
		if err == nil {
			_, err = archive.Write(f.data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return part.Bytes()
}

// with returns the parts with one of them replaced.
func with(parts [][]byte, i int, part []byte) [][]byte {
	changed := slices.Clone(parts)
	changed[i] = part
	return changed
}

func read(t *testing.T, names []string) (parts [][]byte) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, data)
	}
	return parts
}

// damaged returns bundles whose parts are truncated, or have changed bits.
func damaged(t *testing.T, parts [][]byte) (all []fault) {
	t.Helper()
	fields := map[string]int{"name": 8, "mode": 103, "size": 133, "time": 140, "checksum": 150, "type": 156, "link": 160, "magic": 258, "prefix": 350}
	all = append(all, fault{name: "all empty", parts: make([][]byte, len(parts)), refused: true})
	for i, part := range parts {
		all = append(all, fault{name: fmt.Sprintf("empty %d", i), parts: with(parts, i, nil)})
		for _, f := range filesOf(t, part) {
			content := f.start + 512
			for _, at := range []int{f.start, f.start + 200, content, content + len(f.data)/2, content + len(f.data) - 1} {
				all = append(all, fault{name: fmt.Sprintf("truncated %d %s %d", i, f.header.Name, at-f.start), parts: with(parts, i, part[:at])})
			}
			flips := maps.Clone(fields)
			flips["first byte"], flips["middle"], flips["last byte"] = 512, 512+len(f.data)/2, 511+len(f.data)
			for field, at := range flips {
				changed := bytes.Clone(part)
				changed[f.start+at] ^= 1
				all = append(all, fault{name: fmt.Sprintf("flipped %d %s %s", i, f.header.Name, field), parts: with(parts, i, changed)})
			}
		}
	}
	return all
}

// rearranged returns bundles whose parts or files are missing, repeated, reordered, or
// from a different bundle.
func rearranged(t *testing.T, parts, others [][]byte) (all []fault) {
	t.Helper()
	for set := range 1<<len(parts) - 1 {
		var some [][]byte
		for i, part := range parts {
			if set&(1<<i) != 0 {
				some = append(some, part)
			}
		}
		if len(some) > 0 {
			all = append(all, fault{name: fmt.Sprintf("missing %b", set), parts: some})
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 12 {
		shuffled := slices.Clone(parts)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		all = append(all, fault{name: fmt.Sprintf("reordered %d", n), parts: shuffled})
	}
	for i, part := range parts {
		files := filesOf(t, part)
		all = append(all,
			fault{name: fmt.Sprintf("repeated %d", i), parts: append(slices.Clone(parts), part)},
			fault{name: fmt.Sprintf("repeated and damaged %d", i), parts: append(slices.Clone(parts), flip(part, len(part)-1500))},
			fault{name: fmt.Sprintf("appended %d", i), parts: with(parts, i, slices.Concat(part, part))},
			fault{name: fmt.Sprintf("foreign %d", i), parts: with(parts, i, others[i%len(others)]), refused: true},
			fault{name: fmt.Sprintf("only foreign files %d", i), parts: with(parts, i, pack(t, slices.Concat(files[:3], filesOf(t, others[0])[3:])...))},
		)
		for n := range files {
			all = append(all,
				fault{name: fmt.Sprintf("removed %d %d", i, n), parts: with(parts, i, pack(t, slices.Delete(slices.Clone(files), n, n+1)...))},
				fault{name: fmt.Sprintf("repeated file %d %d", i, n), parts: with(parts, i, pack(t, append(slices.Clone(files), files[n])...))},
			)
		}
		slices.Reverse(files[3:])
		all = append(all, fault{name: fmt.Sprintf("reversed %d", i), parts: with(parts, i, pack(t, files...))})
		slices.Reverse(files)
		all = append(all, fault{name: fmt.Sprintf("manifest last %d", i), parts: with(parts, i, pack(t, files...))})
	}
	return all
}

func flip(part []byte, at int) []byte {
	changed := bytes.Clone(part)
	changed[at] ^= 1
	return changed
}

// hostile returns bundles with files of hostile names and types.
func hostile(t *testing.T, parts [][]byte) (all []fault) {
	t.Helper()
	hex := strings.Repeat("a", 64)
	names := []string{
		"../escaped", "/escaped", "blobs/../../escaped", "blobs/sha256/../../../escaped", "./blobs/sha256/" + hex, "blobs/sha256/" + hex,
		"blobs/sha256/" + strings.ToUpper(hex), "blobs/sha512/" + hex + hex, "blobs", ".", "..", "C:\\escaped", "C:/escaped", "..\\escaped",
		"blobs\\sha256\\" + hex, "\\\\host\\share\\escaped", "CON", "NUL.txt", "index.json", "bundle.json", "bundle.json.sig", "oci-layout", "INDEX.JSON",
		"bundle.json:stream", "trailing.", "trailing ", "\x1b[2Jescape", "two\nlines", "\u202egnp.exe", strings.Repeat("long/", 2000) + "x",
	}
	types := map[string]byte{
		"link": tar.TypeSymlink, "hard link": tar.TypeLink, "device": tar.TypeChar, "disk": tar.TypeBlock, "directory": tar.TypeDir, "pipe": tar.TypeFifo,
	}
	for i, part := range parts {
		files := filesOf(t, part)
		last := len(files) - 1
		for _, name := range names {
			f := file{header: tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755}, data: []byte("hostile")}
			renamed := files[last]
			renamed.header.Name, renamed.header.Format = name, tar.FormatUnknown
			all = append(all,
				fault{name: fmt.Sprintf("added %d %.40q", i, name), parts: with(parts, i, pack(t, append(slices.Clone(files), f)...))},
				fault{name: fmt.Sprintf("renamed %d %.40q", i, name), parts: with(parts, i, pack(t, append(slices.Clone(files[:last]), renamed)...))},
			)
		}
		for kind, typ := range types {
			for n := range files {
				changed := slices.Clone(files)
				changed[n].header.Typeflag, changed[n].header.Linkname = typ, "/etc/passwd"
				all = append(all, fault{name: fmt.Sprintf("%s %d %d", kind, i, n), parts: with(parts, i, pack(t, changed...))})
			}
		}
		sparse := files[last]
		sparse.header.PAXRecords, sparse.header.Format = map[string]string{"path": sparse.header.Name, "VENDOR.sparse.major": "1"}, tar.FormatPAX
		global := file{header: tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": "../escaped"}}}
		all = append(all,
			fault{name: fmt.Sprintf("sparse %d", i), parts: with(parts, i, bytes.ReplaceAll(pack(t, append(slices.Clone(files[:last]), sparse)...), []byte("VENDOR.sparse"), []byte("GNU.00.sparse")))},
			fault{name: fmt.Sprintf("global header %d", i), parts: with(parts, i, pack(t, append([]file{global}, files...)...))},
			fault{name: fmt.Sprintf("zeros %d", i), parts: with(parts, i, make([]byte, 4096))},
			fault{name: fmt.Sprintf("text %d", i), parts: with(parts, i, bytes.Repeat([]byte("not an archive\n"), 100))},
		)
	}
	return all
}

// wrongManifests returns bundles whose unsigned manifests contradict their content.
func wrongManifests(t *testing.T, parts [][]byte) (all []fault) {
	t.Helper()
	var honest bundle.Manifest
	if err := json.Unmarshal(filesOf(t, parts[0])[0].data, &honest); err != nil {
		t.Fatal(err)
	}
	repo := honest.Repositories[0]
	tag := func(name string) int {
		return slices.IndexFunc(repo.Tags, func(t bundle.Tag) bool { return t.Name == name })
	}
	one, two := tag("1.0.0"), tag("1.1.0")
	index := slices.IndexFunc(honest.Content, func(c bundle.Content) bool { return c.Digest == repo.Tags[one].Digest })
	zip := slices.IndexFunc(honest.Content, func(c bundle.Content) bool { return c.Digest == repo.Blobs[0] })
	unknown := digest.FromString("unknown")
	for name, lie := range map[string]func(m *bundle.Manifest, r *bundle.Repository){
		"schema": func(m *bundle.Manifest, _ *bundle.Repository) {
			m.Schema = "https://example.com/" + strings.Repeat("x", 1000)
		},
		"no parts":          func(m *bundle.Manifest, _ *bundle.Repository) { m.Parts = 0 },
		"negative parts":    func(m *bundle.Manifest, _ *bundle.Repository) { m.Parts = -1 },
		"many parts":        func(m *bundle.Manifest, _ *bundle.Repository) { m.Parts = 1 << 40 },
		"one more part":     func(m *bundle.Manifest, _ *bundle.Repository) { m.Parts++ },
		"fewer parts":       func(m *bundle.Manifest, _ *bundle.Repository) { m.Parts-- },
		"no content":        func(m *bundle.Manifest, _ *bundle.Repository) { m.Content = nil },
		"no repositories":   func(m *bundle.Manifest, _ *bundle.Repository) { m.Repositories = nil },
		"invalid address":   func(_ *bundle.Manifest, r *bundle.Repository) { r.Address = "../../escaped" },
		"address not ASCII": func(_ *bundle.Manifest, r *bundle.Repository) { r.Address = "bücher.example/acme/rocket" },
		"long address":      func(_ *bundle.Manifest, r *bundle.Repository) { r.Address = strings.Repeat("x/", 5000) },
		"other address":     func(_ *bundle.Manifest, r *bundle.Repository) { r.Address = "registry.opentofu.org/acme/sled" },
		"module's address":  func(_ *bundle.Manifest, r *bundle.Repository) { r.Address = "registry.opentofu.org/acme/vpc/aws" },
		"repository twice":  func(m *bundle.Manifest, r *bundle.Repository) { m.Repositories = append(m.Repositories, *r) },
		"content twice":     func(m *bundle.Manifest, _ *bundle.Repository) { m.Content = append(m.Content, m.Content[0]) },
		"negative size":     func(m *bundle.Manifest, _ *bundle.Repository) { m.Content[zip].Size = -1 },
		"size of a zip":     func(m *bundle.Manifest, _ *bundle.Repository) { m.Content[zip].Size++ },
		"huge zip":          func(m *bundle.Manifest, _ *bundle.Repository) { m.Content[zip].Size = 1 << 60 },
		"size of an index":  func(m *bundle.Manifest, _ *bundle.Repository) { m.Content[index].Size-- },
		"digest of a zip":   func(m *bundle.Manifest, _ *bundle.Repository) { m.Content[zip].Digest = unknown },
		"sha512": func(m *bundle.Manifest, _ *bundle.Repository) {
			m.Content[zip].Digest = digest.SHA512.FromString("zip")
		},
		"digest is a path":     func(m *bundle.Manifest, _ *bundle.Repository) { m.Content[zip].Digest = "sha256:../../../../escaped" },
		"part of a zip":        func(m *bundle.Manifest, _ *bundle.Repository) { m.Content[zip].Parts = []int{m.Parts} },
		"part 0":               func(m *bundle.Manifest, _ *bundle.Repository) { m.Content[zip].Parts = []int{0} },
		"omitted zip":          func(m *bundle.Manifest, _ *bundle.Repository) { m.Content[zip].Parts = nil },
		"omitted index":        func(m *bundle.Manifest, _ *bundle.Repository) { m.Content[index].Parts = nil },
		"no blobs":             func(_ *bundle.Manifest, r *bundle.Repository) { r.Blobs = nil },
		"unlisted blob":        func(_ *bundle.Manifest, r *bundle.Repository) { r.Blobs = append(r.Blobs, unknown) },
		"unlisted index":       func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[one].Digest = unknown },
		"zip as an index":      func(m *bundle.Manifest, r *bundle.Repository) { r.Tags[one].Digest = m.Content[zip].Digest },
		"other version":        func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[one].Digest = r.Tags[two].Digest },
		"media type":           func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[one].MediaType = "text/plain" },
		"artifact type":        func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[one].ArtifactType = "text/plain" },
		"size of a tag":        func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[one].Size = 1 << 50 },
		"tag is a path":        func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[one].Name = "../../escaped" },
		"empty tag":            func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[one].Name = "" },
		"long tag":             func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[one].Name = strings.Repeat("0", 5000) },
		"tag with control":     func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[one].Name = "0\x1b[2J\n::error::" },
		"unsorted tags":        func(_ *bundle.Manifest, r *bundle.Repository) { slices.Reverse(r.Tags) },
		"tag twice":            func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[two] = r.Tags[one] },
		"no tags":              func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags = nil },
		"tag of a denial":      func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[one].Name = "0denied-1.0.0" },
		"only a tag's version": func(_ *bundle.Manifest, r *bundle.Repository) { r.Tags[two].Name = "9.9.9" },
	} {
		var m bundle.Manifest
		if err := json.Unmarshal(filesOf(t, parts[0])[0].data, &m); err != nil {
			t.Fatal(err)
		}
		lie(&m, &m.Repositories[0])
		document, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fault{name: "lie: " + name, parts: describe(t, parts, document, m)})
	}
	documents := map[string]string{
		"empty": "", "null": "null", "array": "[]", "text": "hello", "cut": `{"parts": 1`, "deep": strings.Repeat("[", 100_000),
		"types": `{"parts": "two", "content": 3}`,
	}
	if !testing.Short() {
		documents["values"], documents["huge"] = "["+strings.Repeat("{},", 5<<20)+"{}]", strings.Repeat(" ", 65<<20)
	}
	for name, document := range documents {
		all = append(all, fault{name: "manifest: " + name, parts: describe(t, parts[:1], []byte(document), honest), refused: true})
	}
	return all
}

// describe replaces the manifest and the image index of parts.
func describe(t *testing.T, parts [][]byte, manifest []byte, m bundle.Manifest) (changed [][]byte) {
	t.Helper()
	index := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{}}
	index.SchemaVersion = 2
	for _, r := range m.Repositories {
		for _, tag := range r.Tags {
			index.Manifests = append(index.Manifests, ocispec.Descriptor{
				MediaType: tag.MediaType, ArtifactType: tag.ArtifactType, Digest: tag.Digest, Size: tag.Size,
				Annotations: map[string]string{ocispec.AnnotationRefName: r.Address + ":" + tag.Name},
			})
		}
	}
	text, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		files := filesOf(t, part)
		files[0].data, files[2].data = manifest, text
		changed = append(changed, pack(t, files...))
	}
	return changed
}

// newKey returns a key with a lifetime, and its public key as a keyring.
func newKey(t *testing.T, created time.Time, lifetime time.Duration) (*openpgp.Entity, trust.Keyring) {
	t.Helper()
	key, err := openpgp.NewEntity("sender", "", "sender@example.com", &packet.Config{
		Time: func() time.Time { return created }, KeyLifetimeSecs: uint32(lifetime.Seconds()), Algorithm: packet.PubKeyAlgoEdDSA,
	})
	if err != nil {
		t.Fatal(err)
	}
	var public bytes.Buffer
	path := filepath.Join(t.TempDir(), "key.pub")
	if err := errors.Join(key.Serialize(&public), os.WriteFile(path, public.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	ring, err := trust.ReadKeyring(path)
	if err != nil {
		t.Fatal(err)
	}
	return key, ring
}

// signers returns bundles with wrong signatures.
func signers(t *testing.T, from repository.Reader, parts [][]byte) (all []fault) {
	t.Helper()
	now := time.Now()
	known, ring := newKey(t, now.Add(-time.Hour), 0)
	stranger, _ := newKey(t, now.Add(-time.Hour), 0)
	expired, expiredRing := newKey(t, now.AddDate(-1, 0, 0), 24*time.Hour)
	sign := func(key *openpgp.Entity, at time.Time) [][]byte {
		return read(t, create(t, from, bundle.CreateOptions{PartSize: 32 << 10, Sign: func(document []byte) ([]byte, error) {
			var signature bytes.Buffer
			err := openpgp.DetachSign(&signature, key, bytes.NewReader(document), &packet.Config{Time: func() time.Time { return at }})
			return signature.Bytes(), err
		}}))
	}
	good := sign(known, now)
	files := filesOf(t, good[0])
	edited := func(edit func(files []file) []file) [][]byte {
		return with(good, 0, pack(t, edit(slices.Clone(files))...))
	}
	for name, signed := range map[string][][]byte{
		"unsigned": parts, "stranger": sign(stranger, now),
		"changed manifest": edited(func(f []file) []file { f[0].data = append(bytes.Clone(f[0].data), '\n'); return f }),
		"cut signature":    edited(func(f []file) []file { f[1].data = f[1].data[:20]; return f }),
		"empty signature":  edited(func(f []file) []file { f[1].data = nil; return f }),
		"huge signature":   edited(func(f []file) []file { f[1].data = bytes.Repeat([]byte{0xc2}, 1<<20); return f }),
		"no signature":     edited(func(f []file) []file { return slices.Delete(f, 1, 2) }),
		"flipped":          edited(func(f []file) []file { f[1].data = flip(f[1].data, len(f[1].data)-1); return f }),
		"other document":   edited(func(f []file) []file { f[0].data = filesOf(t, parts[0])[0].data; return f }),
	} {
		all = append(all, fault{name: "signer: " + name, parts: signed, verify: ring.Check, refused: name != "huge signature"})
	}
	return append(all,
		fault{name: "signer: expired", parts: sign(expired, now.AddDate(-1, 0, 0).Add(time.Hour)), verify: expiredRing.Check, refused: true},
		fault{name: "signer: known", parts: good, verify: ring.Check},
		fault{name: "signer: one part unsigned", parts: with(good, 1, pack(t, slices.Delete(filesOf(t, good[1]), 1, 2)...)), verify: ring.Check},
	)
}

// TestFaults opens and imports bundles with faults. A repository must never contain a
// tag without its content or with other content, and each failure must have one clear
// message. All versions with intact content must be imported.
func TestFaults(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "1.1.0", "1.2.0")
	parts := read(t, create(t, from, bundle.CreateOptions{PartSize: 32 << 10}))
	others := read(t, create(t, source(t, "1.0.0", "3.0.0"), bundle.CreateOptions{PartSize: 32 << 10}))
	expected := contents(t, from)
	all := slices.Concat(damaged(t, parts), rearranged(t, parts, others), hostile(t, parts), wrongManifests(t, parts), signers(t, from, parts))
	if len(parts) < 2 || len(all) < 500 {
		t.Fatalf("got %d cases with %d parts", len(all), len(parts))
	}
	t.Logf("%d cases", len(all))
	for i, f := range all {
		if testing.Short() && i%10 != 0 {
			continue
		}
		f.check(t, expected)
	}
}

// check imports the bundle.
func (f fault) check(t *testing.T, expected map[string]digest.Digest) {
	t.Helper()
	dir := t.TempDir()
	var names []string
	for i, part := range f.parts {
		names = append(names, filepath.Join(dir, fmt.Sprintf("%d.tar", i)))
		if err := os.WriteFile(names[i], part, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	fail := func(format string, args ...any) { t.Errorf("%s: %s", f.name, fmt.Sprintf(format, args...)) }
	defer func() {
		if left, _ := os.ReadDir(dir); len(left) > len(names)+1 {
			fail("the import wrote %v", left)
		}
		_ = os.RemoveAll(dir)
	}()
	b, err := bundle.Open(t.Context(), names, f.verify)
	if err != nil {
		if kind := provider.KindOf(err); kind != provider.Malformed && kind != provider.Unverified || !isClear(err) {
			fail("%v", err)
		}
		return
	}
	defer func() { _ = b.Close() }()
	if f.refused {
		fail("the bundle is accepted")
	}
	to := repository.NewLayout(filepath.Join(dir, "inside"))
	failed := map[string]error{}
	if _, err := bundle.Import(t.Context(), b, into(to, failed)); err != nil && !isClear(err) {
		fail("%v", err)
	}
	if index, _ := os.ReadFile(filepath.Join(dir, "inside", ocispec.ImageIndexFile)); bytes.Contains(index, []byte("text/plain")) {
		fail("the import wrote the types of the manifest: %s", index)
	}
	arrived := contents(t, to)
	for tag, d := range arrived {
		if expected[tag] != d && f.name != "lie: other version" { // only the sender's signature detects this
			fail("tag %s points to %s", tag, d)
		}
	}
	problems, err := b.Verify(t.Context())
	if err != nil {
		fail("%v", err)
	}
	if strings.HasSuffix(f.name, " type") && len(problems) == 0 {
		fail("Verify finds nothing")
	}
	for version, err := range failed {
		if _, live := arrived[version]; live == (err != nil) {
			fail("%s: live %v, %v", version, live, err)
		}
		if err != nil && (len(problems) == 0 && !strings.HasPrefix(f.name, "lie: ") || !isClear(err)) {
			fail("%s: %v, problems %v", version, err, problems)
		}
	}
	for _, problem := range problems {
		if !isClear(problem) {
			fail("problem %v", problem)
		}
	}
}

// isClear reports whether an error has one printable line of reasonable length.
func isClear(err error) bool {
	text := err.Error()
	return len(text) < 700 && !strings.ContainsFunc(text, unicode.IsControl)
}

// into returns options for an import to a repository. The error of each version is
// stored in failed.
func into(to repository.Repository, failed map[string]error) mirror.Options {
	return mirror.Options{
		Target: func(provider.Address) (repository.Repository, publish.Options, error) {
			return to, publish.Options{}, nil
		},
		OnResult: func(r mirror.Result) { failed[r.Item.Version.String()] = r.Err },
	}
}

// limited is a repository that fails after a number of writes. Before it fails, it
// writes half of a blob.
type limited struct {
	repository.Repository
	left atomic.Int64
	fail func() error
}

func (l *limited) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	if l.left.Add(-1) < 0 {
		failing := io.MultiReader(io.LimitReader(content, d.Size/2), readerFunc(func([]byte) (int, error) { return 0, l.fail() }))
		return l.Repository.PushBlob(ctx, d, failing)
	}
	return l.Repository.PushBlob(ctx, d, content)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func (l *limited) PushManifest(ctx context.Context, m artifact.Blob) error {
	if l.left.Add(-1) < 0 {
		return l.fail()
	}
	return l.Repository.PushManifest(ctx, m)
}

func (l *limited) PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	if l.left.Add(-1) < 0 {
		return l.fail()
	}
	return l.Repository.PushTag(ctx, m, tag, was)
}

// TestInterruptedImports fails or cancels an import at each of its writes. The next
// import must complete it.
func TestInterruptedImports(t *testing.T) {
	t.Parallel()
	from := source(t, "1.0.0", "1.1.0", "1.2.0")
	names := create(t, from, bundle.CreateOptions{PartSize: 32 << 10})
	expected := contents(t, from)
	step := int64(1)
	if testing.Short() {
		step = 7
	}
	for _, cancels := range []bool{false, true} {
		for n, done := int64(0), false; !done; n += step {
			to := repository.NewLayout(filepath.Join(t.TempDir(), "inside"))
			ctx, cancel := context.WithCancel(t.Context())
			full := &limited{Repository: to, fail: func() error {
				if cancels {
					cancel()
					return context.Canceled
				}
				return syscall.ENOSPC
			}}
			full.left.Store(n)
			b, err := bundle.Open(ctx, names, nil)
			if err != nil {
				t.Fatal(err)
			}
			failed := map[string]error{}
			_, err = bundle.Import(ctx, b, into(full, failed))
			_ = b.Close()
			done = full.left.Load() >= 0
			if (err != nil) != (cancels && !done) {
				t.Errorf("%d writes: %v", n, err)
			}
			for version, err := range failed {
				if err != nil && (!cancels && !errors.Is(err, syscall.ENOSPC) || !isClear(err)) {
					t.Errorf("%d writes: %s: %v", n, version, err)
				}
			}
			for tag, d := range contents(t, to) {
				if expected[tag] != d {
					t.Errorf("%d writes: tag %s points to %s", n, tag, d)
				}
			}
			imported(t, to, names...)
			if diff := cmp.Diff(expected, contents(t, to)); diff != "" {
				t.Errorf("%d writes: %s", n, diff)
			}
			cancel()
		}
	}
}
