package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// TestMissingFlags checks that the hint for an artifact that another program created names
// the flag that is missing, and no other flag.
func TestMissingFlags(t *testing.T) {
	t.Parallel()
	const (
		index    = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":%q,"manifests":[%s]}`
		manifest = `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":%q,"config":{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},"layers":[]}`
		entry    = `{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2,"artifactType":%q}`
	)
	parseIndex := func(text string) error { _, err := artifact.ParseIndex([]byte(text)); return err }
	parseManifest := func(text string) error { _, err := artifact.ParseManifest([]byte(text)); return err }
	parseModule := func(text string) error { _, err := artifact.ParseModule([]byte(text)); return err }
	flags := []string{"--artifact-type application/vnd.opentofu.provider to", "--artifact-type application/vnd.opentofu.provider-target", "--artifact-platform", ":archive/zip", "--artifact-type application/vnd.opentofu.modulepkg"}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"index without a type":     {parseIndex(fmt.Sprintf(index, "", "")), flags[0]},
		"index of a manifest":      {parseIndex(fmt.Sprintf(manifest, "")), flags[0]},
		"packages without a type":  {parseIndex(fmt.Sprintf(index, artifact.TypeProvider, fmt.Sprintf(entry, ""))), flags[1]},
		"manifest without a type":  {parseManifest(fmt.Sprintf(manifest, "")), flags[1]},
		"package without platform": {parseIndex(fmt.Sprintf(index, artifact.TypeProvider, fmt.Sprintf(entry, artifact.TypeTarget))), flags[2]},
		"manifest without a zip":   {parseManifest(fmt.Sprintf(manifest, artifact.TypeTarget)), flags[3]},
		"module without a type":    {parseModule(fmt.Sprintf(manifest, "")), flags[4]},
		"module without a zip":     {parseModule(fmt.Sprintf(manifest, artifact.TypeModule)), flags[3]},
		"invalid JSON":             {parseIndex("{"), ""},
	} {
		hint := explain.Hint(test.err)
		for _, flag := range flags {
			if strings.Contains(hint, flag) != (flag == test.want) {
				t.Errorf("%s: got %q, want %s", name, hint, test.want)
			}
		}
	}
}
