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

// Store writes logins to where OpenTofu and Docker find them, and removes them
// from there.
type Store struct {
	config      cliconfig.Config
	environment Environment
	// docker is Docker's own file, and home the one that it has without
	// $DOCKER_CONFIG, which is the only one of the two that OpenTofu reads.
	docker, home string
}

// Location says where a login is, or was until now.
type Location struct {
	// File has the login, or names the helper that has it.
	File string
	// Helper is the NAME of docker-credential-NAME; empty for a login in the file.
	Helper string
	// Keys are those of auths in the file, or the names of the registry by which the
	// helper knows the login.
	Keys []string
}

// String says where, in words.
func (k Location) String() string {
	if k.Helper == "" {
		return k.File
	}
	return fmt.Sprintf("%s, which %s names", program(k.Helper), k.File)
}

// ErrPath says that a login for a part of a registry can't be kept, since a helper
// is to have it: they know whole registries only.
var ErrPath = provider.Errorf(provider.Misuse, "credential helpers know whole registries only")

// ErrNoFiles says that OpenTofu reads no file with logins.
var ErrNoFiles = provider.Errorf(provider.Misuse, defaultBlock+" of the CLI configuration says that no file with logins is read, by OpenTofu nor by tofu-oci: write an oci_credentials block for the registry instead")

// NewStore returns a keeper for a CLI configuration. It returns an error if the environment
// has no directory for a file with credentials.
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
		return nil, errors.New("there is no home directory for a file with logins: set HOME, or DOCKER_CONFIG")
	}
	return k, nil
}

// Place says where a login would be kept, without its keys. Errors are [ErrNoFiles],
// a *[FileError] for a file that can't be changed, and for a helper [ErrPath] and
// *[HelperError].
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
		return Location{}, fmt.Errorf("keeping the login for %s with %s: %w", t, place, ErrPath)
	}
	if _, err := exec.LookPath(program(place.Helper)); errors.Is(err, exec.ErrNotFound) {
		return Location{}, &HelperError{Op: fmt.Sprintf("keeping the login with %s", place), Err: extprog.ErrNotFound}
	}
	return place, nil
}

// file is where logins go: Docker's file, unless the configuration names others. It
// is empty where that names none.
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

// Keep keeps a login: with the helper that the file names for the registry, else in
// the file, of which all else stays as it is.
func (k *Store) Save(ctx context.Context, t Prefix, c Credential) (Location, error) {
	// 1. Where it goes.
	place, err := k.Locate(t)
	if err != nil {
		return Location{}, err
	}
	if strings.Contains(c.Username, ":") {
		return Location{}, fmt.Errorf("user name %q: files with logins have no user names with a colon", c.Username)
	}

	// 2. Into the file itself.
	if place.Helper == "" {
		place.Keys = t.keys()
		return place, changeFile(ctx, place.File, func(f *authFile) error { return f.set(place.Keys, c) })
	}

	// 3. Or to the helper, where one in the file would stand in its way.
	place.Keys = t.servers()
	for _, server := range place.Keys {
		if err := storeWith(ctx, place.Helper, server, c); err != nil {
			return Location{}, err
		}
	}
	return place, changeFile(ctx, place.File, func(f *authFile) error {
		_, err := f.remove(t)
		return err
	})
}

// Forget removes a login from wherever [Store.Save] may have put it, and says where
// it was. It goes on past an error.
func (k *Store) Delete(ctx context.Context, t Prefix) ([]Location, error) {
	var all []Location
	var errs []error
	for _, path := range k.Files() {
		removed, err := deleteFrom(ctx, path, t)
		all, errs = append(all, removed...), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// Files are those that a login may have been written to.
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

func deleteFrom(ctx context.Context, path string, t Prefix) ([]Location, error) {
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
	erased, err := eraseWith(ctx, helper, t.servers())
	if len(erased) > 0 {
		all = append(all, Location{File: path, Helper: helper, Keys: erased})
	}
	return all, err
}

// Left says which logins there are after [Store.Delete], as sentences without their
// full stops: those for parts of the registry, and those that are elsewhere.
func (k *Store) Remaining(ctx context.Context, t Prefix) ([]string, error) {
	var left []string
	for _, part := range k.subpaths(t) {
		left = append(left, fmt.Sprintf("the login for %s stays; tofu-oci logout %[1]s removes it", part))
	}
	found, origin, err := New(k.config, k.environment).Find(ctx, t.repository())
	if err == nil && found.hasSecret() {
		left = append(left, fmt.Sprintf("tofu-oci still finds a login for %s, from %s", t, origin))
	}
	return left, err
}

// parts are the targets below one that have logins of their own.
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

// Finds says which programs come to a login that was kept: "tofu-oci", "tofu",
// "docker", "oras". Why tells of those two of OpenTofu that do not come to it, as
// sentences without their full stops.
func (k *Store) FoundBy(ctx context.Context, t Prefix, c Credential, kept Location) (programs, why []string, err error) {
	found, origin, err := New(k.config, k.environment).Find(ctx, t.repository())
	switch {
	case err != nil:
		return nil, nil, err
	case found != c && origin.OpenTofu:
		why = append(why, fmt.Sprintf("tofu-oci and tofu take another login for %s, from %s", t, origin))
	case found != c:
		why = append(why, fmt.Sprintf("tofu-oci takes another login for %s, from %s", t, origin))
	case origin.OpenTofu:
		programs = append(programs, "tofu-oci", "tofu")
	default:
		programs = append(programs, "tofu-oci")
	}
	if origin.Why != "" {
		why = append(why, "tofu does not come to this login: "+origin.Why)
	}
	// Both know no logins for a part of a registry.
	if kept.File != k.docker || t.Path != "" {
		return programs, why, nil
	}
	f, err := openFile(kept.File)
	if err != nil {
		return nil, nil, err
	}
	return append(programs, f.findsOf(t, kept.Helper)...), why, nil
}
