package catalog

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxFile is the maximum size, in bytes, of a file that lists providers. 10,000
	// addresses require about 300 kB, and the largest registry has 5,000 providers.
	maxFile = 1 << 20
	// Stdin is the file name for standard input.
	Stdin = "-"
)

// ReadFile reads a file that contains one provider address per line, with or without a
// host. It ignores empty lines and comments that start with #, and passes errors about
// single lines to invalid. If all lines are invalid, it returns the first error.
func ReadFile(path string, invalid func(error)) ([]provider.Address, error) {
	data, err := bounded.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	all := []provider.Address{}
	var problems []error
	eachLine(path, data, func(_, line string) error {
		a, err := provider.ParseAddress(line)
		if err == nil {
			all = append(all, a)
		}
		return err
	}, func(_ string, err error) { problems = append(problems, err) })
	if len(all) == 0 && len(problems) > 0 {
		return nil, problems[0]
	}
	for _, err := range problems {
		invalid(err)
	}
	return all, nil
}

// Source is a PROVIDER in a file, and the line that contains it.
type Source struct {
	Place       string // in the format FILE:LINE
	Requirement provider.Requirement
	// Err is the reason the line is invalid, or nil.
	Err error
}

// ReadSources reads a file that lists PROVIDERs. At least one line must be valid. Unlike in
// [ReadFile], addresses can have constraints. The name [Stdin] selects standard input.
func ReadSources(name string, stdin io.Reader) ([]Source, error) {
	data, err := readSources(name, stdin)
	if err != nil {
		return nil, err
	}
	if name == Stdin {
		name = "stdin"
	}
	var all []Source
	valid := false
	eachLine(name, data, func(place, line string) error {
		if flag := flagIn(line); flag != "" {
			return fmt.Errorf("each line must contain one PROVIDER without flags; use %s on the command line, where it applies to every PROVIDER", flag)
		}
		r, err := provider.ParseRequirement(line)
		if err == nil {
			all, valid = append(all, Source{Place: place, Requirement: r}), true
		}
		return err
	}, func(place string, err error) { all = append(all, Source{Place: place, Err: err}) })
	switch {
	case valid:
		return all, nil
	case len(all) > 0:
		return nil, all[0].Err
	}
	return nil, fmt.Errorf("%s contains no PROVIDER; write one per line, such as hashicorp/null", name)
}

func readSources(name string, stdin io.Reader) ([]byte, error) {
	if name != Stdin {
		return bounded.ReadFileOrPipe(name, maxFile)
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = &bounded.TooLargeError{Path: "stdin", Limit: maxFile}
	}
	return data, err
}

// eachLine calls read with each line, without its comment. It calls invalid with each
// error. It skips lines that are otherwise empty. place has the format FILE:LINE and is
// also the prefix of errors.
func eachLine(name string, data []byte, read func(place, line string) error, invalid func(place string, err error)) {
	for i, line := range strings.Split(strings.TrimPrefix(string(data), "\uFEFF"), "\n") {
		line, _, _ = strings.Cut(line, "#") // addresses and constraints cannot contain #
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		place := fmt.Sprintf("%s:%d", name, i+1)
		err := read(place, line)
		if err != nil && leadsAway(name) {
			invalid(place, provider.Errorf(provider.Malformed, "%s: invalid line, which is not shown because the file is a link to a different directory", place))
		} else if err != nil {
			invalid(place, fmt.Errorf("%s: %w", place, err))
		}
	}
}

// leadsAway reports whether links lead from path to a file in a different directory. A
// link in a pull request could otherwise make the job that reads it print a secret.
func leadsAway(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false // a pipe
	}
	if filepath.IsLocal(path) {
		return !IsIn(".", path)
	}
	return !IsIn(filepath.Dir(path), path)
}

// IsIn reports whether a file is in a directory or its subdirectories, after symbolic
// links are resolved.
func IsIn(dir, path string) bool {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		path, err = filepath.Rel(dir, path)
	}
	return err == nil && filepath.IsLocal(path)
}

// flagIn returns the first flag in a line, or "" if the line contains no flag.
func flagIn(line string) string {
	for word := range strings.FieldsSeq(line) {
		if strings.HasPrefix(word, "--") {
			flag, _, _ := strings.Cut(word, "=")
			return flag
		}
	}
	return ""
}
