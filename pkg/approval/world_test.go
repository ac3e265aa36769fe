package approval_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	version = "1.2.3"
	waiting = "pending-1.2.3"
	denied  = "denied-1.2.3"
	pruned  = "pruned-1.2.3"
)

// world is a repository with releases to promote or deny.
type world struct {
	repo    repository.Repository
	address provider.Address
	version provider.Version
	// registry and dir locate the repository, depending on its kind.
	registry *registrytest.Registry
	dir      string
}

const repositoryName = "acme/thing"

// eachWorld runs a test with an image layout and with a registry.
func eachWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	t.Run("layout", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "layout")
		repo, err := repository.Open(template.Reference{Layout: dir}, repository.Options{ConfirmDelay: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, repo)
		w.dir = dir
		test(t, w)
	})
	t.Run("registry", func(t *testing.T) {
		t.Parallel()
		test(t, newRegistry(t, registrytest.Options{}))
	})
}

func newWorld(t *testing.T, repo repository.Repository) *world {
	t.Helper()
	return &world{repo: repo, address: nouns.Address(t, "acme/thing"), version: nouns.Version(t, version)}
}

func newRegistry(t *testing.T, o registrytest.Options) *world {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	registry := registrytest.New(o)
	repo, err := repository.Open(template.Reference{Registry: registrytest.Serve(t, ca, registry), Name: repositoryName}, repository.Options{
		HTTP: registrytest.Client(t, ca), Backoff: func(int) time.Duration { return 0 }, ConfirmDelay: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, repo)
	w.registry = registry
	return w
}

// pkg describes a package of the release: the content of its zip, and the names of its documents.
type pkg struct {
	content   string
	documents []string
}

// put stores a release under a tag, and returns the digest of its index.
func (w *world) put(t *testing.T, tag string, packages map[provider.Platform]pkg) digest.Digest {
	t.Helper()
	r := provider.Release{Address: w.address, Version: w.version}
	for platform, p := range packages {
		zip := nouns.Zip(t, p.content)
		one := provider.Package{
			Address: w.address, Version: w.version, Platform: platform, Filename: provider.Filename(w.address, w.version, platform),
			Digest: digest.FromBytes(zip), Size: int64(len(zip)),
		}
		for _, name := range p.documents {
			one.Documents = append(one.Documents, artifact.NewDocument(name, artifact.MediaTypeSPDX, []byte(`{"spdxVersion":"SPDX-2.3"}`)))
		}
		if err := w.repo.PushBlob(t.Context(), artifact.ZipDescriptor(one), bytes.NewReader(zip)); err != nil {
			t.Fatal(err)
		}
		r.Packages = append(r.Packages, one)
	}
	slices.SortFunc(r.Packages, func(a, b provider.Package) int { return a.Platform.Compare(b.Platform) })
	packed, err := artifact.Pack(r, artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	was, err := repository.Inspect(t.Context(), w.repo, tag, repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	now, _, err := repository.Push(t.Context(), w.repo, packed, was, repository.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return now.Digest
}

// at returns the digest that a tag points to, or an empty string if the tag doesn't exist.
func (w *world) at(t *testing.T, tag string) digest.Digest {
	t.Helper()
	i, err := repository.Inspect(t.Context(), w.repo, tag, repository.DepthIndex)
	if err != nil {
		t.Fatal(err)
	}
	return i.Digest
}

// one is a release for one platform; both is a release for two platforms.
var (
	one  = map[provider.Platform]pkg{nouns.Plan9: {content: "plan9"}}
	both = map[provider.Platform]pkg{nouns.Plan9: {content: "plan9"}, nouns.Haiku: {content: "haiku"}}
)
