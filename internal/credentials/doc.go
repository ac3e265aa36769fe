// Package credentials finds credentials for OCI repositories where OpenTofu, Docker, and Podman
// store them: in the oci_credentials and oci_default_credentials blocks of OpenTofu's CLI
// configuration, in Docker-style files, in the variable DOCKER_AUTH_CONFIG, which contains the
// text of such a file, and in the credential helpers that these refer to. It finds all
// credentials that OpenTofu finds, and more. [Origin] describes what OpenTofu would not find.
//
// # Precedence
//
// The most specific credentials are used, wherever they are stored. Credentials for a longer
// repository path take precedence over credentials for a shorter one, over credentials for the
// whole registry, and over credentials for any registry (docker_credentials_helper of
// oci_default_credentials, credsStore). Otherwise, the first ones are used: blocks precede
// files, files have the order of [Resolver.Files], and within a file, auths precedes
// credHelpers. This is OpenTofu's order
// (https://opentofu.org/docs/cli/oci_registries/credentials). However, if a helper, a
// block, or an entry has no credentials, OpenTofu does not use the next source, but this package
// does.
//
// # Keys
//
// A key of auths or credHelpers, and the label of an oci_credentials block, is "host" or
// "host:port". In auths and blocks, it can have a path: "host/namespace/repository". Host names
// are case-insensitive. Older clients wrote URLs. In these, "https://", "http://", trailing
// slashes, and the API's "/v1/" or "/v2/" after the host are ignored. Without a scheme or a
// trailing slash, "host/v1" is the namespace v1. Docker Hub is one registry with three names:
// docker.io, index.docker.io, and registry-1.docker.io.
//
// # Errors
//
// If there are no credentials, access is anonymous, because many repositories are public. If a
// helper fails or an entry is invalid, that is an error once its credentials are needed. An
// unreadable file is ignored if another source has credentials. Otherwise, it is an error,
// because anonymous access would fail for no apparent reason. Files in
// docker_style_config_files must exist and be valid.
//
// Files are read once, when credentials are first needed. The response of a helper is cached
// for one minute, so expired tokens are not used again.
//
// Errors, and the text and JSON of values of this package, never contain secrets. See
// [text.Secret].
package credentials
