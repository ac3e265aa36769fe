package cliconfig

import (
	"errors"
	"fmt"
	"maps"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// merge puts the files of a configuration together, the main one first, as
// OpenTofu does: of host and credentials blocks for one host the last file's
// counts, of plugin_cache_dir the first, and the blocks that may be there once
// may be there once in all.
func merge(documents []document) (Config, error) {
	m := merger{prefixes: map[string]stricthcl.Position{}}
	m.config.Services, m.config.Tokens = map[svchost.Hostname]map[string]string{}, map[svchost.Hostname]Secret{}
	for _, d := range documents {
		m.add(d)
		m.logins(d)
	}
	if len(m.problems) > 0 {
		return Config{}, errors.Join(m.problems...)
	}
	return m.config, nil
}

// merger is a configuration in the making.
type merger struct {
	config   Config
	problems []error
	// prefixes has where the login for each prefix stands.
	prefixes map[string]stricthcl.Position
}

func (m *merger) once(at, first stricthcl.Position, what string) {
	m.problems = append(m.problems, &stricthcl.Error{Position: at, Problem: fmt.Sprintf("a second %s; the first is at %s", what, first)})
}

func (m *merger) add(d document) {
	c := &m.config
	maps.Copy(c.Services, d.services)
	maps.Copy(c.Tokens, d.tokens)
	c.Notes = append(c.Notes, d.notes...)
	if c.PluginCacheDir == "" {
		c.PluginCacheDir = d.pluginCacheDir.text
	}
	for _, helper := range d.helpers {
		if c.CredentialsHelper != nil && c.CredentialsHelper.Name != helper.Name {
			m.once(helper.Position, c.CredentialsHelper.Position, "credentials_helper block")
			continue
		}
		c.CredentialsHelper = &helper
	}
	for _, installation := range d.installations {
		if c.Installation != nil {
			m.once(installation.Position, c.Installation.Position, "provider_installation block")
			continue
		}
		c.Installation = &installation
	}
	for _, defaults := range d.defaults {
		if c.DefaultLogins.Position != (stricthcl.Position{}) {
			m.once(defaults.Position, c.DefaultLogins.Position, "oci_default_credentials block")
			continue
		}
		c.DefaultLogins = defaults
	}
}

// logins takes one login for each label. Those for no registry count too.
func (m *merger) logins(d document) {
	unique := func(prefix string, at stricthcl.Position) bool {
		first, twice := m.prefixes[prefix]
		if twice {
			m.once(at, first, fmt.Sprintf("oci_credentials block for %q", text.RedactUserinfo(prefix)))
		} else {
			m.prefixes[prefix] = at
		}
		return !twice
	}
	for _, login := range d.logins {
		if unique(login.Prefix(), login.Position) {
			m.config.Logins = append(m.config.Logins, login)
		}
	}
	for _, label := range d.unusable {
		unique(label.text, label.at)
	}
}
