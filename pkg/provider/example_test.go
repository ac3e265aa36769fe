package provider_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func ExampleParseAddress() {
	a, err := provider.ParseAddress("HashiCorp/null")
	fmt.Println(a, err)

	_, err = provider.ParseAddress("hashicorp/terraform-provider-null")
	var syntax *provider.SyntaxError
	if errors.As(err, &syntax) {
		fmt.Println(syntax.Problem)
		fmt.Println(syntax.Pointer())
	}
	// Output:
	// registry.opentofu.org/hashicorp/null <nil>
	// the type must not start with "terraform-"; did you mean "null"?
	// hashicorp/terraform-provider-null
	//           ^
}

func ExampleRequirement_Select() {
	r, err := provider.ParseRequirement("hashicorp/aws@~> 5.0, != 5.10.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	var have []provider.Version
	for _, text := range []string{"4.67.0", "5.9.0", "5.10.0", "5.11.0-beta1", "6.0.0"} {
		v, err := provider.ParseVersion(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		have = append(have, v)
	}
	newest, err := r.Select(have, 1)
	fmt.Println(r.Address, newest, err)
	// Output:
	// registry.opentofu.org/hashicorp/aws [5.9.0] <nil>
}

// Versions are parsed and ordered as in OpenTofu.
func ExampleNewestFirst() {
	var versions []provider.Version
	for _, text := range []string{"1.2", "1.10.0", "2.0.0-rc1", "1.10.0"} {
		v, err := provider.ParseVersion(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		versions = append(versions, v)
	}
	fmt.Println(provider.NewestFirst(versions), versions[2].Prerelease())

	_, err := provider.ParseVersion("v1.2.3")
	fmt.Println(err)
	// Output:
	// [2.0.0-rc1 1.10.0 1.2.0] true
	// invalid version "v1.2.3": a "v" prefix should not be used (at character 1)
}

// A pre-release meets a constraint only if it is specified exactly.
func ExampleParseConstraint() {
	c, err := provider.ParseConstraint("~> 5.0, != 5.10.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"5.9.0", "5.10.0", "5.11.0-beta1", "6.0.0"} {
		v, err := provider.ParseVersion(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v, c.Allows(v))
	}
	// Output:
	// 5.9.0 true
	// 5.10.0 false
	// 5.11.0-beta1 false
	// 6.0.0 false
}

func ExampleParsePlatform() {
	for _, text := range []string{"linux_amd64", "Linux/AMD64"} {
		p, err := provider.ParsePlatform(text)
		fmt.Println(p.OS, p.Arch, err != nil)
	}
	// Output:
	// linux amd64 false
	//   true
}

// Patterns have the syntax of include and exclude in provider_installation blocks.
func ExampleParsePattern() {
	a, err := provider.ParseAddress("hashicorp/aws")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{"hashicorp/*", "registry.opentofu.org/*/*", "registry.terraform.io/*/*"} {
		p, err := provider.ParsePattern(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(p, p.Match(a))
	}
	// Output:
	// registry.opentofu.org/hashicorp/* true
	// registry.opentofu.org/*/* true
	// registry.terraform.io/*/* false
}

// A requirement is a provider with an optional version constraint.
func ExampleParseRequirement() {
	for _, text := range []string{"hashicorp/aws", "registry.example.com/acme/rocket@~> 1.0", "acme/rocket@1.2.3"} {
		r, err := provider.ParseRequirement(text)
		if err != nil {
			fmt.Println(err)
			return
		}
		version, exact := r.Constraint.Exact()
		fmt.Printf("%s constraint %q exact %t %s\n", r.Address, r.Constraint, exact, version)
	}
	// Output:
	// registry.opentofu.org/hashicorp/aws constraint "" exact false 0.0.0
	// registry.example.com/acme/rocket constraint "~> 1.0" exact false 0.0.0
	// registry.opentofu.org/acme/rocket constraint "1.2.3" exact true 1.2.3
}

// The files of a release have the same names in all origin registries.
func ExampleFilename() {
	a, err := provider.ParseAddress("acme/rocket")
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := provider.ParseVersion("1.2.3")
	if err != nil {
		fmt.Println(err)
		return
	}
	name := provider.Filename(a, v, provider.Platform{OS: "linux", Arch: "amd64"})
	fmt.Println(name, provider.SumsName(a, v))
	fmt.Println(provider.ParseFilename(name))
	// Output:
	// terraform-provider-rocket_1.2.3_linux_amd64.zip terraform-provider-rocket_1.2.3_SHA256SUMS
	// rocket 1.2.3 linux_amd64 true
}

// A provider can be used in place of another provider only if an alias allows it and
// the types are equal.
func ExampleAliases() {
	requested, err := provider.ParseAddress("hashicorp/time")
	if err != nil {
		log.Fatal(err)
	}
	alias, err := provider.ParseAlias("hashicorp/*=registry.terraform.io/hashicorp/*")
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"registry.terraform.io/hashicorp/time", "registry.terraform.io/hashicorp/null"} {
		stored, err := provider.ParseAddress(text)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(stored, provider.Aliases(nil).Allow(requested, stored), provider.Aliases{alias}.Allow(requested, stored))
	}
	// Output:
	// registry.terraform.io/hashicorp/time false true
	// registry.terraform.io/hashicorp/null false false
}
