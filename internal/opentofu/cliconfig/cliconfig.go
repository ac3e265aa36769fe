// Package cliconfig is OpenTofu's CLI configuration as data: which files it is
// in ([Locate]), and what they say ([Read]). It goes by OpenTofu's rules, in
// both syntaxes, and knows what concerns the installation of providers; other
// blocks are left alone. It reads files and contacts nobody.
//
// Use it to see what a configuration says, to write a provider_installation block
// ([MirrorBlock]) or put it into a file ([Merge]), or a configuration for a program that knows no OCI ([Rewrite]).
// Package installation does what the configuration says.
//
// https://opentofu.org/docs/cli/config/config-file/
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

// Config is a CLI configuration, put together from all of its files. The zero
// value is an empty one.
type Config struct {
	// Services has, for each host with a host block, the services that the block
	// gives instead of what discovery would find: "providers.v1" → URL.
	Services map[svchost.Hostname]map[string]string
	// Tokens has the tokens of credentials blocks, empty where a block has none.
	Tokens map[svchost.Hostname]text.Secret
	// CredentialsHelper is the credentials_helper block; nil without one. It is not
	// asked for the hosts of Tokens.
	CredentialsHelper *CredentialsHelper
	// PluginCacheDir is where OpenTofu keeps what it unpacked, empty for nowhere.
	PluginCacheDir string
	// Installation is the provider_installation block; nil without one, which is
	// not the same as an empty one: that installs nothing.
	Installation *Installation
	// Logins are the oci_credentials blocks, in their order.
	Logins []Login
	// DefaultLogins is the oci_default_credentials block.
	DefaultLogins DefaultLogins
	// Notes are about what is odd, and what OpenTofu would read otherwise.
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

// Load reads one file in native or JSON syntax, for what it says by itself.
// Errors are those of the file system and *[stricthcl.Error].
func Load(path string) (Config, error) { return single(readFile(path)) }

// Parse reads a configuration of one file; name is its name for error texts, and
// the directory that paths in oci_default_credentials are relative to. All that
// is wrong is joined in one error, of *[stricthcl.Error].
func Parse(name string, data []byte) (Config, error) { return single(parseFile(name, data)) }

func single(f file, err error) (Config, error) {
	if err != nil {
		return Config{}, err
	}
	r := newReader(func(text string) string { return text })
	r.add(f)
	return r.result()
}

// Read reads the files that [Locate] chose, and combines them. A file that cannot be
// opened, or that the environment names although it does not exist, is a note:
// OpenTofu goes on without it. Errors are those of the file system and
// *[stricthcl.Error], joined.
func Read(e Environment, files Files) (Config, error) {
	r := newReader(func(text string) string { return os.Expand(text, e.getenv) })
	for _, p := range files {
		at := stricthcl.Position{File: p.Path}
		switch {
		case p.Err != nil:
			r.note(NoteUnreadable, at, "OpenTofu goes on without this file, which cannot be opened: %v", p.Err)
		case p.Chosen && !p.Found:
			r.note(NoteMissing, at, "OpenTofu goes on without this file, which is not there: %s", p.Why)
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
		c.Notes = append(c.Notes, Note{stricthcl.Position{File: c.PluginCacheDir}, NoteCacheDir, "OpenTofu complains about this plugin_cache_dir, which is not there"})
	}
	return c, nil
}
