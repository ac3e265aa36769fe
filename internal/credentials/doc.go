// Package logins finds the login for an OCI repository where OpenTofu, Docker
// and Podman look for it: in the oci_credentials and oci_default_credentials
// blocks of OpenTofu's CLI configuration, in Docker-style files, in the variable
// DOCKER_AUTH_CONFIG that holds the text of one, and in the credential helpers
// that those name. What OpenTofu finds is found here too, and more; [Origin]
// tells what OpenTofu itself would not find.
//
// # Which login wins
//
// The most specific one, wherever it stands: one for a longer part of the
// repository's path before one for a shorter, those before one for the whole
// registry, and that before what is for any registry (docker_credentials_helper
// of oci_default_credentials, credsStore). Among equals the first wins: blocks,
// then files in the order of [Resolver.Files], within a file auths before
// credHelpers. That is OpenTofu's rule
// (https://opentofu.org/docs/cli/oci_registries/credentials). But where OpenTofu
// stays with a helper that knows no login, or an entry that is empty, the next
// one is tried here.
//
// # Keys
//
// A key of auths or credHelpers, and the label of an oci_credentials block, is
// "host" or "host:port", in auths and blocks also with a path:
// "host/namespace/repository". Upper and lower case of the host are the same.
// Older clients wrote URLs: "https://" and "http://" do not count, nor slashes at
// the end, nor an API's "/v1/" or "/v2/" after the host. "host/v1" without either
// is the namespace v1. Docker Hub is one registry under three names: docker.io,
// index.docker.io and registry-1.docker.io.
//
// # What goes wrong
//
// No login at all is no error: many repositories are open to all. A helper that
// fails, or an entry that can't be read, is an error as soon as it is its turn.
// A file that can't be read at all is passed over as long as another source
// answers, and else it is the error: going on anonymously would end in a riddle.
// A file named by docker_style_config_files has to be there and be right.
//
// Files are read once, when the first login is looked for. An answer of a helper
// is good for a minute, so that a token that expired is not given again.
//
// No secret is ever part of an error, nor of the text or JSON of a value of this
// package: see [text.Secret].
package credentials
