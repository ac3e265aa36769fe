package credentials

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// maxFile bounds a file with logins. One with a hundred logins has 50 KiB.
const maxFile = 4 << 20

// file is a file with logins, or the place where there is none.
type file struct {
	fileSpec
	document
	exists bool
	// err is a *[FileError], with a place that holds an unusable file.
	err error
}

// document is a file's content.
type document struct {
	// auths are the entries by their keys.
	auths map[string]entry
	// helpers are the names of helpers by registries, store is that for all.
	helpers map[string]string
	store   string
	// old is the format before auths.
	old bool
	// strict says that OpenTofu, which is stricter, refuses the document.
	strict bool
}

// unusable returns the error of a file that has to be there.
func (f file) unusable() error {
	if f.err == nil && !f.exists {
		return &FileError{Path: f.path, Err: fs.ErrNotExist}
	}
	return f.err
}

// entryError names the entry, and nothing in it.
func (f file) entryError(key, problem string) error {
	return &FileError{Path: f.path, Err: fmt.Errorf("the entry %q of auths %s", key, problem)}
}

// readFile reads the file of a place. What is wrong stands in the result.
func readFile(p fileSpec) file {
	f := file{fileSpec: p}
	if p.text != "" {
		f.exists = true
		f.document, f.err = parseDocument(p, []byte(p.text))
		return f
	}
	data, err := readBounded(p.path)
	// A file in the path, as in HOME=/dev/null, leaves no room for this one.
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

// readBounded reads a file of at most maxFile bytes. Errors don't name it.
func readBounded(path string) ([]byte, error) {
	data, err := bounded.ReadFileOrPipe(path, maxFile)
	if _, large := errors.AsType[*bounded.TooLargeError](err); large {
		return nil, fmt.Errorf("it exceeds %d bytes", maxFile)
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

// parseDocument reads the content of the file at a place. Nothing at all, as in
// /dev/null, is no logins. Errors are *[FileError].
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
		// The same bytes again, now with every key an entry's.
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

// explain puts an error of JSON into words without values of the file, and finds
// its line.
func (p fileSpec) explain(data []byte, err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	var offset int64
	switch {
	case errors.As(err, &syntax):
		// It tells one character at most.
		offset, err = syntax.Offset, fmt.Errorf("it is not JSON: %w", bounded.JSONError(syntax))
	case errors.As(err, &mismatch) && mismatch.Field != "":
		offset, err = mismatch.Offset, fmt.Errorf("%s has a value of the wrong type", mismatch.Field)
	case errors.As(err, &mismatch):
		offset, err = mismatch.Offset, errors.New("it is not a JSON object")
	default:
		return &FileError{Path: p.path, Err: errors.New("it is not a JSON object of logins")}
	}
	// The offset is that behind the character at fault.
	end := min(max(offset-1, 0), int64(len(data)))
	return &FileError{Path: p.path, Line: 1 + bytes.Count(data[:end], []byte("\n")), Err: err}
}
