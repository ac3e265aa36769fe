//go:build !linux

package main_test

import main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"

// ordinary is the program: tests don't run as root elsewhere.
func ordinary() { main.Main() }
