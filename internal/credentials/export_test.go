package credentials

import (
	"context"
	"fmt"
	"time"
)

// SetClock sets the clock.
func (r *Resolver) SetClock(now func() time.Time) { r.now, r.responses.Now = now, now }

// WithTimeouts returns an environment with the given timeout for helpers.
func (e Environment) WithTimeouts(limit time.Duration) Environment {
	e.timeouts = timeouts{limit, limit}
	return e
}

// FindTokenHelperWith is like [FindTokenHelper] with a different timeout.
func FindTokenHelperWith(timeout time.Duration, name string, args, dirs []string) (h TokenHelper, ok bool) {
	h, ok = FindTokenHelper(name, args, dirs)
	h.timeout = timeout
	return h, ok
}

// Login is like Resolve, but does not return the origin.
func (r *Resolver) Login(ctx context.Context, repository string) (Credential, error) {
	login, _, err := r.Resolve(ctx, repository)
	return login, err
}

// Source is a file's entry for a repository.
type Source struct {
	Depth  int
	Origin Origin
	Login  Credential
	// Text is the complete entry as printed by fmt. Bare is the printed entry without
	// the credentials.
	Text, Bare string
}

// ParseDocument parses a file and returns its entry for a repository.
func ParseDocument(data []byte, legacy bool, name string) ([]Source, error) {
	p := fileSpec{path: "logins.json", legacy: legacy, rank: 1}
	d, err := parseDocument(p, data)
	if err != nil {
		return nil, err
	}
	r, err := parseRepository(name)
	if err != nil {
		return nil, err
	}
	var sources []Source
	for _, c := range (file{fileSpec: p, document: d, exists: true}).candidates(r) {
		s := Source{Depth: c.depth, Origin: c.origin, Login: c.credential, Text: fmt.Sprintf("%+v %#v", *c, *c)}
		c.credential = Credential{}
		s.Bare = fmt.Sprintf("%+v %#v", *c, *c)
		sources = append(sources, s)
	}
	return sources, nil
}

// These functions export the JSON editor for tests.
var (
	SetMember    = setMember
	RemoveMember = removeMember
	ErrNoObject  = errNoObject
	ErrDuplicate = errDuplicate
)
