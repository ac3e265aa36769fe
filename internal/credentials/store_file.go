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
	// secretMode is that of a file with logins, and privateMode that of a directory
	// which is made for it.
	secretMode  fs.FileMode = 0o600
	privateMode fs.FileMode = 0o700
)

// authFile is a file with logins that may be changed.
type authFile struct {
	document
	*atomicfile.UserFile
	// text is the file's text with what is changed.
	text []byte
	// auths is how the file spells that.
	auths string
}

// openFile reads a file, or learns that there is none. Errors are *[FileError].
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

// findAuths learns how auths is spelled: whoever reads the file with Go takes "Auths"
// too.
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
	return fmt.Errorf("it has both %q and %q", spelled[0], spelled[1])
}

// changeFile reads a file, changes it and writes it, while no other process of this
// program does. Nothing is written where nothing changes.
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

// set writes a login under keys of auths, the way all programs read it.
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

// remove removes what is for a target, in all spellings, and gives the keys that had
// a login.
func (f *authFile) remove(t Prefix) (removed []string, err error) {
	removed = f.keysOf(t)
	for _, key := range removed {
		if f.text, err = removeMember(f.text, f.auths, key); err != nil {
			return nil, err
		}
	}
	return removed, nil
}

// keysOf are those of auths that are for a target and have something in them. Docker
// leaves empty ones behind where a helper has the login.
func (f *authFile) keysOf(t Prefix) []string {
	return slices.DeleteFunc(sorted(f.document.auths), func(key string) bool {
		e := f.document.auths[key]
		return parseKey(key) != t.scope() || e.problem == "" && e.credential.IsAnonymous()
	})
}

// helperFor is the NAME of the helper for a target's registry, "" for none. As for
// Docker, a key that names none keeps the registry's login in the file, beside
// credsStore (getConfiguredCredentialStore of
// https://github.com/docker/cli/blob/v28.3.0/cli/config/configfile/file.go).
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

// findsOf says which of docker and oras look where a login for a registry is kept: both
// know it by one key, under which an empty name is the file for docker, and nothing
// for oras (registry/remote/credentials/store.go of oras-go).
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
