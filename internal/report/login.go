package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// LoggedIn is the result of login.
type LoggedIn struct {
	Registry string `json:"registry"`
	Username string `json:"username"`
	// File is the path of the credentials file. The file contains the credentials or
	// the name of the helper that stores them.
	File   string `json:"file"`
	Helper string `json:"helper,omitempty"`
	// Encrypted is false if the file contains the credentials.
	Encrypted bool `json:"encrypted"`
	// Checked reports whether the registry accepted the credentials.
	Checked bool `json:"checked"`
	// FoundBy contains the programs that find these credentials.
	FoundBy []string `json:"found_by"`
	// Problems explains why some programs don't find these credentials.
	Problems []string `json:"problems,omitempty"`
}

// LoggedIn prints where the credentials are stored and which programs find them.
func (o *Report) LoggedIn(l LoggedIn) error {
	for _, problem := range l.Problems {
		o.Warn("%s", problem)
	}
	where := fmt.Sprintf("credentials saved unencrypted in %s, readable only by you", l.File)
	if l.Helper != "" {
		where = fmt.Sprintf("credentials saved with docker-credential-%s, as configured in %s", l.Helper, l.File)
	}
	where = fmt.Sprintf("logged in to %s as %s\n%s\n", l.Registry, l.Username, where)
	if len(l.FoundBy) > 0 {
		where += fmt.Sprintf("found by %s\n", text.List(l.FoundBy, "and"))
	}
	return printItems(o, "login", []LoggedIn{l}, none{}, where)
}

// loggedOut is the result of logout.
type loggedOut struct {
	Registry string `json:"registry"`
	// Removed contains the locations of the removed credentials.
	Removed []credentials.Location `json:"removed"`
	// Problems describes credentials that could not be removed.
	Problems []string `json:"problems,omitempty"`
}

// LoggedOut prints the locations of the removed credentials and of the remaining
// credentials. If some credentials could not be removed, failed explains why, and
// LoggedOut returns failed.
func (o *Report) LoggedOut(target credentials.Prefix, removed []credentials.Location, files, left []string, failed error) error {
	l := loggedOut{Registry: target.String(), Removed: []credentials.Location{}, Problems: left}
	result := ""
	for _, kept := range removed {
		l.Removed = append(l.Removed, kept)
		result += fmt.Sprintf("removed the credentials for %s from %s\n", target, kept)
	}
	for _, problem := range left {
		o.Warn("%s", problem)
	}
	switch {
	case failed != nil && o.json: // the error's document is printed instead
		return failed
	case failed == nil && len(removed) == 0:
		result = fmt.Sprintf("no credentials for %s in %s\n", target, strings.Join(files, ", "))
	}
	return cmp.Or(failed, printItems(o, "logout", []loggedOut{l}, none{}, result))
}
