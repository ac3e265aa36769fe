// Package text hides secrets in text, quotes words for a shell, and finds the word that
// was probably meant by a misspelled one.
package text

import (
	"regexp"
	"strings"
)

// hidden stands for what is not shown.
const hidden = "***"

// RedactUserinfo hides who logs in where in a URL or in the name of a repository:
// "https://user:password@host/" gives "https://***@host/", and
// "user:password@host/name" gives "***@host/name". The text is taken as one
// value, so a password may have any characters. What has an @ for other reasons,
// such as a digest or a version, stays as it is.
func RedactUserinfo(s string) string {
	shown, _ := RedactUserinfoAt(s, 0)
	return shown
}

// RedactUserinfoAt does what [RedactUserinfo] does, and moves a byte's offset to where that
// byte is shown; to the start of what is hidden when it is not.
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

// port is a colon that separates a host from its port, or an image layout's
// prefix from a path, and not a user from a password.
var port = regexp.MustCompile(`^(?:[^:/]*:[0-9]+(?:/|$)|oci-layout:)`)

// userinfo returns the bytes to hide, none when from equals to.
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

// Redact hides what [RedactUserinfo] hides in each word of a sentence. A value that has
// spaces or quotes in its secret has to go through RedactUserinfo before.
func Redact(s string) string { return inText.ReplaceAllStringFunc(s, RedactUserinfo) }
