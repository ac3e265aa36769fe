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

// Login is an oci_credentials block: a login for all repositories whose names
// start with Path. Logins are comparable by ==.
type Login struct {
	Position stricthcl.Position
	// Registry is "host" or "host:port".
	Registry string
	// Path is the start of repository names, whole components; empty for all
	// repositories of the registry, and always with a helper.
	Path string

	// A login is a user name and a password, two tokens, or a helper.
	Username                  string
	Password                  text.Secret
	AccessToken, RefreshToken text.Secret
	// Helper is the name of a program that knows logins, without its docker-credential-
	// in front.
	Helper string
}

// Prefix returns "registry" or "registry/path", as the block's label has it.
func (l Login) Prefix() string {
	if l.Path == "" {
		return l.Registry
	}
	return l.Registry + "/" + l.Path
}

// DefaultLogins is the oci_default_credentials block, which says where other
// logins are looked for. The zero value is what counts without a block.
type DefaultLogins struct {
	// Position is the zero value without a block.
	Position stricthcl.Position
	// NoAmbient: nothing outside of the CLI configuration is asked.
	NoAmbient bool
	// DockerFiles are the Docker-style files to read instead of those in the
	// usual places. Nil means the usual places; empty means none.
	DockerFiles []string
	// Helper is the credential helper for registries that have none of their
	// own; empty for none.
	Helper string
}

// logins reads: oci_credentials "REGISTRY/PATH" { username = "…" password = "…" }.
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
	unusable := problem != "" && openTofuTakes(label)
	if problem != "" && !unusable {
		r.fail(r.label(i), "the label %q must be a registry, or a registry and the start of repository names: %s", label, problem)
		return l, false
	}
	password := content.Username != nil || content.Password != nil
	tokens := content.Access != nil || content.Refresh != nil
	helper := content.Helper != nil
	switch {
	case !password && !tokens && !helper:
		r.fail(l.Position, "an oci_credentials block must have username and password, or access_token and refresh_token, or docker_credentials_helper")
	case password && tokens || tokens && helper || helper && password:
		r.fail(l.Position, "an oci_credentials block must have only one form of login: username and password, or access_token and refresh_token, or docker_credentials_helper")
	case password && (content.Username == nil || content.Password == nil):
		r.fail(l.Position, "username and password must both be given")
	case tokens && (content.Access == nil || content.Refresh == nil):
		r.fail(l.Position, "access_token and refresh_token must both be given")
	case helper && l.Path != "":
		r.fail(r.label(i), "docker_credentials_helper is for whole registries: the label must be %q", l.Registry)
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
		r.note(NoteLabel, r.label(i), "no repository is named as the label %q says, so this login is never used: %s", label, problem)
	}
	return l, !unusable
}

// defaultLogins reads: oci_default_credentials { … }.
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
				r.fail(l.Position, "docker_style_config_files says where ambient credentials are, which discover_ambient_credentials = false excludes")
			}
			l.DockerFiles = []string{}
			for _, file := range *content.Files {
				l.DockerFiles = append(l.DockerFiles, beside(r.name, file))
			}
		}
		if content.Helper != nil {
			l.Helper = r.helper(*content.Helper, r.valueAt(body, "docker_credentials_helper", l.Position).at)
		}
		r.config.DefaultLogins = l
	}
}

// helper checks the name of a credential helper, which is a part of a program's
// file name.
func (r *reader) helper(name string, at stricthcl.Position) string {
	if name == "" || strings.ContainsAny(name, `/\`) || strings.ContainsFunc(name, unicode.IsControl) {
		r.fail(at, "docker_credentials_helper %q is not a part of a program's name, such as osxkeychain", name)
	}
	return name
}

// beside resolves a path that is relative to the file it stands in.
func beside(file, path string) string {
	path = ResolvePath(filepath.Dir(file), path)
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

// parsePrefix reads "registry" or "registry/path".
func parsePrefix(label string) (registry, path, problem string) {
	// The grammar of references has no registry alone.
	const anything = "/x"
	whole := strings.Contains(label, "/")
	given := label
	if !whole {
		given += anything
	}
	ref, err := template.ParseReference(given)
	switch {
	case err != nil:
		return "", "", problemOf(err)
	case ref.IsLayout():
		return "", "", "an image layout has no login"
	case whole:
		return ref.Registry, ref.Name, ""
	}
	return ref.Registry, "", ""
}

// openTofuTakes reports whether OpenTofu accepts a label that is no registry: it
// takes any host that a URL may have, such as *.example.com.
func openTofuTakes(label string) bool {
	host, path, whole := strings.Cut(label, "/")
	if u, err := url.ParseRequestURI("dummy://" + host); err != nil || u.Host == "" || u.Host != host {
		return false
	}
	if !whole {
		return true
	}
	_, err := template.ParseReference("registry.example.com/" + path)
	return err == nil
}
