package cliconfig

import (
	"errors"
	"fmt"
	"maps"

	svchost "github.com/hashicorp/terraform-svchost"
)

// merge puts the files of a configuration together, the main one first, as
// OpenTofu does: of host and credentials blocks for one host the last file's
// counts, of plugin_cache_dir the first, and the blocks that may be there once
// may be there once in all.
func merge(documents []document) (Config, error) {
	c := Config{Services: map[svchost.Hostname]map[string]string{}, Tokens: map[svchost.Hostname]Secret{}}
	var problems []error
	once := func(at Position, first Position, what string) {
		problems = append(problems, &SyntaxError{at, fmt.Sprintf("a second %s; the first is at %s", what, first)})
	}
	prefixes := map[string]Position{}
	for _, d := range documents {
		maps.Copy(c.Services, d.services)
		maps.Copy(c.Tokens, d.tokens)
		if c.PluginCacheDir == "" {
			c.PluginCacheDir = d.pluginCacheDir.text
		}
		for _, installation := range d.installations {
			if c.Installation != nil {
				once(installation.Position, c.Installation.Position, "provider_installation block")
				continue
			}
			c.Installation = &installation
		}
		for _, defaults := range d.defaults {
			if c.DefaultLogins.Position != (Position{}) {
				once(defaults.Position, c.DefaultLogins.Position, "oci_default_credentials block")
				continue
			}
			c.DefaultLogins = defaults
		}
		for _, login := range d.logins {
			prefix := login.Prefix()
			if first, twice := prefixes[prefix]; twice {
				once(login.Position, first, fmt.Sprintf("oci_credentials block for %q", prefix))
				continue
			}
			prefixes[prefix] = login.Position
			c.Logins = append(c.Logins, login)
		}
		c.Notes = append(c.Notes, d.notes...)
	}
	if len(problems) > 0 {
		return Config{}, errors.Join(problems...)
	}
	return c, nil
}
