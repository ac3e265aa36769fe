package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// keepFor is the time for which generated declarations keep unselected versions.
const keepFor = 24 * time.Hour

// declaration is a generated declaration that contains one provider and the targets
// main and dr.
type declaration struct {
	versions   string // the version constraint
	latest     int
	platforms  []provider.Platform // all platforms if empty
	locked     []string
	denied     []string
	keep, most int
	report     bool
	copies     bool // reports whether dr is a target
}

// text returns the text of the declaration with the given repository templates for the
// targets.
func (d declaration) text(main, dr string) string {
	text := fmt.Sprintf("version = 1\ntarget \"main\" {\n  repository = %q\n}\n", main)
	if d.copies {
		text += fmt.Sprintf("target \"dr\" {\n  repository = %q\n  from = \"main\"\n}\n", dr)
	}
	text += fmt.Sprintf("provider \"localhost/acme/thing\" {\n  latest = %d\n  signatures = \"off\"\n", d.latest)
	if d.versions != "" {
		text += fmt.Sprintf("  versions = %q\n", d.versions)
	}
	if len(d.platforms) > 0 {
		text += fmt.Sprintf("  platforms = [%q]\n", d.platforms[0])
	}
	text += "}\n"
	if len(d.locked) > 0 {
		text += "sources = [\"locked.txt\"]\n"
	}
	for _, v := range d.denied {
		text += fmt.Sprintf("deny \"localhost/acme/thing\" {\n  versions = %q\n  reason = \"withdrawn\"\n}\n", v)
	}
	mode := "delete"
	if d.report {
		mode = "report"
	}
	return text + fmt.Sprintf("prune {\n  mode = %q\n  keep_previous = %d\n  keep_for = \"1d\"\n  max_delete = %d\n}\n", mode, d.keep, d.most)
}

// wanted returns the versions in all that the declaration selects and doesn't deny. The
// versions in all are sorted, newest first. wanted doesn't use the package under test.
func (d declaration) wanted(t *testing.T, all []string, isDenied func(version string) bool) map[string]bool {
	t.Helper()
	isDeclared := func(v string) bool { return slices.Contains(d.denied, v) }
	constraint, err := provider.ParseConstraint(d.versions)
	if d.versions != "" && err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	n := 0
	for _, text := range all {
		v, err := provider.ParseVersion(text)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case isDenied(text) || isDeclared(text):
		case slices.Contains(d.locked, text):
			wanted[text] = true
			if d.versions == "" || constraint.Allows(v) {
				n++
			}
		case n < d.latest && (d.versions == "" || constraint.Allows(v)):
			wanted[text] = true
			n++
		}
	}
	return wanted
}

// mirrored is a world in which sync mirrors a provider to the targets main and dr.
type mirrored struct {
	*world
	nature nature
	// layout reports whether main is an image layout. If it is set, dr is in the
	// registry. Otherwise, dr is an image layout.
	layout bool
	dir    string
	// lost maps each target to the content that the test deleted from it.
	lost map[string]map[digest.Digest]bool
	// The keys of wantedAt and prunedAt consist of the target and the version. wantedAt
	// contains the time of the last successful run that selected the version. prunedAt
	// contains the time of the first run after which the version had a pruned tag.
	wantedAt, prunedAt map[string]time.Time
	// toDelete contains the versions that a run has planned to delete. Its keys consist
	// of the target and the version.
	toDelete map[string]bool
	runs     int
	// killed reports whether the last run was killed. failed contains the targets and
	// versions whose actions failed in the last run.
	killed bool
	failed map[string]bool
	// waited is the difference between sync's clock and the bubble's clock, which
	// determines whether certificates are valid.
	waited time.Duration
}

const (
	mainTarget, drTarget = "main", "dr"
	// drName is the name of dr's repository in the registry.
	drName = "copies/thing"
)

func newMirrored(t *testing.T, n nature, layout bool) *mirrored {
	t.Helper()
	n.unsigned = true
	return &mirrored{
		world: newWorld(t, n), nature: n, layout: layout, dir: t.TempDir(),
		lost:     map[string]map[digest.Digest]bool{mainTarget: {}, drTarget: {}},
		wantedAt: map[string]time.Time{}, prunedAt: map[string]time.Time{}, toDelete: map[string]bool{},
		waited: time.Until(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)), // sync ignores dates before 2026
	}
}

// now returns the current time of sync's clock. Clocks in synctest bubbles start in
// 2000, before any valid sync record.
func (m *mirrored) now() time.Time { return time.Now().AddDate(30, 0, 0).Add(m.waited) }

// wait advances sync's clock.
func (m *mirrored) wait(d time.Duration) { m.waited += d }

// isLayout reports whether a target is an image layout.
func (m *mirrored) isLayout(target string) bool { return (target == mainTarget) == m.layout }

// layoutDir returns the directory of the target that is an image layout.
func (m *mirrored) layoutDir() string { return m.world.layout }

func (m *mirrored) repositoryOf(target string) string {
	if target == mainTarget {
		return repositoryName
	}
	return drName
}

// read writes a declaration to a file and reads the file.
func (m *mirrored) read(t *testing.T, d declaration) *sync.Declaration {
	t.Helper()
	dir := filepath.Join(m.dir, fmt.Sprint(m.runs))
	m.runs++
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	main, dr := atRegistry+"/{namespace}/{type}", "oci-layout:"+filepath.ToSlash(m.layoutDir())
	if m.layout {
		main, dr = dr, atRegistry+"/copies/{type}"
	}
	var lines strings.Builder
	for _, v := range d.locked {
		fmt.Fprintf(&lines, "localhost/acme/thing@%s\n", v)
	}
	for name, text := range map[string]string{"mirror.hcl": d.text(main, dr), "locked.txt": lines.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read, err := sync.Read(filepath.Join(dir, "mirror.hcl"), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// options returns the options of a run whose requests and calls pass through the gate.
func (m *mirrored) options(t *testing.T, d declaration, check repository.Depth, g *gate) sync.Options {
	t.Helper()
	declared := m.read(t, d)
	wanted, problems := declared.Wanted(t.Context(), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	client := m.client(t)
	g.transport, client.Transport = client.Transport, g
	return sync.Options{
		Declaration: declared, Wanted: wanted, Check: check, TempDir: m.temp, Now: m.now,
		Source: origin.New(origin.Options{HTTP: client}),
		Open: func(ref template.Reference) (repository.Repository, error) {
			repo, err := repository.Open(ref, repository.Options{
				HTTP: client,
				Credential: func(context.Context, string) (repository.Credential, error) {
					return repository.Credential{Username: "user", Password: password}, nil
				},
			})
			if err == nil && ref.IsLayout() {
				repo = gated{repo, g}
			}
			return repo, err
		},
	}
}

// gate counts a run's requests, including calls of image layouts. It can kill the run.
type gate struct {
	transport http.RoundTripper
	passed    atomic.Int64
	// written counts the requests and calls that can change a target.
	written atomic.Int64
	// do is called before request number at. If after is set, do is called after the
	// request.
	at    int64
	after bool
	do    func()
	dead  atomic.Bool
}

var errKilled = errors.New("the process was killed")

// kill returns a function that makes all further requests fail, as if the process had
// been killed.
func (g *gate) kill(stop context.CancelFunc) func() {
	return func() {
		g.dead.Store(true)
		stop()
	}
}

// pass counts and executes a request. If it is the request to disturb, pass calls do
// before or after it.
func (g *gate) pass(request func() error) error {
	if g.dead.Load() {
		return errKilled
	}
	isIt := g.passed.Add(1) == g.at
	if isIt && !g.after {
		g.do()
	}
	if g.dead.Load() {
		return errKilled
	}
	err := request()
	if isIt && g.after {
		g.do()
	}
	if g.dead.Load() {
		return errKilled
	}
	return err
}

func (g *gate) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		g.written.Add(1)
	}
	err = g.pass(func() error {
		resp, err = g.transport.RoundTrip(r)
		return err
	})
	if err != nil && resp != nil {
		_ = resp.Body.Close()
		resp = nil
	}
	return resp, err
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (g *gate) CloseIdleConnections() {
	if c, ok := g.transport.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// gated is an image layout whose calls pass through a gate.
type gated struct {
	repository.Repository
	gate *gate
}

func (r gated) Tags(ctx context.Context) (tags []string, err error) {
	err = r.gate.pass(func() error { tags, err = r.Repository.Tags(ctx); return err })
	return tags, err
}

func (r gated) Manifest(ctx context.Context, reference string) (d ocispec.Descriptor, data []byte, err error) {
	err = r.gate.pass(func() error { d, data, err = r.Repository.Manifest(ctx, reference); return err })
	return d, data, err
}

func (r gated) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	r.gate.written.Add(1)
	return r.gate.pass(func() error { return r.Repository.PushBlob(ctx, d, content) })
}

func (r gated) PushManifest(ctx context.Context, b artifact.Blob) error {
	r.gate.written.Add(1)
	return r.gate.pass(func() error { return r.Repository.PushManifest(ctx, b) })
}

func (r gated) PushTag(ctx context.Context, b artifact.Blob, tag string, was digest.Digest) error {
	r.gate.written.Add(1)
	return r.gate.pass(func() error { return r.Repository.PushTag(ctx, b, tag, was) })
}

func (r gated) Capabilities() repository.Capabilities {
	capabilities := r.Repository.Capabilities()
	deleteTag, deleteManifest := capabilities.DeleteTag, capabilities.DeleteManifest
	capabilities.DeleteTag = func(ctx context.Context, tag string, was digest.Digest) error {
		return r.gate.pass(func() error { return deleteTag(ctx, tag, was) })
	}
	capabilities.DeleteManifest = func(ctx context.Context, d digest.Digest, tag string) error {
		return r.gate.pass(func() error { return deleteManifest(ctx, d, tag) })
	}
	return capabilities
}

// state maps a target's tags to digests.
type state map[string]digest.Digest

// has reports whether any of the tags exists.
func (s state) has(tags ...string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool { return s[tag] != "" })
}

// state reads a target's tags and content without using the program.
func (m *mirrored) state(t *testing.T, target string) (state, graph) {
	t.Helper()
	tags := state{}
	if !m.isLayout(target) {
		name := m.repositoryOf(target)
		for _, tag := range m.registry.Tags(t, name) {
			tags[tag] = digest.FromBytes(m.registry.Manifest(t, name, tag))
		}
		return tags, func(reference string) []byte {
			if manifest := m.registry.Manifest(t, name, reference); manifest != nil {
				return manifest
			}
			for tag, d := range tags { // some registries store manifests by tag
				if d.String() == reference {
					return m.registry.Manifest(t, name, tag)
				}
			}
			return m.registry.Blob(name, reference)
		}
	}
	var index ocispec.Index
	text, err := os.ReadFile(filepath.Join(m.layoutDir(), "index.json"))
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, d := range index.Manifests {
		if tag := d.Annotations[ocispec.AnnotationRefName]; tag != "" {
			tags[tag] = d.Digest
		}
	}
	return tags, func(reference string) []byte {
		content, _ := os.ReadFile(m.blobFile(digest.Digest(reference)))
		return content
	}
}

// blobFile returns the path of a blob in the image layout.
func (m *mirrored) blobFile(d digest.Digest) string {
	return filepath.Join(m.layoutDir(), "blobs", "sha256", strings.TrimPrefix(d.String(), "sha256:"))
}

// lose deletes a manifest from a target, as if the target had lost it.
func (m *mirrored) lose(t *testing.T, target string, d digest.Digest) {
	t.Helper()
	m.lost[target][d] = true
	if m.isLayout(target) {
		_ = os.Remove(m.blobFile(d))
		return
	}
	if m.registry.Manifest(t, m.repositoryOf(target), d.String()) != nil {
		m.registry.Delete(t, m.repositoryOf(target), d.String())
	}
}

// content lists the descriptors in a manifest or an index.
type content struct {
	Config    *ocispec.Descriptor
	Layers    []ocispec.Descriptor
	Manifests []ocispec.Descriptor
}

// missing returns the digests that are missing from the graph below a digest. If
// tolerant is set, it ignores content that the test deleted.
func (m *mirrored) missing(target string, g graph, d digest.Digest, tolerant bool) (missing []digest.Digest) {
	data := g(d.String())
	if digest.FromBytes(data) != d {
		if tolerant && m.lost[target][d] {
			return nil
		}
		return []digest.Digest{d}
	}
	var c content
	if json.Unmarshal(data, &c) != nil {
		return nil // a zip
	}
	for _, child := range append(c.Layers, c.Manifests...) {
		missing = append(missing, m.missing(target, g, child.Digest, tolerant)...)
	}
	if c.Config != nil {
		missing = append(missing, m.missing(target, g, c.Config.Digest, tolerant)...)
	}
	return missing
}

// versionsNewestFirst returns all versions in the origin registry.
func (m *mirrored) versionsNewestFirst() []string {
	all := m.goods.versions()
	slices.Reverse(all)
	return all
}
