// Package text hides secrets, makes untrusted text printable, quotes words for a shell,
// parses durations with days, and suggests corrections for misspelled words.
package text

import (
	"regexp"
	"strings"
)

// hidden replaces secrets.
const hidden = "***"

// RedactUserinfo hides user information in a URL or repository name. For example,
// "https://user:password@host/" becomes "https://***@host/", and
// "user:password@host/name" becomes "***@host/name". The text must be a single value,
// so that the password can contain any characters. If the @ has another purpose, such
// as separating a digest or version, the text is returned unchanged.
func RedactUserinfo(s string) string {
	shown, _ := RedactUserinfoAt(s, 0)
	return shown
}

// RedactUserinfoAt is like [RedactUserinfo], but also returns the new position of the
// byte at offset. If that byte is hidden, the new position is the start of the hidden
// part.
func RedactUserinfoAt(s string, offset int) (shown string, at int) {
	from, to := userinfo(s)
	if from == to {
		return s, offset
	}
	switch {
	case offset >= to:
		offset += len(hidden) - (to - from)
	case offset > from:
		offset = from
	}
	return s[:from] + hidden + s[to:], offset
}

// port matches text whose first colon does not separate a user from a password. The
// colon separates a host from its port, or an image layout's prefix from its path.
var port = regexp.MustCompile(`^(?:[^:/]*:[0-9]+(?:/|$)|oci-layout:)`)

// userinfo returns the range of bytes to hide. It is empty if from equals to.
func userinfo(s string) (from, to int) {
	to = strings.LastIndexByte(s, '@')
	if strings.HasPrefix(s, "oci://") && to >= 0 && !strings.Contains(s[to:], "/") {
		to = strings.LastIndexByte(s[:to], '@') // a repository has a path, so the last @ precedes a version or digest
	}
	if to < 0 {
		return 0, 0
	}
	if scheme := strings.Index(s[:to], "://"); scheme >= 0 {
		return scheme + len("://"), to
	}
	if !strings.Contains(s[:to], ":") || port.MatchString(s) {
		return 0, 0
	}
	return 0, to
}

// inText matches values with user information in text.
var inText = regexp.MustCompile(`[^\s"'=(]+@[^\s"']*`)

// Redact applies [RedactUserinfo] to each word of text. If a secret can contain spaces
// or quotes, its value must be passed to RedactUserinfo separately.
func Redact(s string) string { return inText.ReplaceAllStringFunc(s, RedactUserinfo) }
