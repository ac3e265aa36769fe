package artifact_test

import (
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
