package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// foreignContent contains manifests that a repository can have under any tag. {config}
// is replaced with the digest of an empty object, and {manifest} with the digest of a
// container image's manifest.
var foreignContent = map[string]string{
	"an image":               `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"{config}","size":2},"layers":[]}`,
	"an artifact":            `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.example","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"{config}","size":2},"layers":[{"mediaType":"archive/zip","digest":"{config}","size":2}]}`,
	"a module":               `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.opentofu.modulepkg","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"{config}","size":2},"layers":[{"mediaType":"archive/zip","digest":"{config}","size":2}]}`,
	"a module without a zip": `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.opentofu.modulepkg","config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"{config}","size":2},"layers":[]}`,
	"an image index":         `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"{manifest}","size":{size},"platform":{"os":"plan9","architecture":"sparc"}}]}`,
	"an empty index":         `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`,
	"an empty release":       `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"application/vnd.opentofu.provider","manifests":[]}`,
	"a release of an image":  `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"application/vnd.opentofu.provider","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.opentofu.provider-target","digest":"{manifest}","size":{size},"platform":{"os":"plan9","architecture":"sparc"}}]}`,
	"a release of nothing":   `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"application/vnd.opentofu.provider","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.opentofu.provider-target","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","size":100,"platform":{"os":"plan9","architecture":"sparc"}}]}`,
	"no platform":            `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"application/vnd.opentofu.provider","manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"{manifest}","size":{size}}]}`,
	"null":                   `null`,
	"an object":              `{}`,
	"text":                   `text`,
}

// TestForeignContent runs each command with repositories in which tags of each kind
// point to content that other programs wrote. No command panics or reports a wrong call.
func TestForeignContent(t *testing.T) { //nolint:paralleltest // the environment belongs to the process
	patience.SkipIfShort(t)
	for kind, content := range foreignContent {
		t.Run(kind, func(t *testing.T) {
			j := newJob(t)
			if code, output := j.run(t, "module push vpc --to oci-layout:repo/vpc --version 1.0.0", nil); code != 0 {
				t.Fatalf("exit code %d\n%s", code, output)
			}
			addForeign(t, "repo/null", content, "3.2.4", "9.9.9", "pending-3.2.5", "denied-9.9.8", "tofu-oci-sync", "latest")
			addForeign(t, "repo/vpc", content, "1.0.0", "9.9.9", "pending-3.2.5", "denied-9.9.8", "latest")
			addForeign(t, "synced/null", content, "3.2.4", "9.9.9", "pending-3.2.5", "denied-9.9.8", "tofu-oci-sync")
			for _, s := range simplest {
				if code, output := j.run(t, s.call, nil); code == 2 || strings.Contains(output, "internal error") {
					t.Errorf("%s: exit code %d\n%s", s.call, code, output)
				}
			}
		})
	}
}

// addForeign writes a manifest to an image layout and moves tags to it. It keeps the
// other tags.
func addForeign(t *testing.T, layout, content string, tags ...string) {
	t.Helper()
	put := func(content string) string {
		d := digest.FromString(content)
		writeFile(t, filepath.Join(layout, "blobs", "sha256", d.Encoded()), []byte(content))
		return d.String()
	}
	config := put("{}")
	image := strings.ReplaceAll(foreignContent["an image"], "{config}", config)
	content = strings.NewReplacer("{config}", config, "{manifest}", put(image), "{size}", fmt.Sprint(len(image))).Replace(content)
	var index ocispec.Index
	data, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err == nil {
		err = json.Unmarshal(data, &index)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	mediaType := ocispec.MediaTypeImageManifest
	if strings.Contains(content, ocispec.MediaTypeImageIndex) {
		mediaType = ocispec.MediaTypeImageIndex
	}
	index.SchemaVersion, index.MediaType = 2, ocispec.MediaTypeImageIndex
	index.Manifests = slices.DeleteFunc(index.Manifests, func(d ocispec.Descriptor) bool {
		return slices.Contains(tags, d.Annotations[ocispec.AnnotationRefName])
	})
	for _, tag := range tags {
		index.Manifests = append(index.Manifests, ocispec.Descriptor{
			MediaType: mediaType, Digest: digest.Digest(put(content)), Size: int64(len(content)),
			Annotations: map[string]string{ocispec.AnnotationRefName: tag},
		})
	}
	if data, err = json.Marshal(index); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(layout, "index.json"), data)
	writeFile(t, filepath.Join(layout, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`))
}
