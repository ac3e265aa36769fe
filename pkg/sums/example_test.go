package sums_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func ExampleParse() {
	document := `
ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  terraform-provider-x_1.0.0_plan9_arm.zip
3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  terraform-provider-x_1.0.0_manifest.json
`
	file, err := sums.Parse([]byte(document))
	if err != nil {
		fmt.Println(err)
		return
	}
	name := "terraform-provider-x_1.0.0_plan9_arm.zip"
	fmt.Println(file.Check(name, digest.FromString("a")))

	var mismatch *sums.MismatchError
	fmt.Println(errors.As(file.Check(name, digest.FromString("b")), &mismatch))
	fmt.Println(file.Check("terraform-provider-x_1.0.0_plan9_386.zip", digest.FromString("a")))
	// Output:
	// <nil>
	// true
	// SHA256SUMS does not list terraform-provider-x_1.0.0_plan9_386.zip
}

func ExampleNewReader() {
	promised := digest.FromString("the released bytes")
	body := strings.NewReader("the tampered bytes") // the expected size

	var received strings.Builder
	_, err := io.Copy(&received, sums.NewReader(body, "x.zip", 18, promised))

	var mismatch *sums.MismatchError
	fmt.Println(errors.As(err, &mismatch))
	fmt.Println(received.Len() < 18)
	// Output:
	// true
	// true
}

// The SHA-256 of a zip is the checksum in SHA256SUMS, the digest of the blob in a registry,
// and the zh: hash in a lock file.
func ExampleZH() {
	zip := digest.FromString("the bytes of the zip")
	line := sums.ZH(zip)
	fmt.Println(line)

	back, err := sums.ParseZH(line)
	fmt.Println(back == zip, err)
	// Output:
	// zh:8e8d27999641bc1920fa20400c23346fb66c0d2aadcf1aa71f61786d22f7113b
	// true <nil>
}

// New lists files in a stable order.
func ExampleNew() {
	file := sums.New(map[string]digest.Digest{
		"terraform-provider-x_1.0.0_plan9_arm.zip": digest.FromString("a"),
		"terraform-provider-x_1.0.0_hurd_ia64.zip": digest.FromString("b"),
	})
	fmt.Print(string(file.Bytes()))
	// Output:
	// 3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  terraform-provider-x_1.0.0_hurd_ia64.zip
	// ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  terraform-provider-x_1.0.0_plan9_arm.zip
}
