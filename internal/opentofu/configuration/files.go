package configuration

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

const (
	// maxFile limits a file's size in bytes. Generated files can be a few hundred
	// kilobytes in size.
	maxFile = 4 << 20
	// maxTotal limits the total size of the files in bytes.
	maxTotal = 32 << 20
	// maxKept limits the total size in bytes of all expressions to which module sources
	// can refer. Parsed expressions require up to 260 times as much memory.
	maxKept = 512 << 10
	// maxFiles limits the number of files.
	maxFiles = 5_000
)

// names contains the configuration files of a directory, sorted.
type names struct {
	primary, override, tests []string
}

// list returns the configuration files in a directory. Like OpenTofu, it treats links
// as files. If a link's target is not a file, reading the link fails later.
func list(dir string, terraform bool) (names, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return names{}, err
	}
	all := map[string]bool{}
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && !ignored(name) && extension(name, terraform) != "" {
			all[name] = true
		}
	}
	var n names
	for name := range all {
		ext := extension(name, terraform)
		base := strings.TrimSuffix(name, ext)
		if after, found := strings.CutPrefix(ext, ".tf"); found && all[base+".tofu"+after] {
			continue
		}
		switch {
		case strings.Contains(ext, "test."):
			n.tests = append(n.tests, name)
		case base == "override" || strings.HasSuffix(base, "_override"):
			n.override = append(n.override, name)
		default:
			n.primary = append(n.primary, name)
		}
	}
	slices.Sort(n.primary)
	slices.Sort(n.override)
	slices.Sort(n.tests)
	return n, nil
}

// extension returns a configuration file's extension, or "" for other files.
func extension(name string, terraform bool) string {
	for _, tail := range []string{"test.hcl", "test.json", ".json", ""} {
		for _, program := range []string{".tf", ".tofu"} {
			if ext := program + tail; strings.HasSuffix(name, ext) && (!terraform || program == ".tf") {
				return ext
			}
		}
	}
	return ""
}

// IsFile reports whether OpenTofu reads a file with this name as part of a module.
func IsFile(name string) bool {
	ext := extension(name, false)
	return ext != "" && !strings.Contains(ext, "test.") && !ignored(name)
}

// ignored reports whether a file is hidden or an editor's backup.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")
}

// read returns a file's content within the limits. It adds errors to the problems.
func (r *reader) read(ctx context.Context, path string) (data []byte, ok bool) {
	if ctx.Err() != nil {
		return nil, false
	}
	at := stricthcl.Position{File: r.shown(path)}
	r.count++
	if r.count > maxFiles {
		if r.count == maxFiles+1 {
			r.add(at, "the configuration exceeds %d files", maxFiles)
		}
		return nil, false
	}
	data, err := bounded.ReadFile(path, min(maxFile, maxTotal-r.bytes))
	r.bytes += int64(len(data))
	switch _, large := errors.AsType[*bounded.TooLargeError](err); {
	case large && r.bytes > maxTotal-maxFile:
		r.add(at, "the configuration exceeds %d MiB", maxTotal>>20)
	case large:
		r.add(at, "the file exceeds %d MiB", maxFile>>20)
	case err != nil:
		r.add(at, "reading the file: %w", bare(err))
	}
	return data, err == nil
}

// tooComplex reports whether text exceeds the parser's limits.
func tooComplex(text string) bool { return new(stricthcl.Budget).Check("", []byte(text)) != nil }

// bare removes the path from a file system error, because the position already contains
// the path.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
