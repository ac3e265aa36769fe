package configuration_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
)

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "configuration")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	text := `terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
  }
}
resource "random_id" "name" {}
module "network" {
  source = "acme/network/aws"
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	c, err := configuration.Load(context.Background(), dir, configuration.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range c.Required {
		fmt.Println(r)
	}
	for _, call := range c.Unread {
		fmt.Printf("%s was not read: %s\n", call.Address, call.Reason)
	}
	// Output:
	// registry.opentofu.org/hashicorp/aws@~> 5.0
	// registry.opentofu.org/hashicorp/random
	// module.network was not read: the module is not installed
}
