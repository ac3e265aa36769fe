// Package credentials finds credentials for OCI repositories where OpenTofu, Docker,
// and Podman store them. These locations are the oci_credentials and
// oci_default_credentials blocks of OpenTofu's CLI configuration, Docker-style files,
// and the variable DOCKER_AUTH_CONFIG, which contains the text of a Docker-style file.
// It also queries the credential helpers that these sources specify. The package finds
// all credentials that OpenTofu finds, and more. [Origin] reports whether OpenTofu
// finds the same credentials.
//
// # Precedence
//
// The package uses the most specific credentials, regardless of where they are stored.
// Credentials for a longer repository path take precedence over credentials for a
// shorter path or for the whole registry. Credentials for all registries
// (docker_credentials_helper in oci_default_credentials, or credsStore) come last.
// Among equally specific credentials, blocks precede files, files are in the order of
// [Resolver.Files], and within a file, auths precedes credHelpers.
//
// This is OpenTofu's order (https://opentofu.org/docs/cli/oci_registries/credentials),
// with one difference. If a helper, block, or entry has no credentials, this package
// continues with the next source, but OpenTofu does not.
//
// # Keys
//
// A key in auths or credHelpers, or the label of an oci_credentials block, is "host" or
// "host:port". In auths and blocks, it can have a path: "host/namespace/repository".
// Host names are case-insensitive. Older clients wrote URLs. In URLs, the package
// ignores "https://", "http://", trailing slashes, and the API's "/v1/" or "/v2/" after
// the host. Without a scheme or a trailing slash, "host/v1" is the namespace v1. Docker
// Hub is one registry with three names: docker.io, index.docker.io, and
// registry-1.docker.io.
//
// # Errors
//
// Without credentials, access is anonymous, because many repositories are public. If a
// helper fails or an entry is invalid, the package returns an error only if it needs
// the credentials. An unreadable file is an error only if no other source has
// credentials, because anonymous access would then fail for no apparent reason. Files
// in docker_style_config_files must exist and be valid.
//
// Files are read once, when credentials are first needed. A helper's response is cached
// for one minute, so expired tokens are not reused.
//
// Neither errors nor the text and JSON forms of this package's types contain secrets.
// See [text.Secret].
package credentials
