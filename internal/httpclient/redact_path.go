package httpclient

import (
	"net/url"
	"regexp"
	"strings"
)

// hidden stands for what is not told.
const hidden = "***"

var (
	// upload is the state of an upload in a registry's URL, with which anybody may
	// go on with it.
	upload = regexp.MustCompile(`(/blobs/uploads?/).+$`)
	// ofRegistry is what a registry's URL has in front of that, and its other URLs: names,
	// tags and digests (https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#endpoints).
	ofRegistry = regexp.MustCompile(`^/v2/(?:[a-z0-9._/-]+/)?(?:blobs/uploads?/.*|tags/list|manifests/(?:\w[\w.-]{0,127}|` + digest + `)|(?:blobs|referrers)/` + digest + `)$`)
	// version is that of a provider, alone or in the name of a file that is for it.
	version = regexp.MustCompile(`^(?:[a-z0-9_-]+_)?v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+._].*)?$`)
	// hash is a digest in a path, also as the name of a tag, and bareHash one that has its
	// algorithm in front, as in sha256/ab/abcd…/data.
	hash       = regexp.MustCompile(`^` + digest + `(?:\.[a-z]+)?$`)
	bareHash   = regexp.MustCompile(`^[0-9a-f]{64,128}$`)
	algorithms = regexp.MustCompile(`^sha[0-9]{3}$`)
	// hexadecimal is what tokens and UUIDs are written in.
	hexadecimal = regexp.MustCompile(`^(?:[0-9a-f]{32,}|[0-9A-F]{32,})$`)
	word        = regexp.MustCompile(`[A-Za-z0-9]+`)
	// ordinary is a word as people write it: all digits, capitals with digits at one place,
	// and small letters with capitals between them and digits at two.
	ordinary = regexp.MustCompile(`^(?:[0-9]+|[A-Z]+[0-9]*[A-Z]*|[a-z]?[0-9]*|` + letters + `(?:[0-9]+` + letters + `)?[0-9]*)$`)
)

const (
	digest  = `sha[0-9]{3}[:-][0-9a-f]{64,128}`
	letters = `(?:[A-Z]?[a-z])?(?:[A-Z]*[a-z]{2,})+[A-Z]*`
)

// redactPath takes out of an escaped path what may be a secret: signed URLs have
// theirs there as well. Names of repositories and packages, versions and digests stay.
func redactPath(path string) string {
	path = upload.ReplaceAllString(path, "${1}"+hidden)
	if ofRegistry.MatchString(path) {
		return path
	}
	segments := strings.Split(path, "/")
	readable := 0 // how many segments may be a digest
	for i, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if algorithms.MatchString(plain) {
			readable = 3
		}
		if err != nil || isSecret(plain) && (readable == 0 || !bareHash.MatchString(plain)) {
			segments[i] = hidden
		}
		readable = max(readable-1, 0)
	}
	return strings.Join(segments, "/")
}

// isSecret reports whether a part of a path may be a token: it has a word that nobody
// would write.
func isSecret(segment string) bool {
	if version.MatchString(segment) || hash.MatchString(segment) {
		return false
	}
	if joined := strings.ReplaceAll(segment, "-", ""); hexadecimal.MatchString(joined) {
		return true
	}
	for _, w := range word.FindAllString(segment, -1) {
		if isRandom(w, len(segment) >= maxOrdinary) {
			return true
		}
	}
	return false
}

// maxOrdinary is how long a word in no order may be that has small letters and digits,
// such as 64bit. Tokens are longer, all their words together.
const maxOrdinary = 16

// isRandom reports whether a word looks as if made by a machine: its letters are in no
// order, and the fewer kinds of characters it has, the longer it has to be. In a long
// part of a path, where dashes may be the token's own, less is enough.
func isRandom(w string, inLong bool) bool {
	if ordinary.MatchString(w) {
		return false
	}
	of := func(characters string) bool { return strings.ContainsAny(w, characters) }
	small, large, digits := of("abcdefghijklmnopqrstuvwxyz"), of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), of("0123456789")
	switch {
	case small && large && digits:
		return len(w) >= 8 || inLong && len(w) >= 5
	case small && large:
		return len(w) >= 12 || inLong && len(w) >= 8
	}
	return len(w) >= maxOrdinary
}
