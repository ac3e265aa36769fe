// Package redact hides secrets in text: passwords that users wrote in a URL or before a
// registry's host, and credentials that a server repeats in its response.
package redact

import (
	"regexp"
	"strings"
)

// hidden stands for what is not shown.
const hidden = "***"

// Userinfo hides who logs in where in a URL or in the name of a repository:
// "https://user:password@host/" gives "https://***@host/", and
// "user:password@host/name" gives "***@host/name". The text is taken as one
// value, so a password may have any characters. What has an @ for other reasons,
// such as a digest or a version, stays as it is.
func Userinfo(s string) string {
	shown, _ := UserinfoAt(s, 0)
	return shown
}

// UserinfoAt does what [Userinfo] does, and moves a byte's offset to where that
// byte is shown; to the start of what is hidden when it is not.
func UserinfoAt(s string, offset int) (shown string, at int) {
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

// port is a colon that separates a host from its port, or an image layout's
// prefix from a path, and not a user from a password.
var port = regexp.MustCompile(`^(?:[^:/]*:[0-9]+(?:/|$)|oci-layout:)`)

// userinfo gives the bytes to hide, none when from equals to.
func userinfo(s string) (from, to int) {
	to = strings.LastIndexByte(s, '@')
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

// inText finds values with user information among other words.
var inText = regexp.MustCompile(`[^\s"'=(]+@[^\s"']*`)

// Text hides what [Userinfo] hides in each word of a sentence. A value that has
// spaces or quotes in its secret has to go through Userinfo before.
func Text(s string) string { return inText.ReplaceAllStringFunc(s, Userinfo) }
