package repository_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// put tags a release with the given provider annotation and package title. An empty
// annotation is omitted.
func put(t *testing.T, repo repository.Repository, version, annotation, title string) {
	t.Helper()
	a, v := nouns.Address(t, "acme/thing"), nouns.Version(t, version)
	packed, err := artifact.Pack(provider.Release{Address: a, Version: v, Packages: []provider.Package{{
		Address: a, Version: v, Platform: nouns.Plan9, Filename: provider.Filename(a, v, nouns.Plan9), ListedAs: title,
		Digest: digest.FromString("zip"), Size: int64(len("zip")),
	}}}, artifact.Options{Provider: annotation})
	if err != nil {
		t.Fatal(err)
	}
	index := packed.Index
	if annotation == "" {
		index = editIndex(t, index, func(annotations map[string]string) { delete(annotations, artifact.AnnotationProvider) })
	}
	pushBlob(t, repo, blob(string(packed.Documents[0].Bytes)))
	pushBlob(t, repo, blob("zip"))
	if err := repo.PushManifest(t.Context(), packed.Manifests[0]); err != nil {
		t.Fatal(err)
	}
	pushTag(t, repo, index, version, "")
}

func TestProviderMismatch(t *testing.T) {
	t.Parallel()
	const thing = "registry.opentofu.org/acme/thing"
	for name, test := range map[string]struct {
		annotation, title, alias string
		// want is the expected error of every check. byTitle is an error that only
		// CheckOwner returns.
		want, byTitle string
		// offer is the alias that would allow the release.
		offer string
	}{
		"its own":                {annotation: thing},
		"its own, other case":    {annotation: "Registry.OpenTofu.org/Acme/Thing"},
		"no annotation":          {},
		"no annotation, a title": {title: "thing.zip"},
		"its own, a title":       {annotation: thing, title: "terraform-provider-other_1.0.0_plan9_mips.zip"},
		"another type's title": {title: "terraform-provider-other_1.0.0_plan9_mips.zip",
			byTitle: "tag 1.0.0 points to a release with terraform-provider-other_1.0.0_plan9_mips.zip, which is not a package of " + thing},
		"another version's title": {title: "terraform-provider-thing_2.0.0_plan9_mips.zip"},
		"another namespace": {annotation: "registry.opentofu.org/other/thing",
			want:  "tag 1.0.0 points to provider registry.opentofu.org/other/thing, not " + thing,
			offer: thing + "=registry.opentofu.org/other/thing"},
		"another namespace, declared": {annotation: "registry.opentofu.org/other/thing", alias: "acme/*=other/*"},
		"another host": {annotation: "registry.terraform.io/acme/thing", alias: "acme/*=other/*",
			want:  "tag 1.0.0 points to provider registry.terraform.io/acme/thing, not " + thing,
			offer: thing + "=registry.terraform.io/acme/thing"},
		"another type": {annotation: "registry.opentofu.org/acme/other", alias: "acme/*=acme/*",
			want: "tag 1.0.0 points to provider registry.opentofu.org/acme/other, not " + thing},
		"no address": {annotation: "::error::\nx",
			want: `tag 1.0.0 points to a release with the invalid provider address "::error:: x", want ` + thing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := repository.NewLayout(t.TempDir())
			put(t, repo, "0.9.0", "registry.opentofu.org/none/old", "")
			put(t, repo, "1.0.0", test.annotation, test.title)
			var aliases provider.Aliases
			if test.alias != "" {
				alias, err := provider.ParseAlias(test.alias)
				if err != nil {
					t.Fatal(err)
				}
				aliases = append(aliases, alias)
			}
			a := nouns.Address(t, "acme/thing")
			i, err := repository.Inspect(t.Context(), repo, "1.0.0", repository.DepthManifests)
			if err != nil {
				t.Fatal(err)
			}
			checkForeign(t, i.CheckProvider(a, aliases...), test.want, test.offer)
			checkForeign(t, repository.CheckOwner(t.Context(), repo, a, aliases...), test.want+test.byTitle, test.offer)
		})
	}
}

func checkForeign(t *testing.T, err error, want, offer string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	foreign, ok := errors.AsType[*repository.ProviderMismatchError](err)
	if !ok || err.Error() != want {
		t.Fatalf("got %v\nwant %s", err, want)
	}
	alias, ok := foreign.Alias()
	if ok != (offer != "") || ok && alias.String() != offer {
		t.Errorf("the alias %s, %t, want %s", alias, ok, offer)
	}
}

// TestNoOwner checks repositories that have no owner.
func TestNoOwner(t *testing.T) {
	t.Parallel()
	a := nouns.Address(t, "acme/thing")
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		if err := repository.CheckOwner(t.Context(), open(), a); err != nil {
			t.Errorf("not there: %v", err)
		}
		pushTag(t, open(), index(t, "a module, say"), "latest", "")
		if err := repository.CheckOwner(t.Context(), open(), a); err != nil {
			t.Errorf("no version: %v", err)
		}
		pushTag(t, open(), index(t, "without packages"), "1.0.0", "")
		if err := repository.CheckOwner(t.Context(), open(), a); err != nil {
			t.Errorf("no release: %v", err)
		}
	})
}

// TestOwnerUnlistedTags checks that CheckOwner succeeds if a registry does not allow
// listing tags, but fails if listing tags fails for a different reason.
func TestOwnerUnlistedTags(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{})
	repo := s.open(t)
	put(t, repo, "1.0.0", "registry.opentofu.org/acme/other", "")
	a := nouns.Address(t, "acme/thing")
	for status, want := range map[int]bool{403: true, 404: true, 418: false} {
		s.Misbehave(registrytest.Tags, origintest.Status(status), -1)
		err := repository.CheckOwner(t.Context(), repo, a)
		if (err == nil) != want {
			t.Errorf("%d: %v", status, err)
		}
		s.Behave()
	}
	if err := repository.CheckOwner(t.Context(), repo, a); err == nil {
		t.Error("another provider is the owner")
	}
}

// TestOwnerWithoutRelease checks that a pending or pruned release determines the owner if
// the repository has no other release.
func TestOwnerWithoutRelease(t *testing.T) {
	t.Parallel()
	eachRepository(t, func(t *testing.T, open func() repository.Repository) {
		put(t, open(), "1.0.0", "registry.opentofu.org/acme/other", "")
		d, data, err := open().Manifest(t.Context(), "1.0.0")
		if err != nil {
			t.Fatal(err)
		}
		before := "1.0.0"
		for _, tag := range []string{"pending-1.0.0", "pruned-1.0.0"} {
			pushTag(t, open(), artifact.Blob{Descriptor: d, Bytes: data}, tag, "")
			if err := open().Capabilities().DeleteTag(t.Context(), before, d.Digest); err != nil {
				t.Fatal(err)
			}
			before = tag
			err = repository.CheckOwner(t.Context(), open(), nouns.Address(t, "acme/thing"))
			if foreign, ok := errors.AsType[*repository.ProviderMismatchError](err); !ok || foreign.Tag != tag {
				t.Errorf("got %v", err)
			}
		}
		put(t, open(), "0.9.0", "registry.opentofu.org/acme/thing", "")
		if err := repository.CheckOwner(t.Context(), open(), nouns.Address(t, "acme/thing")); err != nil {
			t.Errorf("a release counts before what waits: %v", err)
		}
	})
}

func editIndex(t *testing.T, b artifact.Blob, edit func(map[string]string)) artifact.Blob {
	t.Helper()
	var x ocispec.Index
	if err := json.Unmarshal(b.Bytes, &x); err != nil {
		t.Fatal(err)
	}
	edit(x.Annotations)
	data, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	b.Bytes, b.Descriptor.Digest, b.Descriptor.Size = data, digest.FromBytes(data), int64(len(data))
	return b
}
