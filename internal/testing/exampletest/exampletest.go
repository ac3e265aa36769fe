// Package exampletest sets up runnable Examples, which have no *testing.T. It creates
// directories, the zips of a build, an origin registry, and image layouts with releases
// of acme/rocket. The content is the same on every machine. If an error occurs, the
// functions panic, which fails the Example.
package exampletest

import (
	"archive/zip"
	"bytes"
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/builddir"
)

// Dir creates a directory and returns a function that removes it.
func Dir() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "tofu-oci-example-")
	check(err)
	return dir, func() { check(os.RemoveAll(dir)) }
}

// Build writes the zips of the given versions of acme/rocket to a new directory below
// dir. Like a real build, it creates a zip for each platform. It returns the
// directory's path.
func Build(dir string, versions ...string) (dist string) {
	dist = filepath.Join(dir, "dist")
	for _, version := range versions {
		build(dist, version, version)
	}
	return dist
}

// Rebuild writes zips with different content for a version of acme/rocket. It doesn't
// write them to the directory that Build uses.
func Rebuild(dir, version string) (dist string) {
	dist = filepath.Join(dir, "rebuilt")
	build(dist, version, version+" once more")
	return dist
}

func build(dist, version, content string) {
	check(os.MkdirAll(dist, 0o700))
	for _, p := range platforms() {
		name := "terraform-provider-rocket_" + version + "_" + p.String() + ".zip"
		check(os.WriteFile(filepath.Join(dist, name), archive(version, content, p), 0o600))
	}
}

// Layout publishes the given versions of acme/rocket to an image layout below dir, and
// returns the layout's path.
func Layout(dir string, versions ...string) (layout string) {
	layout = filepath.Join(dir, "layout")
	fill(layout, Build(dir, versions...), versions)
	return layout
}

// LayoutRebuilt is like [Layout], but publishes the zips of [Rebuild] to a different
// layout.
func LayoutRebuilt(dir, version string) (layout string) {
	layout = filepath.Join(dir, "layout-rebuilt")
	fill(layout, Rebuild(dir, version), []string{version})
	return layout
}

// fill publishes the zips in dist to the layout.
func fill(layout, dist string, versions []string) {
	ctx := context.Background()
	repo := repository.NewLayout(layout)
	address, err := provider.ParseAddress("acme/rocket")
	check(err)
	src, err := builddir.New(address, dist)
	check(err)
	for _, text := range versions {
		version, err := provider.ParseVersion(text)
		check(err)
		release, err := src.Release(ctx, address, version)
		check(err)
		for _, p := range release.Packages {
			content, _, err := src.Open(ctx, p)
			check(err)
			check(repo.PushBlob(ctx, artifact.ZipDescriptor(p), content))
			check(content.Close())
		}
		packed, err := artifact.Pack(release, artifact.Options{})
		check(err)
		_, _, err = repository.Push(ctx, repo, packed, repository.Inspection{Tag: artifact.Tag(version)}, repository.PushOptions{})
		check(err)
	}
}

// Origin is an origin registry on a loopback address.
type Origin struct{ *httptest.Server }

// NewOrigin starts an origin registry with the given versions of acme/rocket.
func NewOrigin(versions ...string) Origin {
	origin := origintest.New(origintest.Options{})
	for _, version := range versions {
		r := origintest.Release{
			Namespace: "acme", Type: "rocket", Version: version, Protocols: []string{"6.0"},
			Archives: map[provider.Platform]origintest.Archive{},
		}
		for _, p := range platforms() {
			r.Archives[p] = origintest.Archive{Bytes: archive(version, version, p)}
		}
		check(origin.Add(context.Background(), r))
	}
	return Origin{httptest.NewTLSServer(origin)}
}

// Services maps the default registry's host to the origin registry's URL.
func (o Origin) Services() map[svchost.Hostname]string {
	return map[svchost.Hostname]string{provider.DefaultHost: o.URL + "/v1/providers/"}
}

func platforms() []provider.Platform {
	return []provider.Platform{{OS: "darwin", Arch: "arm64"}, {OS: "linux", Arch: "amd64"}}
}

// archive returns a package's zip. The zip is not compressed, because compressed bytes
// depend on the Go version.
func archive(version, content string, p provider.Platform) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	header := &zip.FileHeader{Name: "terraform-provider-rocket_v" + version, Method: zip.Store, Modified: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	header.SetMode(0o755)
	entry, err := w.CreateHeader(header)
	check(err)
	_, err = entry.Write([]byte("acme/rocket " + content + " for " + p.String() + "\n"))
	check(err)
	check(w.Close())
	return out.Bytes()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
