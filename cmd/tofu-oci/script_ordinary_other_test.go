//go:build !linux

package main_test

import main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"

// ordinary runs the program. On these systems, tests don't run as root.
func ordinary() { main.Main() }
