package cliconfig_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func ExampleParse() {
	config, err := cliconfig.Parse("tofurc", []byte(`
provider_installation {
  oci_mirror {
    repository_template = "ghcr.io/acme/${namespace}/${type}"
    include             = ["hashicorp/*"]
  }
  direct {
    exclude = ["hashicorp/*"]
  }
}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range config.Installation.Methods {
		fmt.Println(m)
	}
	// Output:
	// oci_mirror ghcr.io/acme/${namespace}/${type} (tofurc:3:3)
	// direct (tofurc:7:3)
}

// ExampleRead locates and reads configuration files in the same way as OpenTofu.
func ExampleRead() {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(home) }()
	text := `credentials "registry.example.com" { token = "secret" }`
	if err := os.WriteFile(filepath.Join(home, ".tofurc"), []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	// Real programs use SystemEnvironment().
	environment := cliconfig.Environment{OS: "linux", Home: home}
	files, err := cliconfig.Locate(environment, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := cliconfig.Read(environment, files)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range files.Chosen() {
		fmt.Println(filepath.Base(path))
	}
	token := config.Tokens["registry.example.com"].Reveal()
	fmt.Println(config.Tokens, len(token)) // a Secret is printed as asterisks
	// Output:
	// .tofurc
	// map[registry.example.com:***] 6
}

// Each error contains a position.
func ExampleParse_error() {
	_, err := cliconfig.Parse("tofurc", []byte(`
provider_installation {
  oci_mirror {
    include = ["hashicorp/*"]
  }
}
`))
	var syntax *stricthcl.Error
	if errors.As(err, &syntax) {
		fmt.Println(syntax.Position, syntax.Problem)
	}
	// Output:
	// tofurc:3:3 oci_mirror must have the argument repository_template
}

// MirrorBlock generates the block that makes OpenTofu install providers from a mirror.
func ExampleMirrorBlock() {
	mirror, err := template.Parse("ghcr.io/acme/providers/{namespace}/{type}")
	if err != nil {
		fmt.Println(err)
		return
	}
	pattern, err := provider.ParsePattern("hashicorp/*")
	if err != nil {
		fmt.Println(err)
		return
	}
	block, err := cliconfig.MirrorBlock(mirror, []provider.Pattern{pattern})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(block)
	// Output:
	// provider_installation {
	//   oci_mirror {
	//     repository_template = "ghcr.io/acme/providers/${namespace}/${type}"
	//     include             = ["registry.opentofu.org/hashicorp/*"]
	//   }
	//   direct {
	//     exclude = ["registry.opentofu.org/hashicorp/*"]
	//   }
	// }
}

// Rewrite generates a configuration that installs one provider from a directory, and
// all other providers as the user configured.
func ExampleRewrite() {
	dir, err := os.MkdirTemp("", "config")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "user.tfrc")
	const user = `provider_installation {
  oci_mirror {
    repository_template = "ghcr.io/acme/${namespace}/${type}"
    include             = ["registry.opentofu.org/*/*"]
  }
  direct {}
}`
	if err := os.WriteFile(file, []byte(user), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	env := cliconfig.Environment{OS: "linux"}
	files, err := cliconfig.Locate(env, file)
	if err != nil {
		fmt.Println(err)
		return
	}
	null, err := provider.ParseAddress("hashicorp/null")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := cliconfig.Rewrite(env, files, cliconfig.RewriteOptions{Dir: "/var/mirror", Providers: []provider.Address{null}, WorkDir: "/work"})
	fmt.Print(string(text), err, "\n")
	// Output:
	// # Written by tofu-oci for one run of a program.
	// provider_installation {
	//   filesystem_mirror {
	//     path = "/var/mirror"
	//     include = ["registry.opentofu.org/hashicorp/null"]
	//   }
	//   direct {
	//     exclude = ["registry.opentofu.org/hashicorp/null"]
	//   }
	// }
	// <nil>
}

// Merge adds the block for a mirror to an existing file and keeps everything else.
func ExampleMerge() {
	t, err := template.Parse("ghcr.io/acme/{namespace}/{type}")
	if err != nil {
		fmt.Println(err)
		return
	}
	merged, err := cliconfig.Merge("tofurc", []byte("# mine\ndisable_checkpoint = true\n"), t, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(merged))

	_, err = cliconfig.Merge("tofurc", []byte("provider_installation {\n  direct {}\n}\n"), t, nil)
	if byHand, ok := errors.AsType[*cliconfig.MergeError](err); ok {
		fmt.Println(byHand.Position, "must be changed manually")
	}
	// Output:
	// # mine
	// disable_checkpoint = true
	//
	// provider_installation {
	//   oci_mirror {
	//     repository_template = "ghcr.io/acme/${namespace}/${type}"
	//     include             = ["registry.opentofu.org/*/*"]
	//   }
	//   direct {
	//     exclude = ["registry.opentofu.org/*/*"]
	//   }
	// }
	// tofurc:1:1 must be changed manually
}
