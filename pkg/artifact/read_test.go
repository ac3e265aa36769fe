package artifact_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Arbitrary digests.
var (
	sha256 = "sha256:" + strings.Repeat("ab", 32)
	sha512 = digest.Digest("sha512:" + strings.Repeat("ab", 64))
)

// entry returns a descriptor of the index, edited by pairs of old and new strings.
func entry(platform string, changes ...string) string {
	os, arch, _ := strings.Cut(platform, "_")
	return strings.NewReplacer(changes...).Replace(`{"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"artifactType":"application/vnd.opentofu.provider-target","digest":"` + sha256 + `","size":500,` +
		`"platform":{"os":"` + os + `","architecture":"` + arch + `"}}`)
}

func index(entries ...string) string {
	return `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json",` +
		`"artifactType":"application/vnd.opentofu.provider","manifests":[` + strings.Join(entries, ",") + `]}`
}

func layer(mediaType, title string, changes ...string) string {
	annotations := ""
	if title != "" {
		annotations = `,"annotations":{"org.opencontainers.image.title":` + strconv.Quote(title) + `}`
	}
	return strings.NewReplacer(changes...).Replace(`{"mediaType":"` + mediaType + `","digest":"` + sha256 + `","size":10` + annotations + `}`)
}

func manifest(layers ...string) string {
	return `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"artifactType":"application/vnd.opentofu.provider-target",` +
		`"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"` + string(ocispec.DescriptorEmptyJSON.Digest) + `","size":2},` +
		`"layers":[` + strings.Join(layers, ",") + `]}`
}

// Documents that are not provider artifacts.
const (
	imageManifest = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"config":{"mediaType":"application/vnd.oci.image.config.v1+json"},"layers":[]}`
	imageManifestWithoutType = `{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json"},"layers":[]}`
	dockerImage              = `{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.v2+json",` +
		`"config":{"mediaType":"application/vnd.docker.container.image.v1+json"},"layers":[]}`
	imageIndex = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json",` +
		`"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","platform":{"os":"linux","architecture":"amd64"}}]}`
	dockerList = `{"schemaVersion":2,"mediaType":"application/vnd.docker.distribution.manifest.list.v2+json",` +
		`"manifests":[{"mediaType":"application/vnd.docker.distribution.manifest.v2+json","platform":{"os":"linux","architecture":"amd64"}}]}`
	modulePackage = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"artifactType":"application/vnd.opentofu.modulepkg","config":{"mediaType":"application/vnd.oci.empty.v1+json"},"layers":[]}`
	otherManifest = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",` +
		`"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json"},"layers":[]}`
	otherIndex = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"application/x","manifests":[]}`
)

func TestParseIndexOfOtherTools(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, data string
		want       []string
	}{
		{"without annotations, in any order", index(entry("plan9_386"), entry("linux_amd64")), []string{"linux_amd64", "plan9_386"}},
		{"other artifact types", index(entry("linux_amd64", "provider-target", "sbom"), entry("linux_arm64")), []string{"linux_arm64"}},
		{"no artifact type", index(`{"mediaType":"x","digest":"`+sha256+`","size":1}`, entry("linux_arm64")), []string{"linux_arm64"}},
		{"versions of operating systems", index(entry("windows_amd64", `"os":`, `"os.version":"10.0.1","os":`), entry("windows_amd64")), []string{"windows_amd64"}},
		{"platforms that do not exist", index(entry("Linux_AMD64"), entry("_"), entry("a b_c"), entry("linux_arm64")), []string{"linux_arm64"}},
		{"versions of operating systems only", index(entry("windows_amd64", `"os":`, `"os.version":"10.0.1","os":`)), nil},
		{"platforms that do not exist only", index(entry("_")), nil},
		{"a variant", index(entry("linux_arm", `"arm"`, `"arm","variant":"v7"`)), []string{"linux_arm"}},
		{"the largest manifest", index(entry("linux_arm64", `"size":500`, `"size":4194304`)), []string{"linux_arm64"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x, err := artifact.ParseIndex([]byte(test.data))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i, p := range x.Platforms() {
				got = append(got, p.String())
				if _, ok := x.Targets[i].Digest(); ok || x.Targets[i].H1() != "" {
					t.Errorf("%s: hashes that the index does not state", p)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("wrong platforms (-want +got):\n%s", diff)
			}
			if x.Protocols() != nil {
				t.Errorf("got protocols %q", x.Protocols())
			}
		})
	}
}

// TestParseIndexDuplicatePlatform checks that two entries for a platform affect only that platform.
func TestParseIndexDuplicatePlatform(t *testing.T) {
	t.Parallel()
	zh := `"annotations":{"io.github.tofu-oci.zh":"zh:` + strings.TrimPrefix(sha256, "sha256:") + `"},"size"`
	x, err := artifact.ParseIndex([]byte(index(
		entry("linux_amd64", `"size"`, zh), entry("plan9_386", `"size"`, zh), entry("linux_amd64", `"size"`, zh), entry("linux_amd64"),
	)))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(x.Platforms(), x.Single(), x.Targets[0].Duplicate, x.Targets[1].Duplicate)
	if want := "[linux_amd64 plan9_386] [plan9_386] true false"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	checkFormatError(t, x.Targets[0].Err(), "more than one manifest for linux_amd64")
	if _, known := x.Targets[0].Digest(); known {
		t.Error("got a digest of a platform with two manifests")
	}
	if _, known := x.Targets[1].Digest(); !known || x.Targets[1].Err() != nil {
		t.Errorf("the other platform has no digest, or %v", x.Targets[1].Err())
	}
}

func TestParseIndexIgnoresInvalidHashes(t *testing.T) {
	t.Parallel()
	data := index(entry("plan9_386", `"size"`, `"annotations":{"io.github.tofu-oci.zh":"zh:123","io.github.tofu-oci.h1":"h1:?"},"size"`))
	x, err := artifact.ParseIndex([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := x.Targets[0].Digest(); ok || x.Targets[0].H1() != "" {
		t.Errorf("got %s, %q", d, x.Targets[0].H1())
	}
}

func TestParseIndexErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, data, want string }{
		{"nothing", "", "invalid JSON"},
		{"no JSON", "<html>", "invalid JSON"},
		{"JSON of another shape", `{"manifests":"x"}`, "invalid JSON"},
		{"null", "null", "got a document without a media type"},
		{"an empty document", "{}", "got a document without a media type"},
		{"over 4 MiB", index(entry("linux_amd64")) + strings.Repeat(" ", artifact.MaxManifestSize), "OpenTofu reads at most 4194304"},
		{"a package's manifest under the tag", manifest(layer(artifact.MediaTypeZip, "")), `got an image manifest of artifact type "application/vnd.opentofu.provider-target"`},
		{"a plain image manifest", otherManifest, `got an image manifest of artifact type "application/vnd.cncf.helm.config.v1+json"`},
		{"a module package", modulePackage, "got a module package"},
		{"a container image", imageManifest, "got a container image"},
		{"a container image without a media type", imageManifestWithoutType, "got a container image"},
		{"a Docker image", dockerImage, "got a container image"},
		{"a multi-platform container image", imageIndex, "got a multi-platform container image"},
		{"a multi-platform Docker image", dockerList, "got a multi-platform container image"},
		{"another artifact type", otherIndex, `got an index of artifact type "application/x"`},
		{"another media type", `{"mediaType":"text/plain"}`, `got a document of media type "text/plain"`},
		{"the artifact type on another document", strings.Replace(index(), "image.index", "image.manifest", 1), "got an image manifest of artifact type"},
		{"no manifests", index(), "index has no manifest of artifact type application/vnd.opentofu.provider-target"},
		{"descriptors of other artifact types only", index(entry("linux_amd64", "provider-target", "sbom")), "index has no manifest of artifact type"},
		{"a package that is an index", index(entry("linux_amd64", "image.manifest", "image.index")), `lists a package of media type "application/vnd.oci.image.index.v1+json"`},
		{"a package for no platform", index(entry("linux_amd64", `"platform"`, `"x"`)), "lists a package without a platform"},
		{"another digest than SHA-256", index(entry("linux_amd64", sha256, string(sha512))), `invalid manifest descriptor for linux_amd64: invalid digest "sha512:`},
		{"a digest that is none", index(entry("linux_amd64", sha256, "sha256:../..")), `invalid digest "sha256:../.."`},
		{"a manifest over 4 MiB", index(entry("linux_amd64", `"size":500`, `"size":4194305`)), "invalid size 4194305"},
		{"a negative size", index(entry("linux_amd64", `"size":500`, `"size":-1`)), "invalid size -1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x, err := artifact.ParseIndex([]byte(test.data))
			checkFormatError(t, err, test.want)
			if diff := cmp.Diff(artifact.Index{}, x); diff != "" {
				t.Errorf("unexpected result in addition to the error:\n%s", diff)
			}
		})
	}
}

func checkFormatError(t *testing.T, err error, want string) {
	t.Helper()
	var e *artifact.FormatError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a format error", err)
	}
	if !strings.Contains(e.Problem, want) || !strings.HasSuffix(e.Error(), ": "+e.Problem) {
		t.Errorf("got %v, want … %s …", err, want)
	}
}

func TestFormatErrorsAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 1<<20)
	for _, data := range []string{
		strings.Replace(otherIndex, "application/x", long, 1),
		strings.Replace(otherManifest, "helm", long, 1),
		`{"mediaType":"x` + long + `"}`,
		index(entry("linux_amd64", sha256, long)),
		index(entry("linux_amd64", "image.manifest", long)),
	} {
		_, err := artifact.ParseIndex([]byte(data))
		checkFormatError(t, err, "ü")
		if text := err.Error(); len(text) > 500 || strings.ToValidUTF8(text, "") != text {
			t.Errorf("%d bytes, or no text: %.500q", len(text), text)
		}
	}
}

func TestParseManifestOfOtherTools(t *testing.T) {
	t.Parallel()
	zip := layer(artifact.MediaTypeZip, "x.zip")
	for _, test := range []struct {
		name, data  string
		filename    string
		attachments []string
		blobs       int
	}{
		{"a zip without a title", manifest(layer(artifact.MediaTypeZip, "")), "", nil, 2},
		{"a zip with the path that oras was given", manifest(layer(artifact.MediaTypeZip, "dist/x.zip")), "", nil, 2},
		{"a zip with a hostile title", manifest(layer(artifact.MediaTypeZip, "../../.bashrc")), "", nil, 2},
		{"a zip of the largest size", manifest(layer(artifact.MediaTypeZip, "x.zip", `"size":10`, `"size":4294967296`)), "x.zip", nil, 2},
		{"no config", strings.Replace(manifest(zip), `"config"`, `"x"`, 1), "x.zip", nil, 1},
		{"layers before the zip", manifest(layer("a/b", "b"), layer("a/b", "a"), zip), "x.zip", []string{"b", "a"}, 4},
		{"a layer without a title", manifest(zip, layer("a/b", "")), "x.zip", nil, 3},
		{"a layer with a hostile title", manifest(zip, layer("a/b", "../x"), layer("a/b", `a\b`)), "x.zip", nil, 4},
		{"a layer that is too large for memory", manifest(zip, layer("a/b", "b", `"size":10`, `"size":33554433`)), "x.zip", nil, 3},
		{"a layer of the largest size", manifest(zip, layer("a/b", "b", `"size":10`, `"size":33554432`)), "x.zip", []string{"b"}, 3},
		{"a layer of a negative size", manifest(zip, layer("a/b", "b", `"size":10`, `"size":-1`)), "x.zip", nil, 2},
		{"a layer with another digest than SHA-256", manifest(zip, layer("a/b", "b", sha256, string(sha512))), "x.zip", nil, 2},
		{"a config with a digest that is none", strings.Replace(manifest(zip), string(ocispec.DescriptorEmptyJSON.Digest), "sha256:..", 1), "x.zip", nil, 1},
		{"sums without a title", manifest(zip, layer(artifact.MediaTypeSums, "")), "x.zip", []string{""}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := artifact.ParseManifest([]byte(test.data))
			if err != nil {
				t.Fatal(err)
			}
			if m.Zip.MediaType != artifact.MediaTypeZip || string(m.Zip.Digest) != sha256 {
				t.Errorf("got the zip %v", m.Zip)
			}
			if m.Title != test.filename {
				t.Errorf("got the file name %q, want %q", m.Title, test.filename)
			}
			var titles []string
			for _, d := range m.Documents {
				titles = append(titles, d.Annotations[ocispec.AnnotationTitle])
			}
			if diff := cmp.Diff(test.attachments, titles); diff != "" {
				t.Errorf("wrong attachments (-want +got):\n%s", diff)
			}
			if len(m.Blobs) != test.blobs {
				t.Errorf("got %d blobs, want %d: %v", len(m.Blobs), test.blobs, m.Blobs)
			}
		})
	}
}

func TestParseManifestErrors(t *testing.T) {
	t.Parallel()
	zip := layer(artifact.MediaTypeZip, "x.zip")
	for _, test := range []struct{ name, data, want string }{
		{"no JSON", "<html>", "invalid JSON"},
		{"over 4 MiB", manifest(zip) + strings.Repeat(" ", artifact.MaxManifestSize), "OpenTofu reads at most 4194304"},
		{"more layers than can be counted", manifest(append([]string{zip}, slices.Repeat([]string{"{}"}, 16<<10)...)...), "exceeds 16384 values"},
		{"more annotations than can be counted", `{"annotations":{"":""` + strings.Repeat(`,"":""`, 16<<10) + "}}", "exceeds 16384 values"},
		{"too deep", strings.Repeat("[", 65), "exceeds 64 levels"},
		{"an index", index(), `got an index of artifact type "application/vnd.opentofu.provider"`},
		{"a container image", imageManifest, "got a container image"},
		{"a Docker image", dockerImage, "got a container image"},
		{"a module package", modulePackage, "got a module package"},
		{"another artifact type", otherManifest, `got an image manifest of artifact type "application/vnd.cncf.helm.config.v1+json"`},
		{"no layers", manifest(), "manifest has no layer of type archive/zip"},
		{"no zip", manifest(layer("application/gzip", "x.tgz")), "manifest has no layer of type archive/zip"},
		{"two zips", manifest(zip, zip), "manifest has 2 layers of type archive/zip, want 1"},
		{"a zip that is too large", manifest(layer(artifact.MediaTypeZip, "x.zip", `"size":10`, `"size":4294967297`)), "invalid zip layer: invalid size 4294967297"},
		{"a zip with another digest than SHA-256", manifest(layer(artifact.MediaTypeZip, "x.zip", sha256, string(sha512))), `invalid zip layer: invalid digest "sha512:`},
		{"a zip of a negative size", manifest(layer(artifact.MediaTypeZip, "x.zip", `"size":10`, `"size":-1`)), "invalid zip layer: invalid size -1"},
		{"two sums", manifest(zip, layer(artifact.MediaTypeSums, "a"), layer(artifact.MediaTypeSums, "b")), "manifest has 2 layers of type text/plain+sha256sum"},
		{"sums that are too large", manifest(zip, layer(artifact.MediaTypeSums, "a", `"size":10`, `"size":33554433`)), "invalid layer of type text/plain+sha256sum: invalid size 33554433"},
		{"sums with another digest than SHA-256", manifest(zip, layer(artifact.MediaTypeSums, "a", sha256, string(sha512))), `invalid layer of type text/plain+sha256sum: invalid digest "sha512:`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, err := artifact.ParseManifest([]byte(test.data))
			checkFormatError(t, err, test.want)
			if diff := cmp.Diff(artifact.Manifest{}, m); diff != "" {
				t.Errorf("unexpected result in addition to the error:\n%s", diff)
			}
		})
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := artifact.ParseIndex(data)
		if err != nil {
			checkFormatError(t, err, "")
			return
		}
		if !slices.IsSortedFunc(x.Targets, func(a, b artifact.Target) int { return a.Platform.Compare(b.Platform) }) {
			t.Fatalf("not sorted: %v", x.Targets)
		}
		if len(provider.SortPlatforms(x.Platforms())) != len(x.Targets) {
			t.Fatalf("not one a platform: %v", x.Targets)
		}
		for _, target := range x.Targets {
			checkDescriptor(t, target.Descriptor)
			if p, err := provider.ParsePlatform(target.Platform.String()); err != nil || p != target.Platform {
				t.Fatalf("%q is not a platform: %v", target.Platform, err)
			}
			if found, ok := x.Target(target.Platform); !ok || found.Descriptor.Digest != target.Descriptor.Digest {
				t.Fatalf("%s is not found", target.Platform)
			}
		}
	})
}

func FuzzParseManifest(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := artifact.ParseManifest(data)
		if err != nil {
			checkFormatError(t, err, "")
			return
		}
		if m.Title != "" {
			if err := provider.CheckFilename(m.Title); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range slices.Concat(m.Documents, m.Blobs, []ocispec.Descriptor{m.Zip}) {
			checkDescriptor(t, d)
		}
		for _, d := range m.Documents {
			if d.Size > artifact.MaxDocumentSize {
				t.Fatalf("%s has %d bytes", d.Digest, d.Size)
			}
		}
		if !slices.ContainsFunc(m.Blobs, func(d ocispec.Descriptor) bool { return d.Digest == m.Zip.Digest }) {
			t.Fatal("the zip is not among the blobs")
		}
	})
}

func checkDescriptor(t *testing.T, d ocispec.Descriptor) {
	t.Helper()
	if err := d.Digest.Validate(); err != nil || d.Digest.Algorithm() != digest.SHA256 || d.Size < 0 {
		t.Fatalf("%q of %d bytes: %v", d.Digest, d.Size, err)
	}
}
