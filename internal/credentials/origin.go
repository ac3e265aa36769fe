package credentials

import "fmt"

// Kind tells where a login came from.
type Kind string

// The zero value is that no login was found.
const (
	FromNothing Kind = ""
	// FromBlock: the CLI configuration has it.
	FromBlock Kind = "block"
	// FromFile: a Docker-style file has it.
	FromFile Kind = "file"
	// FromHelper: a helper gave it, whoever named the helper.
	FromHelper Kind = "helper"
)

// defaultBlock is the block that is for all registries.
const defaultBlock = "oci_default_credentials"

// Origin says where a login came from, and nothing of the login.
type Origin struct {
	Kind Kind
	// Block is the one of the CLI configuration that has the login or names the
	// helper: `oci_credentials "ghcr.io/acme"`, `oci_default_credentials`.
	Block string
	// File has the login or names the helper, when no block does: in Section, which
	// is auths, credHelpers or credsStore, and there under Key. It may also be the
	// variable $DOCKER_AUTH_CONFIG.
	File, Section, Key string
	// Helper is the NAME of docker-credential-NAME, and Asked the name of the
	// registry by which it knows the login.
	Helper, Asked string

	// OpenTofu reports whether OpenTofu up to 1.12 comes to the same login, and Why,
	// a sentence without its full stop, why it doesn't.
	OpenTofu bool
	Why      string
	// Stops is the file that makes OpenTofu stop before it takes any login, as Why
	// says; empty when it goes on.
	Stops string
}

// String returns the source in words: `auths of /home/u/.docker/config.json under
// "ghcr.io"`. It says nothing about OpenTofu.
func (o Origin) String() string {
	where := o.where()
	switch {
	case o.Helper == "":
		return where
	case o.Asked == "":
		return fmt.Sprintf("%s, named by %s", program(o.Helper), where)
	}
	return fmt.Sprintf("%s, named by %s, asked for %q", program(o.Helper), where, o.Asked)
}

func (o Origin) where() string {
	switch {
	case o.Block != "":
		return o.Block
	case o.File == "":
		return "no login"
	case o.Key == "":
		return o.Section + " of " + o.File
	}
	return fmt.Sprintf("%s of %s under %q", o.Section, o.File, o.Key)
}
