package main_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// child is a program for exec. "child exit N" exits with code N. "child show" prints
// its arguments and the packages to which the CLI configuration refers.
func child() {
	args := os.Args[1:]
	if len(args) == 2 && args[0] == "exit" {
		code, _ := strconv.Atoi(args[1])
		os.Exit(code)
	}
	fmt.Printf("arguments: %q\n", args)
	config, err := os.ReadFile(os.Getenv("TF_CLI_CONFIG_FILE"))
	fmt.Printf("configuration: %v\n%s", err, config)
	for line := range strings.Lines(string(config)) {
		path, found := strings.CutPrefix(strings.TrimSpace(line), "path = ")
		if mirror, err := strconv.Unquote(path); found && err == nil {
			show(mirror)
		}
	}
}

// show lists the packages of a mirror.
func show(mirror string) {
	_ = filepath.WalkDir(mirror, func(path string, entry fs.DirEntry, err error) error {
		info, statErr := os.Stat(path) // follows links
		name, _ := filepath.Rel(mirror, path)
		depth := strings.Count(filepath.ToSlash(name), "/")
		if err == nil && statErr == nil && (info.IsDir() && depth == 4 || !info.IsDir() && depth == 3) {
			fmt.Println("package:", filepath.ToSlash(name))
		}
		return err
	})
}
