package httpclient

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
)

// hidden replaces secrets.
const hidden = "***"

var (
	// upload matches the state of an upload in a registry URL. Anyone who knows the
	// state can continue the upload.
	upload = regexp.MustCompile(`(/blobs/uploads?/).+$`)
	// ofRegistry matches the paths of all other registry URLs, which contain only
	// names, tags, and digests
	// (https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#endpoints).
	ofRegistry = lazyPattern(`^/v2/(?:[a-z0-9._/-]+/)?(?:blobs/uploads?/.*|tags/list|manifests/(?:\w[\w.-]{0,127}|` + digest + `)|(?:blobs|referrers)/` + digest + `)$`)
	// version matches a provider version, by itself or in a file name.
	version = regexp.MustCompile(`^(?:[a-z0-9_-]+_)?v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+._].*)?$`)
	// hash matches a digest in a path or tag. bareHash matches a digest that follows
	// its algorithm, as in sha256/ab/abcd…/data.
	hash       = lazyPattern(`^` + digest + `(?:\.[a-z]+)?$`)
	bareHash   = lazyPattern(`^[0-9a-f]{64,128}$`)
	algorithms = regexp.MustCompile(`^sha[0-9]{3}$`)
	// hexadecimal matches long hexadecimal strings, such as tokens and UUIDs.
	hexadecimal = lazyPattern(`^(?:[0-9a-f]{32,}|[0-9A-F]{32,})$`)
	word        = regexp.MustCompile(`[A-Za-z0-9]+`)
	// ordinary matches words that people write: digits, capital letters with one group
	// of digits, or lower-case letters with capital letters between them and up to two
	// groups of digits.
	ordinary = regexp.MustCompile(`^(?:[0-9]+|[A-Z]+[0-9]*[A-Z]*|[a-z]?[0-9]*|` + letters + `(?:[0-9]+` + letters + `)?[0-9]*)$`)
)

const (
	digest  = `sha[0-9]{3}[:-][0-9a-f]{64,128}`
	letters = `(?:[A-Z]?[a-z])?(?:[A-Z]*[a-z]{2,})+[A-Z]*`
)

// lazyPattern returns a function that compiles a pattern when it is first called. The
// patterns for digests and tags are expensive to compile, and most runs don't need
// them.
func lazyPattern(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// redactPath removes potential secrets from an escaped path, because some signed URLs
// contain tokens in their paths. It keeps repository names, package names, versions,
// and digests. It omits the end of long paths.
func redactPath(path string) string {
	if len(path) > maxShownURL {
		return redactPath(path[:strings.LastIndexByte(path[:maxShownURL], '/')+1]) + "…"
	}
	path = upload.ReplaceAllString(path, "${1}"+hidden)
	if ofRegistry().MatchString(path) {
		return path
	}
	segments := strings.Split(path, "/")
	readable := 0 // number of segments that can be digests
	for i, segment := range segments {
		plain, err := url.PathUnescape(segment)
		if algorithms.MatchString(plain) {
			readable = 3
		}
		if err != nil || isSecret(plain) && (readable == 0 || !bareHash().MatchString(plain)) {
			segments[i] = hidden
		}
		readable = max(readable-1, 0)
	}
	return strings.Join(segments, "/")
}

// isSecret reports whether a path segment could be a token. Tokens contain words that
// people would not write.
func isSecret(segment string) bool {
	if version.MatchString(segment) || hash().MatchString(segment) {
		return false
	}
	if joined := strings.ReplaceAll(segment, "-", ""); hexadecimal().MatchString(joined) {
		return true
	}
	for _, w := range word.FindAllString(segment, -1) {
		if isRandom(w, len(segment) >= maxOrdinary) {
			return true
		}
	}
	return false
}

// maxOrdinary is the maximum length of a random-looking word that consists of
// lower-case letters and digits, such as 64bit. Tokens are longer.
const maxOrdinary = 16

// isRandom reports whether a word looks generated. The fewer kinds of characters a word
// contains, the longer it must be. In a long path segment, shorter words are
// sufficient, because tokens can contain dashes.
func isRandom(w string, inLong bool) bool {
	if ordinary.MatchString(w) {
		return false
	}
	has := func(characters string) bool { return strings.ContainsAny(w, characters) }
	lower, upper, digits := has("abcdefghijklmnopqrstuvwxyz"), has("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), has("0123456789")
	switch {
	case lower && upper && digits:
		return len(w) >= 8 || inLong && len(w) >= 5
	case lower && upper:
		return len(w) >= 12 || inLong && len(w) >= 8
	}
	return len(w) >= maxOrdinary
}
