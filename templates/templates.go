// Package templates contains the files that tofu-oci sync init --ci writes. It is not
// part of the library. The directory also contains the GitLab CI/CD components.
package templates

import (
	"embed"
	"io/fs"
)

//go:embed all:starter
var files embed.FS

// Starter returns the files of a repository that declares a mirror, and the pipelines
// of all CI systems.
func Starter() fs.FS {
	starter, err := fs.Sub(files, "starter")
	if err != nil {
		panic(err) // the path is valid
	}
	return starter
}
