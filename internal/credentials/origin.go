package credentials

import "fmt"

// Kind is a kind of credentials source.
type Kind string

// The kinds of sources. The zero value means that no credentials were found.
const (
	// FromNothing means that no credentials were found.
	FromNothing Kind = ""
	// FromBlock means that the CLI configuration contains the credentials.
	FromBlock Kind = "block"
	// FromFile means that a Docker-style file contains the credentials.
	FromFile Kind = "file"
	// FromHelper means that a credential helper returned the credentials.
	FromHelper Kind = "helper"
)

// defaultBlock is the block for all registries.
const defaultBlock = "oci_default_credentials"

// Origin describes the source of credentials. It contains no secrets.
type Origin struct {
	Kind Kind
	// Block is the block in the CLI configuration that contains the credentials or
	// specifies the helper. Examples are `oci_credentials "ghcr.io/acme"` and
	// `oci_default_credentials`.
	Block string
	// File is the file that contains the credentials or specifies the helper. It can be
	// the variable $DOCKER_AUTH_CONFIG. Section is auths, credHelpers, or credsStore,
	// and Key is the key in the section. All three are empty if Block is set.
	File, Section, Key string
	// Helper is the NAME of docker-credential-NAME. Asked is the registry name under
	// which the helper has the credentials.
	Helper, Asked string

	// OpenTofu reports whether OpenTofu up to 1.12 finds the same credentials. If it
	// does not, Why explains the reason in a sentence without a final period.
	OpenTofu bool
	Why      string
	// Stops is the file or block that makes OpenTofu fail before it uses any
	// credentials. If Stops is not empty, Why explains the failure.
	Stops string
}

// String describes the source, for example `auths of /home/u/.docker/config.json under
// "ghcr.io"`. It does not mention OpenTofu.
func (o Origin) String() string {
	where := o.where()
	switch {
	case o.Helper == "":
		return where
	case o.Asked == "":
		return fmt.Sprintf("%s, configured in %s", program(o.Helper), where)
	}
	return fmt.Sprintf("%s, configured in %s, for %q", program(o.Helper), where, o.Asked)
}

func (o Origin) where() string {
	switch {
	case o.Block != "":
		return o.Block
	case o.File == "":
		return "no credentials"
	case o.Key == "":
		return o.Section + " of " + o.File
	}
	return fmt.Sprintf("%s of %s under %q", o.Section, o.File, o.Key)
}
