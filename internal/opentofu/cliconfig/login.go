package cliconfig

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/hcl/ast"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Login is an oci_credentials block. It contains credentials for every repository whose
// name starts with Path. Logins can be compared with ==.
type Login struct {
	Position stricthcl.Position
	// Registry has the form "host" or "host:port".
	Registry string
	// Path is a prefix of repository names. It consists of complete path components and
	// is always empty if Helper is set. If empty, the credentials apply to all
	// repositories in the registry.
	Path string

	// The block contains a user name and a password, two tokens, or a helper.
	Username                  string
	Password                  text.Secret
	AccessToken, RefreshToken text.Secret
	// Helper is the name of a credential helper without the prefix docker-credential-.
	Helper string
}

// Prefix returns "registry" or "registry/path", which is the form of the block's label.
func (l Login) Prefix() string {
	if l.Path == "" {
		return l.Registry
	}
	return l.Registry + "/" + l.Path
}

// DefaultLogins is the oci_default_credentials block, which configures additional
// sources of credentials. The zero value represents the defaults.
type DefaultLogins struct {
	// Position is the position of the block, or the zero value if the configuration has
	// no block.
	Position stricthcl.Position
	// NoAmbient disables all credentials outside the CLI configuration.
	NoAmbient bool
	// DockerFiles contains the paths of the Docker-style files to read. If nil, the
	// default locations are used. If empty but not nil, no files are read.
	DockerFiles []string
	// Helper is the credential helper for registries that have no specific helper. It
	// can be empty.
	Helper string
}

// logins reads oci_credentials blocks. A block has the form: oci_credentials
// "REGISTRY/PATH" { username = "…" password = "…" }.
func (r *reader) logins() {
	const name = "oci_credentials"
	for _, i := range r.items {
		if keyOf(i, 0) != name {
			continue
		}
		if body, ok := r.isBlock(i, 1); !ok || len(i.Keys) != 2 {
			r.refuse(name, r.at(i))
		} else if l, ok := r.login(i, body); ok {
			r.config.Logins = append(r.config.Logins, l)
		}
	}
}

func (r *reader) login(i *ast.ObjectItem, body *ast.ObjectType) (l Login, ok bool) {
	l.Position = r.at(i)
	var content struct {
		Username *string `hcl:"username"`
		Password *string `hcl:"password"`
		Access   *string `hcl:"access_token"`
		Refresh  *string `hcl:"refresh_token"`
		Helper   *string `hcl:"docker_credentials_helper"`
	}
	if !r.decodeBlock("oci_credentials", body, i, &content) {
		return l, false
	}
	label, before := keyOf(i, 1), len(r.problems)
	var problem string
	l.Registry, l.Path, problem = parsePrefix(label)
	unusable := problem != "" && openTofuAccepts(label)
	if problem != "" && !unusable {
		r.fail(r.label(i), "the label %q must be a registry, optionally followed by a prefix of repository names: %s", label, problem)
		return l, false
	}
	password := content.Username != nil || content.Password != nil
	tokens := content.Access != nil || content.Refresh != nil
	helper := content.Helper != nil
	switch {
	case !password && !tokens && !helper:
		r.fail(l.Position, "an oci_credentials block must have username and password, or access_token and refresh_token, or docker_credentials_helper")
	case password && tokens || tokens && helper || helper && password:
		r.fail(l.Position, "an oci_credentials block must have only one kind of credentials: username and password, or access_token and refresh_token, or docker_credentials_helper")
	case password && (content.Username == nil || content.Password == nil):
		r.fail(l.Position, "username and password must both be set")
	case tokens && (content.Access == nil || content.Refresh == nil):
		r.fail(l.Position, "access_token and refresh_token must both be set")
	case helper && l.Path != "":
		r.fail(r.label(i), "docker_credentials_helper requires a label without a path; use %q", l.Registry)
	case helper:
		l.Helper = r.helper(*content.Helper, r.valueAt(body, "docker_credentials_helper", l.Position).at)
	case tokens:
		l.AccessToken, l.RefreshToken = text.NewSecret(*content.Access), text.NewSecret(*content.Refresh)
	default:
		l.Username, l.Password = *content.Username, text.NewSecret(*content.Password)
	}
	if len(r.problems) > before {
		return l, false
	}
	if !unusable {
		label = l.Prefix()
	}
	if first, twice := r.labels[label]; twice {
		r.failOnce(l.Position, first, fmt.Sprintf("oci_credentials block for %q", text.RedactUserinfo(label)))
		return l, false
	}
	r.labels[label] = l.Position
	if unusable {
		r.note(NoteLabel, r.label(i), "the label %q matches no repository (%s), so these credentials are never used", label, problem)
	}
	return l, !unusable
}

// defaultLogins reads a block with the form: oci_default_credentials { … }.
func (r *reader) defaultLogins() {
	const name = "oci_default_credentials"
	for _, i := range r.items {
		if keyOf(i, 0) != name {
			continue
		}
		l := DefaultLogins{Position: r.at(i)}
		var content struct {
			Ambient *bool     `hcl:"discover_ambient_credentials"`
			Files   *[]string `hcl:"docker_style_config_files"`
			Helper  *string   `hcl:"docker_credentials_helper"`
		}
		body, ok := r.isBlock(i, 0)
		first := r.config.DefaultLogins.Position
		switch {
		case !ok:
			r.refuse(name, l.Position)
			continue
		case first != stricthcl.Position{}:
			r.failOnce(l.Position, first, name+" block")
			continue
		case !r.decodeBlock(name, body, i, &content):
			continue
		}
		l.NoAmbient = content.Ambient != nil && !*content.Ambient
		if content.Files != nil {
			if l.NoAmbient {
				r.fail(l.Position, "docker_style_config_files has no effect, because discover_ambient_credentials = false disables ambient credentials")
			}
			l.DockerFiles = []string{}
			for _, file := range *content.Files {
				l.DockerFiles = append(l.DockerFiles, resolveRelativeTo(r.name, file))
			}
		}
		if content.Helper != nil {
			l.Helper = r.helper(*content.Helper, r.valueAt(body, "docker_credentials_helper", l.Position).at)
		}
		r.config.DefaultLogins = l
	}
}

// helper returns the name of a credential helper. If the name can't be part of a file
// name, helper reports a problem.
func (r *reader) helper(name string, at stricthcl.Position) string {
	if name == "" || strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, unicode.IsControl) {
		r.fail(at, "invalid docker_credentials_helper %q: want a part of a program name, such as osxkeychain", name)
	}
	return name
}

// resolveRelativeTo resolves a path relative to a file's directory.
func resolveRelativeTo(file, path string) string {
	path = ResolvePath(filepath.Dir(file), path)
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// parsePrefix parses "registry" or "registry/path".
func parsePrefix(label string) (registry, path, problem string) {
	// A reference requires a repository name.
	const anything = "/x"
	hasPath := strings.Contains(label, "/")
	given := label
	if !hasPath {
		given += anything
	}
	ref, err := template.ParseReference(given)
	switch {
	case err != nil:
		return "", "", problemOf(err)
	case ref.IsLayout():
		return "", "", "credentials are not supported for image layouts"
	case hasPath:
		return ref.Registry, ref.Name, ""
	}
	return ref.Registry, "", ""
}

// openTofuAccepts reports whether OpenTofu accepts a label that is not a valid
// registry. OpenTofu accepts any host that is valid in a URL, such as *.example.com.
func openTofuAccepts(label string) bool {
	host, path, hasPath := strings.Cut(label, "/")
	if u, err := url.ParseRequestURI("dummy://" + host); err != nil || u.Host == "" || u.Host != host {
		return false
	}
	if !hasPath {
		return true
	}
	_, err := template.ParseReference("registry.example.com/" + path)
	return err == nil
}
