package credentials

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

const (
	// secretMode is the mode of a credentials file. privateMode is the mode of a
	// directory that is created for the file.
	secretMode  fs.FileMode = 0o600
	privateMode fs.FileMode = 0o700
)

// authFile is a modifiable credentials file.
type authFile struct {
	document
	*atomicfile.UserFile
	// text is the file's modified text.
	text []byte
	// auths is the file's spelling of the key "auths".
	auths string
}

// openFile reads a file. The file does not need to exist. Errors are of type
// *[FileError].
func openFile(path string) (*authFile, error) {
	f, err := readAuthFile(path)
	if _, ok := errors.AsType[*FileError](err); err != nil && !ok {
		return nil, &FileError{Path: path, Err: withoutPath(err)}
	}
	return f, err
}

func readAuthFile(path string) (*authFile, error) {
	f := &authFile{auths: "auths"}
	var err error
	if f.UserFile, err = atomicfile.ReadUserFile(path, maxFile); err != nil || !f.Exists() {
		return f, err
	}
	f.text = f.Text
	if f.document, err = parseDocument(fileSpec{path: path}, f.text); err != nil {
		return nil, err
	}
	if err := f.findAuths(); err != nil {
		return nil, err
	}
	return f, nil
}

// findAuths determines the spelling of "auths", because Go programs also accept
// "Auths".
func (f *authFile) findAuths() error {
	var members map[string]json.RawMessage
	if len(bytes.TrimSpace(f.text)) == 0 {
		return nil
	}
	if err := json.Unmarshal(f.text, &members); err != nil {
		return bounded.JSONError(err)
	}
	spelled := slices.DeleteFunc(slices.Sorted(maps.Keys(members)), func(key string) bool { return !strings.EqualFold(key, "auths") })
	switch len(spelled) {
	case 0:
		return nil
	case 1:
		f.auths = spelled[0]
		return nil
	}
	return fmt.Errorf("file has both %q and %q", spelled[0], spelled[1])
}

// changeFile reads, modifies, and writes a file. No other tofu-oci process can modify
// the file concurrently. If nothing changes, changeFile doesn't write the file.
func changeFile(ctx context.Context, path string, change func(*authFile) error) error {
	place, err := atomicfile.Resolve(path)
	if err != nil {
		return &FileError{Path: path, Err: withoutPath(err)}
	}
	dir := filepath.Dir(place)
	if err := os.MkdirAll(dir, privateMode); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	err = atomicfile.WithLock(ctx, dir, func() error {
		f, err := openFile(path)
		if err != nil {
			return err
		}
		if err := change(f); err != nil {
			return &FileError{Path: path, Err: err}
		}
		return f.Replace(f.text, secretMode)
	})
	if _, named := errors.AsType[*FileError](err); err != nil && !named {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return err
}

// set writes credentials under the given keys of auths, in the format that all programs
// read.
func (f *authFile) set(keys []string, c Credential) error {
	pair := base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + c.Password.Reveal()))
	entry, err := json.Marshal(map[string]string{"auth": pair})
	for _, key := range keys {
		if err == nil {
			f.text, err = setMember(f.text, entry, f.auths, key)
		}
	}
	return err
}

// remove removes the credentials for all spellings of a prefix. It returns the keys
// that had credentials.
func (f *authFile) remove(t Prefix) (removed []string, err error) {
	removed = f.keysOf(t)
	for _, key := range removed {
		if f.text, err = removeMember(f.text, f.auths, key); err != nil {
			return nil, err
		}
	}
	return removed, nil
}

// keysOf returns the prefix's keys in auths whose entries are not empty. If a helper
// stores the credentials, Docker writes empty entries.
func (f *authFile) keysOf(t Prefix) []string {
	return slices.DeleteFunc(sorted(f.document.auths), func(key string) bool {
		e := f.document.auths[key]
		return parseKey(key) != t.scope() || e.problem == "" && e.credential.IsAnonymous()
	})
}

// helperFor returns the NAME of a registry's helper, or an empty string. As in Docker,
// an entry with an empty NAME means that the file itself stores the registry's
// credentials, even if credsStore is set. See getConfiguredCredentialStore in
// https://github.com/docker/cli/blob/v28.3.0/cli/config/configfile/file.go.
func (f *authFile) helperFor(t Prefix) string {
	if name, named := f.helpers[t.dockerKey()]; named {
		return name
	}
	r, err := parseRepository(t.Registry)
	if err != nil {
		return ""
	}
	for _, key := range sortedKeys(f.helpers, r) {
		if name := f.helpers[key]; name != "" && parseKey(key).path == "" {
			return name
		}
	}
	return f.store
}

// findsOf returns the programs, docker and oras, that find a registry's credentials.
// Both look up a single key. If the helper name for the key is empty, docker reads the
// file, but oras uses credsStore (registry/remote/credentials/store.go in oras-go).
func (f *authFile) findsOf(t Prefix, helper string) (programs []string) {
	named, is := f.helpers[t.dockerKey()]
	if is && helper == named || !is && helper == f.store {
		programs = append(programs, "docker")
	}
	if helper == cmp.Or(named, f.store) {
		programs = append(programs, "oras")
	}
	return programs
}

func sorted[V any](values map[string]V) []string { return slices.Sorted(maps.Keys(values)) }
