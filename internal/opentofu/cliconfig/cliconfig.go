// Package cliconfig reads and writes OpenTofu's CLI configuration. [Locate] finds the
// configuration files. [Read] parses the settings that affect the installation of
// providers by OpenTofu's rules, in native or JSON syntax. The package accesses files,
// but not the network.
//
// [MirrorBlock] generates a provider_installation block, and [Merge] adds the block to
// an existing file. [Rewrite] generates a configuration for a program that doesn't
// support OCI registries. To apply a configuration, use internal/opentofu/installation.
//
// See https://opentofu.org/docs/cli/config/config-file/.
package cliconfig

import (
	"errors"
	"io/fs"
	"os"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Config is a CLI configuration, merged from all of its files. The zero value is an empty
// configuration.
type Config struct {
	// Services maps the host of each host block to the block's services, for example
	// "providers.v1" to a URL. These services replace service discovery.
	Services map[svchost.Hostname]map[string]string
	// Tokens maps the host of each credentials block to its token. The token is empty
	// if the block has no token.
	Tokens map[svchost.Hostname]text.Secret
	// CredentialsHelper is the credentials_helper block, or nil. It is not used for hosts
	// in Tokens.
	CredentialsHelper *CredentialsHelper
	// PluginCacheDir is the directory of OpenTofu's plugin cache. It is empty if no
	// cache is configured.
	PluginCacheDir string
	// Installation is the provider_installation block, or nil. If the block is empty,
	// nothing can be installed.
	Installation *Installation
	// Logins contains the oci_credentials blocks in order.
	Logins []Login
	// DefaultLogins is the oci_default_credentials block.
	DefaultLogins DefaultLogins
	// Notes lists problems that are not errors.
	Notes []Note
}

// DevOverride returns the entry for a provider in dev_overrides. If dev_overrides has
// no entry for the provider, found is false.
func (c Config) DevOverride(a provider.Address) (override DevOverride, found bool) {
	if c.Installation != nil {
		override, found = c.Installation.DevOverrides[a]
	}
	return override, found
}

func emptyConfig() Config {
	return Config{Services: map[svchost.Hostname]map[string]string{}, Tokens: map[svchost.Hostname]text.Secret{}}
}

// Load reads a single file in native or JSON syntax. It returns file system errors and
// *[stricthcl.Error].
func Load(path string) (Config, error) { return single(readFile(path)) }

// Parse parses a single file. name is the file name for error messages. Paths in
// oci_default_credentials are relative to the file's directory. The returned error
// joins a *[stricthcl.Error] for each problem.
func Parse(name string, data []byte) (Config, error) { return single(parseFile(name, data)) }

func single(f file, err error) (Config, error) {
	if err != nil {
		return Config{}, err
	}
	r := newReader(func(text string) string { return text })
	r.add(f)
	return r.result()
}

// Read reads and merges the files that [Locate] selected. Like OpenTofu, it skips files
// that can't be opened, and missing files that the environment specifies. Read adds a
// note for each skipped file. The returned error joins file system errors and
// *[stricthcl.Error].
func Read(e Environment, files Files) (Config, error) {
	r := newReader(func(text string) string { return os.Expand(text, e.getenv) })
	for _, p := range files {
		at := stricthcl.Position{File: p.Path}
		switch {
		case p.Err != nil:
			r.note(NoteUnreadable, at, "OpenTofu ignores this file, because it cannot be opened: %v", p.Err)
		case p.Chosen && !p.Found:
			r.note(NoteMissing, at, "OpenTofu ignores this file (%s), because it does not exist", p.Why)
		}
	}
	read, err := files.read()
	if err != nil {
		r.problems = append(r.problems, err)
	}
	for _, f := range read {
		r.add(f)
	}
	c, err := r.result()
	if err != nil {
		return Config{}, err
	}
	if dir := e.getenv("TF_PLUGIN_CACHE_DIR"); dir != "" {
		c.PluginCacheDir = dir
	}
	if _, err := os.Stat(c.PluginCacheDir); c.PluginCacheDir != "" && errors.Is(err, fs.ErrNotExist) {
		c.Notes = append(c.Notes, Note{stricthcl.Position{File: c.PluginCacheDir}, NoteCacheDir, "OpenTofu fails, because this plugin_cache_dir does not exist"})
	}
	return c, nil
}
