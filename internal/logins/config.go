package logins

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Config is what OpenTofu's CLI configuration says about logins. The zero value
// is a configuration that says nothing.
type Config struct {
	// Explicit are the oci_credentials blocks, in their order.
	Explicit []Rule
	// Default is the oci_default_credentials block.
	Default Default
}

// Rule is an oci_credentials block. It has one of these: Username and Password,
// AccessToken or RefreshToken or both, Helper.
type Rule struct {
	// Registry is "host" or "host:port".
	Registry string
	// RepositoryPrefix is the first part of the names of the repositories that the
	// rule is for, whole path elements. Empty is all of the registry.
	RepositoryPrefix string
	Username         string
	Password         Secret
	AccessToken      Secret
	RefreshToken     Secret
	// Helper is the NAME of a program docker-credential-NAME, which is asked for
	// whole registries only.
	Helper string
}

// Default is an oci_default_credentials block. The zero value is that without
// the block: login files are looked for where Docker and Podman have them.
type Default struct {
	// NoAmbient is discover_ambient_credentials = false: no files are read.
	NoAmbient bool
	// DockerStyleFiles are read instead of those in the usual places. Nil is the
	// usual places, empty is none. What is relative in the configuration is
	// relative to its file, and made absolute before it comes here.
	DockerStyleFiles []string
	// DefaultHelper is the NAME of a program docker-credential-NAME that is asked
	// when nothing else is for a registry.
	DefaultHelper string
}

// label is the rule's as it stands in the configuration.
func (r Rule) label() string {
	if r.RepositoryPrefix == "" {
		return r.Registry
	}
	return r.Registry + "/" + r.RepositoryPrefix
}

// block names the rule for a reader.
func (r Rule) block() string { return fmt.Sprintf("oci_credentials %q", r.label()) }

func (r Rule) credential() Credential {
	return Credential{Username: r.Username, Password: r.Password, IdentityToken: r.RefreshToken, RegistryToken: r.AccessToken}
}

func (c Config) clone() Config {
	c.Explicit = slices.Clone(c.Explicit)
	c.Default.DockerStyleFiles = slices.Clone(c.Default.DockerStyleFiles)
	return c
}

func (c Config) check() error {
	for _, rule := range c.Explicit {
		if err := rule.check(); err != nil {
			return fmt.Errorf("%s: %w", rule.block(), err)
		}
	}
	if name := c.Default.DefaultHelper; name != "" {
		if err := checkHelper(name); err != nil {
			return fmt.Errorf("%s: %w", defaultBlock, err)
		}
	}
	return nil
}

func (r Rule) check() error {
	kinds := 0
	for _, has := range []bool{
		r.Username != "" || !r.Password.IsEmpty(),
		!r.AccessToken.IsEmpty() || !r.RefreshToken.IsEmpty(),
		r.Helper != "",
	} {
		if has {
			kinds++
		}
	}
	switch {
	case r.Registry == "" || strings.Contains(r.Registry, "/"):
		return errors.New("it names no registry")
	case kinds != 1:
		return errors.New("it has to have one of these: username and password, tokens, a helper")
	case (r.Username == "") != r.Password.IsEmpty():
		return errors.New("username and password go together")
	case r.Helper == "":
		return nil
	case r.RepositoryPrefix != "":
		return errors.New("helpers know whole registries only, so it can't have a path")
	}
	return checkHelper(r.Helper)
}
