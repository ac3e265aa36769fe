// Package cliconfig reads and writes OpenTofu's CLI configuration. [Locate] finds the
// files of the configuration, and [Read] parses them in either syntax, by OpenTofu's
// rules. Only settings that affect the installation of providers are read. The package
// accesses files, but not the network.
//
// [MirrorBlock] generates a provider_installation block, and [Merge] adds it to an
// existing file. [Rewrite] generates a configuration for a program that doesn't support
// OCI registries. Package installation applies a configuration.
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
	// Services maps each host with a host block to the services of that block, such as
	// "providers.v1" → URL. They replace service discovery.
	Services map[svchost.Hostname]map[string]string
	// Tokens has the tokens of credentials blocks. The token of a block without one is
	// empty.
	Tokens map[svchost.Hostname]text.Secret
	// CredentialsHelper is the credentials_helper block, or nil. It is not used for hosts
	// in Tokens.
	CredentialsHelper *CredentialsHelper
	// PluginCacheDir is the directory of OpenTofu's plugin cache, or empty.
	PluginCacheDir string
	// Installation is the provider_installation block, or nil. An empty block is
	// different: with it, nothing can be installed.
	Installation *Installation
	// Logins lists the oci_credentials blocks in order.
	Logins []Login
	// DefaultLogins is the oci_default_credentials block.
	DefaultLogins DefaultLogins
	// Notes lists problems that are not errors.
	Notes []Note
}

// DevOverride returns the dev_overrides entry of a provider, if there is one.
func (c Config) DevOverride(a provider.Address) (override DevOverride, found bool) {
	if c.Installation != nil {
		override, found = c.Installation.DevOverrides[a]
	}
	return override, found
}

func emptyConfig() Config {
	return Config{Services: map[svchost.Hostname]map[string]string{}, Tokens: map[svchost.Hostname]text.Secret{}}
}

// Load reads a single file in native or JSON syntax. It returns errors of the file system
// and *[stricthcl.Error].
func Load(path string) (Config, error) { return single(readFile(path)) }

// Parse parses a single file. name is the file name for error messages, and paths in
// oci_default_credentials are relative to its directory. The error joins a
// *[stricthcl.Error] for each problem.
func Parse(name string, data []byte) (Config, error) { return single(parseFile(name, data)) }

func single(f file, err error) (Config, error) {
	if err != nil {
		return Config{}, err
	}
	r := newReader(func(text string) string { return text })
	r.add(f)
	return r.result()
}

// Read reads and merges the files that [Locate] chose. Like OpenTofu, it skips files that
// can't be opened and missing files that the environment specifies, and adds a note. The
// error joins errors of the file system and *[stricthcl.Error].
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
		c.Notes = append(c.Notes, Note{stricthcl.Position{File: c.PluginCacheDir}, NoteCacheDir, "OpenTofu reports an error, because this plugin_cache_dir does not exist"})
	}
	return c, nil
}
