package cliconfig

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Form is how a login is given.
type Form string

const (
	// FormPassword is a user name and a password.
	FormPassword Form = "password"
	// FormTokens is an access token and a refresh token.
	FormTokens Form = "tokens"
	// FormHelper is a program that knows logins, as Docker has them.
	FormHelper Form = "helper"
)

// Login is an oci_credentials block: a login for all repositories whose names
// start with Path. Logins are comparable by ==.
type Login struct {
	Position stricthcl.Position
	// Registry is "host" or "host:port".
	Registry string
	// Path is the start of repository names, whole components; empty for all
	// repositories of the registry, and always with FormHelper.
	Path string
	Form Form

	Username                  string
	Password                  Secret
	AccessToken, RefreshToken Secret
	// Helper is the helper's name, without its docker-credential- in front.
	Helper string
}

// Prefix gives "registry" or "registry/path", as the block's label has it.
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

func (r *reader) login(d *document, b block) {
	l := Login{Position: b.at}
	var problem string
	l.Registry, l.Path, problem = parsePrefix(b.label.text)
	unusable := problem != "" && openTofuTakes(b.label.text)
	if problem != "" && !unusable {
		r.fail(b.label.at, "the label %q must be a registry, or a registry and the start of repository names: %s", b.label.text, problem)
		return
	}
	before := len(r.problems)
	username, hasUsername := r.text(b.body, "username")
	password, hasPassword := r.text(b.body, "password")
	access, hasAccess := r.text(b.body, "access_token")
	refresh, hasRefresh := r.text(b.body, "refresh_token")
	helper, hasHelper := r.text(b.body, "docker_credentials_helper")
	if len(r.problems) > before {
		return
	}
	forms := 0
	for _, given := range []bool{hasUsername || hasPassword, hasAccess || hasRefresh, hasHelper} {
		if given {
			forms++
		}
	}
	switch {
	case forms == 0:
		r.fail(b.at, "an oci_credentials block must have username and password, or access_token and refresh_token, or docker_credentials_helper")
	case forms > 1:
		r.fail(b.at, "an oci_credentials block must have only one form of login: username and password, or access_token and refresh_token, or docker_credentials_helper")
	case hasUsername != hasPassword:
		r.fail(b.at, "username and password must both be given")
	case hasAccess != hasRefresh:
		r.fail(b.at, "access_token and refresh_token must both be given")
	case hasHelper && l.Path != "":
		r.fail(b.label.at, "docker_credentials_helper is for whole registries: the label must be %q", l.Registry)
	case hasHelper:
		l.Form, l.Helper = FormHelper, r.helper(helper)
	case hasAccess:
		l.Form, l.AccessToken, l.RefreshToken = FormTokens, Secret(access.text), Secret(refresh.text)
	default:
		l.Form, l.Username, l.Password = FormPassword, username.text, Secret(password.text)
	}
	if unusable {
		r.note(NoteLabel, b.label.at, "no repository is named as the label %q says, so this login is never used: %s", b.label.text, problem)
		d.unusable = append(d.unusable, b.label)
		return
	}
	d.logins = append(d.logins, l)
}

func (r *reader) defaultLogins(b block) DefaultLogins {
	l := DefaultLogins{Position: b.at}
	l.NoAmbient = !r.boolean(b.body, "discover_ambient_credentials", true)
	if files, given := r.texts(b.body, "docker_style_config_files"); given {
		if l.NoAmbient {
			r.fail(b.at, "docker_style_config_files says where ambient credentials are, which discover_ambient_credentials = false excludes")
		}
		l.DockerFiles = []string{}
		for _, file := range files {
			l.DockerFiles = append(l.DockerFiles, beside(b.at.File, file.text))
		}
	}
	if helper, given := r.text(b.body, "docker_credentials_helper"); given {
		l.Helper = r.helper(helper)
	}
	return l
}

// helper checks the name of a credential helper, which is a part of a program's
// file name.
func (r *reader) helper(name node) string {
	if name.text == "" || strings.ContainsAny(name.text, `/\`) {
		r.fail(name.at, "docker_credentials_helper %q is not a part of a program's name, such as osxkeychain", name.text)
	}
	return name.text
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

// openTofuTakes tells whether OpenTofu accepts a label that is no registry: it
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
