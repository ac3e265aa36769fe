package artifact_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// goldenModule is the manifest that the tests expect. If it changes, the digests of all
// modules change.
const goldenModule = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"application/vnd.opentofu.modulepkg",` +
	`"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2,"data":"e30="},` +
	`"layers":[{"mediaType":"archive/zip","digest":"sha256:6a4bdb2d78d0f0fa0be17ca2d6e4d04b60d2bd8bd5a0fa55e1cbdd9c0d2d3b0e","size":3,"annotations":{"org.opencontainers.image.title":"vpc_1.2.0.zip"}},` +
	`{"mediaType":"application/spdx+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2,"annotations":{"org.opencontainers.image.title":"vpc.spdx.json"}}],` +
	`"annotations":{"org.opencontainers.image.source":"https://example.com/vpc","org.opencontainers.image.version":"1.2.0"}}`

func TestPackModule(t *testing.T) {
	t.Parallel()
	v, err := provider.ParseVersion("1.2.0")
	if err != nil {
		t.Fatal(err)
	}
	zip := digest.Digest("sha256:6a4bdb2d78d0f0fa0be17ca2d6e4d04b60d2bd8bd5a0fa55e1cbdd9c0d2d3b0e")
	packed, err := artifact.Pack(provider.Release{
		Address: provider.ModuleAddress("oci://ghcr.io/acme/vpc"), Version: v,
		Packages: []provider.Package{{
			Version: v, Filename: "vpc_1.2.0.zip", Digest: zip, Size: 3,
			Documents: []provider.Document{artifact.NewDocument("vpc.spdx.json", artifact.MediaTypeSPDX, []byte("{}"))},
		}},
	}, artifact.Options{SourceURL: "https://example.com/vpc"})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(packed.Index.Bytes); got != goldenModule {
		t.Errorf("manifest:\n%s\nwant:\n%s", got, goldenModule)
	}
	m, err := artifact.ParseModule(packed.Index.Bytes)
	if err != nil || m.Zip.Digest != zip || m.Title != "vpc_1.2.0.zip" || len(m.Documents) != 1 || len(m.Blobs) != 3 {
		t.Errorf("ParseModule() = %+v, %v", m, err)
	}
}

func TestParseModuleRejects(t *testing.T) {
	t.Parallel()
	layer := goldenModule[strings.Index(goldenModule, `{"mediaType":"archive/zip"`) : strings.Index(goldenModule, `vpc_1.2.0.zip"}},`)+len(`vpc_1.2.0.zip"}},`)]
	for name, data := range map[string]string{
		"no zip":     strings.Replace(goldenModule, layer, "", 1),
		"two zips":   strings.Replace(goldenModule, layer, layer+layer, 1),
		"a provider": strings.Replace(goldenModule, artifact.TypeModule, artifact.TypeTarget, 1),
		"not JSON":   "module",
	} {
		_, err := artifact.ParseModule([]byte(data))
		if format, ok := errors.AsType[*artifact.FormatError](err); !ok || !strings.Contains(format.Error(), "not a module package") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
