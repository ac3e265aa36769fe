package credentials

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// maxFile limits the size of a credentials file in bytes. A file with a hundred entries
// is about 50 KiB in size.
const maxFile = 4 << 20

// file is a credentials file, which might not exist.
type file struct {
	fileSpec
	document
	exists bool
	// err is a *[FileError] if the file can't be used.
	err error
}

// document is the content of a file.
type document struct {
	// auths maps keys to entries.
	auths map[string]entry
	// helpers maps registries to names of helpers. store is the helper for all
	// registries.
	helpers map[string]string
	store   string
	// old reports whether the document has the older format, which has no auths.
	old bool
	// strict reports whether OpenTofu rejects the document although this package
	// accepts it.
	strict bool
}

// unusable returns an error if the file, which must exist, is missing or can't be used.
func (f file) unusable() error {
	if f.err == nil && !f.exists {
		return &FileError{Path: f.path, Err: fs.ErrNotExist}
	}
	return f.err
}

// entryError returns an error that contains an entry's key, but no values.
func (f file) entryError(key, problem string) error {
	return &FileError{Path: f.path, Err: fmt.Errorf("entry %q in auths %s", key, problem)}
}

// read returns the file with its current content or error. It returns a file that was
// read before unchanged if the file can't be used now, because another program might be
// writing it, or if it is a pipe, which can be read only once.
func (f file) read() file {
	if f.exists && (f.text != "" || !isRegular(f.path)) {
		return f
	}
	current := readFile(f.fileSpec)
	if current.err != nil && f.exists && f.err == nil {
		return f
	}
	return current
}

// isRegular reports whether a path is not a pipe or a device. Missing files are regular.
func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.Mode().IsRegular()
}

// readFile reads a file. It stores any error in the result.
func readFile(p fileSpec) file {
	f := file{fileSpec: p}
	if p.text != "" {
		f.exists = true
		f.document, f.err = parseDocument(p, []byte(p.text))
		return f
	}
	data, err := readBounded(p.path)
	// If a parent of the path is a file, as with HOME=/dev/null, the file does not
	// exist.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		f.strict = !errors.Is(err, fs.ErrNotExist)
		return f
	}
	f.exists = true
	if err != nil {
		f.err = &FileError{Path: p.path, Err: err}
		return f
	}
	f.document, f.err = parseDocument(p, data)
	return f
}

// readBounded reads a file of up to maxFile bytes. Its errors don't contain the path.
func readBounded(path string) ([]byte, error) {
	data, err := bounded.ReadFileOrPipe(path, maxFile)
	if _, large := errors.AsType[*bounded.TooLargeError](err); large {
		return nil, fmt.Errorf("file exceeds %d bytes", maxFile)
	}
	return data, withoutPath(err)
}

func withoutPath(err error) error {
	var inPath *fs.PathError
	if errors.As(err, &inPath) {
		return inPath.Err
	}
	return err
}

// parseDocument parses the content of a file. An empty document, such as /dev/null,
// contains no credentials. The returned errors are *[FileError].
func parseDocument(p fileSpec, data []byte) (document, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return document{strict: true}, nil
	}
	var raw struct {
		Auths       map[string]json.RawMessage `json:"auths"`
		CredHelpers map[string]string          `json:"credHelpers"`
		CredsStore  string                     `json:"credsStore"`
	}
	err := json.Unmarshal(data, &raw)
	old := p.legacy && err == nil && raw.Auths == nil
	if old {
		// Decode the same data again, and treat all keys as entries.
		err = json.Unmarshal(data, &raw.Auths)
	}
	if err != nil {
		return document{}, p.explain(data, err)
	}
	d := document{auths: map[string]entry{}, helpers: raw.CredHelpers, store: raw.CredsStore, old: old}
	for key, text := range raw.Auths {
		e := parseEntry(text)
		d.auths[key] = e
		d.strict = d.strict || e.strict && !old
	}
	return d, nil
}

// explain returns an error for invalid JSON. The error contains the line number, but no
// values from the file.
func (p fileSpec) explain(data []byte, err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	var offset int64
	switch {
	case errors.As(err, &syntax):
		// The error quotes at most one character.
		offset, err = syntax.Offset, fmt.Errorf("invalid JSON: %w", bounded.JSONError(syntax))
	case errors.As(err, &mismatch) && mismatch.Field != "":
		offset, err = mismatch.Offset, fmt.Errorf("%s has a value of the wrong type", mismatch.Field)
	case errors.As(err, &mismatch):
		offset, err = mismatch.Offset, errors.New("not a JSON object")
	default:
		return &FileError{Path: p.path, Err: errors.New("not a JSON object with credentials")}
	}
	// The offset is the position after the invalid character.
	end := min(max(offset-1, 0), int64(len(data)))
	return &FileError{Path: p.path, Line: 1 + bytes.Count(data[:end], []byte("\n")), Err: err}
}
