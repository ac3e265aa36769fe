package artifact_test

import (
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func ExamplePack() {
	address, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	version, err := provider.ParseVersion("1.2.3+build.5")
	if err != nil {
		fmt.Println(err)
		return
	}
	platform := provider.Platform{OS: "linux", Arch: "amd64"}
	zip := "the bytes of the zip"
	packed, err := artifact.Pack(provider.Release{
		Address: address, Version: version,
		Packages: []provider.Package{{
			Address: address, Version: version, Platform: platform,
			Filename: provider.Filename(address, version, platform),
			Digest:   digest.FromString(zip), Size: int64(len(zip)),
		}},
	}, artifact.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("tag:", artifact.Tag(version))
	fmt.Println("index:", packed.Index.Descriptor.ArtifactType)
	for _, m := range packed.Manifests {
		fmt.Println("manifest:", m.Descriptor.ArtifactType)
	}
	// Output:
	// tag: 1.2.3_build.5
	// index: application/vnd.opentofu.provider
	// manifest: application/vnd.opentofu.provider-target
}

// This example parses the index of a release.
func ExampleParseIndex() {
	index, err := artifact.ParseIndex([]byte(`{
  "schemaVersion": 2,
  "mediaType": "application/vnd.oci.image.index.v1+json",
  "artifactType": "application/vnd.opentofu.provider",
  "manifests": [{
    "mediaType": "application/vnd.oci.image.manifest.v1+json",
    "artifactType": "application/vnd.opentofu.provider-target",
    "digest": "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
    "size": 1,
    "platform": {"os": "linux", "architecture": "amd64"}
  }]
}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(index.Platforms())

	_, err = artifact.ParseIndex([]byte(`{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []}`))
	var format *artifact.FormatError
	fmt.Println(errors.As(err, &format))
	// Output:
	// [linux_amd64]
	// true
}

// This example converts tags to versions. Some tags are not versions.
func ExampleParseTag() {
	for _, tag := range []string{"1.2.3_build.5", "latest", "1.2"} {
		version, ok := artifact.ParseTag(tag)
		fmt.Println(tag, version, ok)
	}
	// Output:
	// 1.2.3_build.5 1.2.3+build.5 true
	// latest 0.0.0 false
	// 1.2 0.0.0 false
}
