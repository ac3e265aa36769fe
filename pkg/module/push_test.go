package module_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func file(path, content string) module.File {
	return module.File{Path: path, Size: int64(len(content)), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}
}

func version(t *testing.T, s string) provider.Version {
	t.Helper()
	v, err := provider.ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func vpc(t *testing.T, content string) module.Package {
	t.Helper()
	run := file("scripts/run.sh", "#!/bin/sh\n")
	run.Executable = true
	return module.Package{
		Name: "vpc", Version: version(t, "1.2.0"),
		Files:       []module.File{run, file("main.tf", content), file("modules/größe/main.tf", "")},
		Annotations: map[string]string{"org.opencontainers.image.source": "https://example.com/vpc"},
	}
}

// goldenDigest is the digest of the zip of vpc("one"). It must never change. Otherwise,
// pushing an unchanged module again would be a conflict.
const goldenDigest = "sha256:02fb17f6bb0d2bf59a5ec93f3b4ad889bef8221f16c4e37d0fa71a76657f225a"

func push(t *testing.T, repo repository.Repository, p module.Package, o module.PushOptions) module.Result {
	t.Helper()
	r, err := module.Push(t.Context(), repo, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPush(t *testing.T) {
	t.Parallel()
	repo := repository.NewLayout(filepath.Join(t.TempDir(), "vpc"))
	one := vpc(t, "one")
	if r := push(t, repo, one, module.PushOptions{DryRun: true}); r.Status != publish.Created || r.Digest != "" {
		t.Errorf("dry run: %+v", r)
	}
	created := push(t, repo, one, module.PushOptions{})
	if created.Status != publish.Created || created.Zip.Digest != goldenDigest || created.Tag != "1.2.0" {
		t.Errorf("first push: %s of %s, want %s", created.Status, created.Zip.Digest, goldenDigest)
	}
	_, data, err := repo.Manifest(t.Context(), "1.2.0")
	if err != nil {
		t.Fatal(err)
	}
	m, err := artifact.ParseModule(data)
	if err != nil || m.Title != "vpc_1.2.0.zip" || m.Annotations["org.opencontainers.image.source"] == "" {
		t.Errorf("manifest: %+v, %v", m, err)
	}
	if r := push(t, repo, one, module.PushOptions{Latest: true}); r.Status != publish.Unchanged || !r.Latest || r.Digest != created.Digest {
		t.Errorf("push with Latest: %+v", r)
	}
	if r := push(t, repo, one, module.PushOptions{Latest: true}); r.Status != publish.Unchanged || r.Latest {
		t.Errorf("second push with Latest: %+v", r)
	}
	// A different zip is a conflict.
	two := vpc(t, "two")
	_, err = module.Push(t.Context(), repo, two, module.PushOptions{})
	if conflict, ok := errors.AsType[*repository.ConflictError](err); !ok || provider.KindOf(conflict) != provider.Conflict {
		t.Errorf("push of another zip: %v", err)
	}
	if r := push(t, repo, two, module.PushOptions{Force: true, Latest: true}); r.Status != publish.Replaced || !r.Latest {
		t.Errorf("push with Force: %+v", r)
	}
	if _, data, err := repo.Manifest(t.Context(), artifact.LatestTag); err != nil || len(data) == 0 {
		t.Errorf("latest: %v", err)
	}
}

// TestPushTypes checks that registries with a list of allowed media types store modules,
// the sync record, and that a second push changes nothing.
func TestPushTypes(t *testing.T) {
	t.Parallel()
	for name, types := range map[string]*registrytest.Types{"GitLab": registrytest.GitLabTypes, "strict": registrytest.StrictTypes, "images": registrytest.ImageTypes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := registrytest.New(registrytest.Options{Types: types})
			host, client := registrytest.ServeInMemory(t, registry)
			repo, err := repository.Open(template.Reference{Registry: host, Name: "acme/vpc"}, repository.Options{HTTP: client, PlainHTTP: []string{host}})
			if err != nil {
				t.Fatal(err)
			}
			o := module.PushOptions{Signer: &signer{}, Latest: true}
			if r := push(t, repo, vpc(t, "one"), o); r.Status != publish.Created || !r.Latest {
				t.Errorf("got %+v", r)
			}
			before := registry.Writes()
			if r := push(t, repo, vpc(t, "one"), o); r.Status != publish.Unchanged || registry.Writes() != before {
				t.Errorf("again: %+v, %d requests", r, registry.Writes()-before)
			}
			date := time.Unix(1e9, 0).UTC()
			err = repository.WriteSyncRecord(t.Context(), repo, func(r *artifact.SyncRecord) { r.Pruned[version(t, "1.0.0")] = date })
			if err != nil {
				t.Fatal(err)
			}
			if record, err := repository.ReadSyncRecord(t.Context(), repo); err != nil || !record.Pruned[version(t, "1.0.0")].Equal(date) {
				t.Errorf("got %+v, %v", record, err)
			}
		})
	}
}

func TestPushDocuments(t *testing.T) {
	t.Parallel()
	repo := repository.NewLayout(filepath.Join(t.TempDir(), "vpc"))
	p := vpc(t, "one")
	push(t, repo, p, module.PushOptions{})
	p.Documents = []provider.Document{artifact.NewDocument("vpc.spdx.json", artifact.MediaTypeSPDX, []byte("{}"))}
	p.Annotations = map[string]string{"org.opencontainers.image.source": "https://example.com/other"}
	if r := push(t, repo, p, module.PushOptions{}); r.Status != publish.Extended {
		t.Errorf("push with an SBOM: %s", r.Status)
	}
	p.Documents = []provider.Document{artifact.NewDocument("vpc.intoto.json", artifact.MediaTypeInToto, []byte("{}"))}
	if r := push(t, repo, p, module.PushOptions{}); r.Status != publish.Extended || len(r.Zip.Documents) != 2 {
		t.Errorf("push with provenance: %s, %d documents", r.Status, len(r.Zip.Documents))
	}
	_, data, _ := repo.Manifest(t.Context(), "1.2.0")
	if m, err := artifact.ParseModule(data); err != nil || m.Annotations["org.opencontainers.image.source"] != "https://example.com/vpc" {
		t.Errorf("annotations: %v, %v", m.Annotations, err)
	}
	p.Documents = nil
	if r := push(t, repo, p, module.PushOptions{}); r.Status != publish.Unchanged {
		t.Errorf("push without documents: %s", r.Status)
	}
}

func TestPushStaged(t *testing.T) {
	t.Parallel()
	repo := repository.NewLayout(filepath.Join(t.TempDir(), "vpc"))
	one := vpc(t, "one")
	if r := push(t, repo, one, module.PushOptions{Stage: true, Latest: true}); r.Tag != "pending-1.2.0" || r.Status != publish.Created || r.Latest {
		t.Errorf("staged push: %+v", r)
	}
	// Without approval, the version is not published, unless Force overrides this.
	if r := push(t, repo, one, module.PushOptions{Latest: true}); r.Tag != "pending-1.2.0" || r.Held == nil || r.Latest {
		t.Errorf("push of a pending version: %+v", r)
	}
	push(t, repo, one, module.PushOptions{Force: true})
	if r := push(t, repo, one, module.PushOptions{Stage: true}); r.Tag != "1.2.0" || r.Status != publish.Unchanged {
		t.Errorf("staged push of a released version: %+v", r)
	}
	if _, err := module.Push(t.Context(), repo, vpc(t, "two"), module.PushOptions{Stage: true}); provider.KindOf(err) != provider.Conflict {
		t.Errorf("staged push of another zip: %v", err)
	}
}

// signer signs with a counter instead of a key, so signatures differ.
type signer struct{ n int }

func (s *signer) Sign(document []byte) ([]byte, error) {
	s.n++
	return append([]byte{byte(s.n)}, document...), nil
}

func (s *signer) Signed([]byte, []byte) bool { return false }

func (s *signer) Keys() []byte { return []byte("key") }

func TestPushSigns(t *testing.T) {
	t.Parallel()
	repo, s := repository.NewLayout(filepath.Join(t.TempDir(), "vpc")), &signer{}
	push(t, repo, vpc(t, "one"), module.PushOptions{})
	signed := push(t, repo, vpc(t, "one"), module.PushOptions{Signer: s})
	var names []string
	for _, d := range signed.Zip.Documents {
		names = append(names, d.Name)
	}
	if got := strings.Join(names, " "); signed.Status != publish.Extended || got != "vpc_1.2.0_SHA256SUMS vpc_1.2.0_SHA256SUMS.sig vpc_1.2.0_SHA256SUMS.keys.asc" {
		t.Errorf("push with a signer: %s with %s", signed.Status, got)
	}
	if r := push(t, repo, vpc(t, "one"), module.PushOptions{Signer: s}); r.Status != publish.Unchanged || s.n != 1 {
		t.Errorf("second push with a signer: %s, %d signatures", r.Status, s.n)
	}
}

// TestPushRepairs removes the zip from the repository.
func TestPushRepairs(t *testing.T) {
	t.Parallel()
	repo := repository.NewLayout(filepath.Join(t.TempDir(), "vpc"))
	first := push(t, repo, vpc(t, "one"), module.PushOptions{})
	path, err := repo.Capabilities().BlobPath(first.Zip.Digest)
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := push(t, repo, vpc(t, "one"), module.PushOptions{}); r.Status != publish.Repaired || r.Digest != first.Digest {
		t.Errorf("push after the zip was deleted: %s %s, want %s", r.Status, r.Digest, first.Digest)
	}
}

// TestPushDenied checks that only Force overrides a denial, and removes it.
func TestPushDenied(t *testing.T) {
	t.Parallel()
	repo := repository.NewLayout(filepath.Join(t.TempDir(), "vpc"))
	first := push(t, repo, vpc(t, "one"), module.PushOptions{})
	wanted := module.Reference{}.Release()
	if _, err := approval.Deny(t.Context(), repo, wanted.Address, first.Zip.Version, approval.DenyOptions{Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	_, err := module.Push(t.Context(), repo, vpc(t, "one"), module.PushOptions{})
	if _, denied := errors.AsType[*repository.DeniedError](err); !denied {
		t.Errorf("push of a denied version: %v", err)
	}
	push(t, repo, vpc(t, "one"), module.PushOptions{Force: true})
	if err := repository.CheckDenied(t.Context(), repo, first.Zip.Version); err != nil {
		t.Errorf("after a push with Force: %v", err)
	}
}

func TestPushRejects(t *testing.T) {
	t.Parallel()
	repo := repository.NewLayout(filepath.Join(t.TempDir(), "vpc"))
	wrong := file("main.tf", "one")
	wrong.Size++
	for name, files := range map[string][]module.File{
		"file changed":   {wrong},
		"same name":      {file("a.tf", ""), file("A.tf", "")},
		"windows device": {file("aux.tf", "")},
		"path":           {file("../a.tf", "")},
	} {
		p := vpc(t, "one")
		p.Files = files
		if r, err := module.Push(t.Context(), repo, p, module.PushOptions{}); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestPushReplaced checks that a different zip doesn't keep the annotations of the zip
// that it replaces, such as the commit.
func TestPushReplaced(t *testing.T) {
	t.Parallel()
	repo := repository.NewLayout(filepath.Join(t.TempDir(), "vpc"))
	p := vpc(t, "one")
	p.Annotations["org.opencontainers.image.revision"] = "0123456789abcdef"
	push(t, repo, p, module.PushOptions{})
	push(t, repo, vpc(t, "two"), module.PushOptions{Force: true})
	_, data, err := repo.Manifest(t.Context(), "1.2.0")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"org.opencontainers.image.title": "vpc", "org.opencontainers.image.version": "1.2.0", "org.opencontainers.image.source": "https://example.com/vpc",
	}
	if m, err := artifact.ParseModule(data); err != nil || !maps.Equal(m.Annotations, want) {
		t.Errorf("got %v, %v", m.Annotations, err)
	}
}

// TestPushRequests checks the numbers of requests for a new version and for a version that
// the registry already has.
func TestPushRequests(t *testing.T) {
	t.Parallel()
	registry := registrytest.New(registrytest.Options{})
	host, client := registrytest.ServeInMemory(t, registry)
	for _, want := range []int{11, 4} {
		repo, err := repository.Open(template.Reference{Registry: host, Name: "acme/vpc"}, repository.Options{HTTP: client, PlainHTTP: []string{host}})
		if err != nil {
			t.Fatal(err)
		}
		before := registry.Requests()
		r := push(t, repo, vpc(t, "one"), module.PushOptions{})
		got := 0
		for kind, n := range registry.Requests() {
			got += n - before[kind]
		}
		if got != want {
			t.Errorf("%s: %d requests, want %d", r.Status, got, want)
		}
	}
}
