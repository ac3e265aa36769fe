package credentials

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Store saves credentials in locations that OpenTofu and Docker read, and deletes
// credentials.
type Store struct {
	config      cliconfig.Config
	environment Environment
	// docker is the path of Docker's file. home is the path that Docker uses if
	// $DOCKER_CONFIG is not set. OpenTofu reads only home.
	docker, home string
}

// Location describes where credentials are or were stored.
type Location struct {
	// File contains the credentials or refers to the helper that stores them.
	File string `json:"file"`
	// Helper is the NAME of docker-credential-NAME. It is empty if the file contains
	// the credentials.
	Helper string `json:"helper,omitempty"`
	// Keys contains the keys in auths, or the registry's names that the helper uses.
	Keys []string `json:"keys"`
}

// String describes the location.
func (k Location) String() string {
	if k.Helper == "" {
		return k.File
	}
	return fmt.Sprintf("%s, configured in %s", program(k.Helper), k.File)
}

// ErrPath means that credentials for a path in a registry would be stored with a
// helper, but helpers support only whole registries.
var ErrPath = provider.Errorf(provider.Misuse, "credential helpers support only whole registries, not prefixes")

// ErrNoFiles means that OpenTofu reads no credentials files.
var ErrNoFiles = provider.Errorf(provider.Misuse, defaultBlock+" in the CLI configuration disables credentials files for OpenTofu and tofu-oci; add an oci_credentials block for the registry instead")

// NewStore returns a store for a CLI configuration. If the environment has no directory
// for a credentials file, NewStore returns an error.
func NewStore(c cliconfig.Config, e Environment) (*Store, error) {
	k := &Store{config: c, environment: e}
	if e.Home != "" {
		k.home = filepath.Join(e.Home, ".docker", "config.json")
	}
	k.docker = k.home
	if dir := e.Getenv("DOCKER_CONFIG"); dir != "" {
		k.docker = filepath.Join(dir, "config.json")
	}
	if k.docker == "" {
		return nil, errors.New("no directory for storing credentials; set HOME or DOCKER_CONFIG")
	}
	return k, nil
}

// Locate returns where credentials would be stored. The result has no keys. Locate
// returns [ErrNoFiles], and a *[FileError] if the file can't be modified. If a helper
// would be used, Locate can return [ErrPath] or a *[HelperError].
func (k *Store) Locate(t Prefix) (Location, error) {
	path := k.file()
	if path == "" {
		return Location{}, ErrNoFiles
	}
	f, err := openFile(path)
	if err != nil {
		return Location{}, err
	}
	place := Location{File: path, Helper: f.helperFor(t)}
	if place.Helper == "" {
		return place, nil
	}
	if err := checkHelper(place.Helper); err != nil {
		return Location{}, &FileError{Path: path, Err: err}
	}
	if t.Path != "" {
		return Location{}, fmt.Errorf("storing credentials for %s with %s: %w", t, place, ErrPath)
	}
	if _, err := exec.LookPath(program(place.Helper)); errors.Is(err, exec.ErrNotFound) {
		return Location{}, &HelperError{Op: fmt.Sprintf("storing credentials with %s", place), Err: extprog.ErrNotFound}
	}
	return place, nil
}

// file returns the path of the file for new credentials. By default, this is Docker's
// file, but the configuration can list different files. If the configuration lists no
// files, the path is empty.
func (k *Store) file() string {
	listed := k.config.DefaultLogins.DockerFiles
	switch {
	case k.config.DefaultLogins.NoAmbient || listed != nil && len(listed) == 0:
		return ""
	case listed == nil || slices.Contains(listed, k.docker):
		return k.docker
	}
	return listed[0]
}

// Save stores credentials. If the file specifies a helper for the registry, Save uses
// the helper. Otherwise, it writes to the file and keeps the rest of the content.
func (k *Store) Save(ctx context.Context, t Prefix, c Credential) (Location, error) {
	// 1. Determine the location.
	place, err := k.Locate(t)
	if err != nil {
		return Location{}, err
	}
	if strings.Contains(c.Username, ":") {
		return Location{}, fmt.Errorf("invalid user name %q: credentials files do not support colons in user names", c.Username)
	}

	// 2. If the file specifies no helper, write the credentials to the file.
	if place.Helper == "" {
		place.Keys = t.keys()
		return place, changeFile(ctx, place.File, func(f *authFile) error { return f.set(place.Keys, c) })
	}

	// 3. Otherwise, store them with the helper. Remove credentials from the file that
	// would take precedence.
	place.Keys = t.servers()
	for _, server := range place.Keys {
		if err := k.environment.helperTimeouts().storeWith(ctx, place.Helper, server, c); err != nil {
			return Location{}, err
		}
	}
	return place, changeFile(ctx, place.File, func(f *authFile) error {
		_, err := f.remove(t)
		return err
	})
}

// Delete deletes credentials from all locations that [Store.Save] can use, and returns
// these locations. It continues after errors.
func (k *Store) Delete(ctx context.Context, t Prefix) ([]Location, error) {
	var all []Location
	var errs []error
	for _, path := range k.Files() {
		removed, err := k.deleteFrom(ctx, path, t)
		all, errs = append(all, removed...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// Files returns the paths of files that can contain saved credentials.
func (k *Store) Files() []string {
	all := append([]string{k.docker, k.home}, k.config.DefaultLogins.DockerFiles...)
	var files []string
	for _, path := range all {
		if path != "" && !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	return files
}

func (k *Store) deleteFrom(ctx context.Context, path string, t Prefix) ([]Location, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	var all []Location
	if len(f.keysOf(t)) > 0 {
		here := Location{File: path}
		err = changeFile(ctx, path, func(f *authFile) (err error) {
			here.Keys, err = f.remove(t)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, here)
	}
	helper := f.helperFor(t)
	if helper == "" || t.Path != "" {
		return all, nil
	}
	if err := checkHelper(helper); err != nil {
		return all, &FileError{Path: path, Err: err}
	}
	erased, err := k.environment.helperTimeouts().eraseWith(ctx, helper, t.servers())
	if len(erased) > 0 {
		all = append(all, Location{File: path, Helper: helper, Keys: erased})
	}
	return all, err
}

// Remaining describes the credentials that still exist after [Store.Delete], in
// sentences without a final period. The descriptions include credentials for paths in
// the registry and credentials that are stored elsewhere.
func (k *Store) Remaining(ctx context.Context, t Prefix) ([]string, error) {
	var left []string
	for _, part := range k.subpaths(t) {
		left = append(left, fmt.Sprintf("credentials for %s still exist; to delete them, run tofu-oci logout %[1]s", part))
	}
	found, origin, err := New(k.config, k.environment).Find(ctx, t.repository())
	if err == nil && found.hasSecret() {
		left = append(left, fmt.Sprintf("tofu-oci still finds credentials for %s in %s", t, origin))
	}
	return left, err
}

// subpaths returns the prefixes below t that have separate credentials.
func (k *Store) subpaths(t Prefix) []Prefix {
	var parts []Prefix
	for _, path := range k.Files() {
		f, err := openFile(path)
		if err != nil {
			continue
		}
		for _, key := range sorted(f.document.auths) {
			s := parseKey(key)
			part := Prefix{Registry: t.Registry, Path: s.path}
			below := t.Path == "" || strings.HasPrefix(s.path, t.Path+"/")
			if s.host == t.scope().host && s.path != "" && s.path != t.Path && below && !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

// FoundBy returns the programs that find the stored credentials: "tofu-oci", "tofu",
// "docker", and "oras". If tofu-oci or tofu does not find them, why explains the
// reasons in sentences without a final period.
func (k *Store) FoundBy(ctx context.Context, t Prefix, c Credential, kept Location) (programs, why []string, err error) {
	found, origin, err := New(k.config, k.environment).Find(ctx, t.repository())
	switch {
	case err != nil:
		return nil, nil, err
	case found != c && origin.OpenTofu:
		why = append(why, fmt.Sprintf("for %s, tofu-oci and tofu use the credentials from %s instead", t, origin))
	case found != c:
		why = append(why, fmt.Sprintf("for %s, tofu-oci uses the credentials from %s instead", t, origin))
	case origin.OpenTofu:
		programs = append(programs, "tofu-oci", "tofu")
	default:
		programs = append(programs, "tofu-oci")
	}
	if origin.Why != "" {
		why = append(why, "tofu does not find these credentials: "+origin.Why)
	}
	// Docker and oras don't support credentials for individual paths of a registry.
	if kept.File != k.docker || t.Path != "" {
		return programs, why, nil
	}
	f, err := openFile(kept.File)
	if err != nil {
		return nil, nil, err
	}
	return append(programs, f.findsOf(t, kept.Helper)...), why, nil
}
