//go:build unix

package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// versions describes the versions of the programs.
func (p programs) versions(ctx context.Context) (string, error) {
	var list []string
	for _, program := range []string{p.crane, p.regctl, p.regsync, p.oras, p.tofu, p.terraform, p.registry} {
		built, err := buildinfo.ReadFile(program)
		if err != nil {
			return "", err
		}
		list = append(list, filepath.Base(built.Path)+" "+built.Main.Version)
	}
	for _, program := range []string{p.tofuOCI, p.curl, p.sha256sum, p.tar} {
		out, err := exec.CommandContext(ctx, program, "--version").Output()
		if err != nil {
			return "", fmt.Errorf("%s --version: %w", program, err)
		}
		first, _, _ := strings.Cut(string(out), "\n")
		list = append(list, filepath.Base(program)+" "+versionInLine.FindString(first))
	}
	return strings.Join(append(list, runtime.Version()), ", "), nil
}

// versionInLine matches the version in the first line that a program prints. The
// version is a number or the output of git describe.
var versionInLine = regexp.MustCompile(`(v?[0-9]+\.[0-9][^ ]*|[0-9a-f]{7,}[^ ]*|dev)`)
