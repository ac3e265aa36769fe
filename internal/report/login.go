package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
)

// LoggedIn is what login prints.
type LoggedIn struct {
	Registry string `json:"registry"`
	Username string `json:"username"`
	// File has the login, or names the helper that has it.
	File   string `json:"file"`
	Helper string `json:"helper,omitempty"`
	// Encrypted is false for a login in the file itself.
	Encrypted bool `json:"encrypted"`
	// Checked reports whether the registry looked at the login.
	Checked bool `json:"checked"`
	// FoundBy are the programs that come to this login.
	FoundBy []string `json:"found_by"`
	// Problems say why others don't.
	Problems []string `json:"problems,omitempty"`
}

// LoggedIn says where the login is and who finds it.
func (o *Report) LoggedIn(l LoggedIn) error {
	for _, problem := range l.Problems {
		o.Warn("%s", problem)
	}
	where := fmt.Sprintf("the login is in %s, not encrypted, for its owner only", l.File)
	if l.Helper != "" {
		where = fmt.Sprintf("docker-credential-%s has the login, as %s says", l.Helper, l.File)
	}
	text := fmt.Sprintf("logged in to %s as %s\n%s\n", l.Registry, l.Username, where)
	if len(l.FoundBy) > 0 {
		text += fmt.Sprintf("%s will find it\n", enumerated(l.FoundBy))
	}
	return printItems(o, "login", []LoggedIn{l}, none{}, text)
}

// enumerated joins words: "a, b and c".
func enumerated(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// loggedOut is what logout prints.
type loggedOut struct {
	Registry string `json:"registry"`
	// Removed are the places that the login was in.
	Removed []removedLogin `json:"removed"`
	// Problems are logins that stay.
	Problems []string `json:"problems,omitempty"`
}

// removedLogin is where a login was: in auths of the file, or with the helper that
// the file names.
type removedLogin struct {
	File   string   `json:"file"`
	Helper string   `json:"helper,omitempty"`
	Keys   []string `json:"keys"`
}

// LoggedOut prints from where a login was removed, and what is left of it. failed is why not
// all of it could be removed, which LoggedOut returns.
func (o *Report) LoggedOut(target credentials.Prefix, removed []credentials.Location, files, left []string, failed error) error {
	l := loggedOut{Registry: target.String(), Removed: []removedLogin{}, Problems: left}
	text := ""
	for _, kept := range removed {
		l.Removed = append(l.Removed, removedLogin(kept))
		text += fmt.Sprintf("removed the login for %s from %s\n", target, kept)
	}
	for _, problem := range left {
		o.Warn("%s", problem)
	}
	switch {
	case failed != nil && o.json: // the document is that of the error
		return failed
	case failed == nil && len(removed) == 0:
		text = fmt.Sprintf("there was no login for %s in %s\n", target, strings.Join(files, ", "))
	}
	return cmp.Or(failed, printItems(o, "logout", []loggedOut{l}, none{}, text))
}
