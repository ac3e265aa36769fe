package credentials

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// candidate is a source that may have the login for a repository.
type candidate struct {
	origin Origin
	// depth is that of [scope.depth], 0 for what is for any registry.
	depth int
	// credential is the login; a helper's when it was asked.
	credential Credential
	// err is why the source can't answer.
	err error

	// rank is the turn in OpenTofu among candidates of the same depth.
	rank int
	// unread says why OpenTofu passes the source over, "" when it doesn't.
	skipped string
	// differs says how OpenTofu takes another login from it, "" for the same one.
	differs string
	// stops says that OpenTofu, where it has another login, stops at this one.
	stops bool
}

// candidates lists the sources for a repository, the best first.
func (r *Resolver) candidates(repo repository) []*candidate {
	var all []*candidate
	for _, rule := range r.config.Logins {
		s := parseKey(rule.Prefix())
		depth := s.depth(repo)
		if depth == 0 {
			continue
		}
		c := &candidate{depth: depth, origin: Origin{Kind: FromBlock, Block: fmt.Sprintf("oci_credentials %q", rule.Prefix())}, credential: Credential{
			Username: rule.Username, Password: rule.Password,
			IdentityToken: rule.RefreshToken, RegistryToken: rule.AccessToken,
		}}
		if rule.Helper != "" {
			c.origin.Kind, c.origin.Helper = FromHelper, rule.Helper
		}
		if rule.AccessToken.IsEmpty() != rule.RefreshToken.IsEmpty() {
			c.differs = "OpenTofu wants access_token and refresh_token together"
		}
		if !s.spells(rule.Prefix(), repo) {
			c.skipped = "OpenTofu wants the registry spelled as in the repository"
		}
		all = append(all, c)
	}
	if name := r.config.DefaultLogins.Helper; name != "" {
		all = append(all, &candidate{origin: Origin{Kind: FromHelper, Block: defaultBlock, Helper: name}})
	}
	files := r.files()
	for _, file := range files {
		all = append(all, file.candidates(repo)...)
	}
	r.noteRefusal(files, all)
	slices.SortStableFunc(all, func(a, b *candidate) int { return cmp.Compare(b.depth, a.depth) })
	return all
}

// noteRefusal notes what a file that OpenTofu refuses means for the rest: it
// leaves all files aside that it found by itself.
func (r *Resolver) noteRefusal(files []file, all []*candidate) {
	path := refused(files)
	if path == "" || r.hasConfiguredFiles() {
		return
	}
	for _, c := range all {
		if c.origin.File != "" {
			c.skipped = cmp.Or(c.skipped, "OpenTofu reads none of the files, since it refuses "+path)
		}
	}
}

// refused returns the first file that OpenTofu reads and refuses, "" for none.
func refused(files []file) (path string) {
	i := slices.IndexFunc(files, func(file file) bool { return file.rank > 0 && (file.strict || file.err != nil) })
	if i < 0 {
		return ""
	}
	return files[i].path
}

// candidates lists what a file has for a repository, in the order of its parts.
func (f file) candidates(repo repository) []*candidate {
	var all []*candidate
	add := func(c candidate) {
		c.origin.File = f.path
		c.rank, c.skipped = f.rank, cmp.Or(f.skipped, c.skipped)
		if c.origin.Helper != "" {
			c.origin.Kind = FromHelper
			if err := checkHelper(c.origin.Helper); err != nil {
				c.err = &FileError{Path: f.path, Err: err}
			}
		}
		all = append(all, &c)
	}
	for _, key := range sortedKeys(f.auths, repo) {
		e, s := f.auths[key], parseKey(key)
		c := candidate{depth: s.depth(repo), credential: e.credential, skipped: e.skipped, differs: e.differs, stops: e.stops}
		c.origin = Origin{Kind: FromFile, Section: "auths", Key: key}
		if e.problem != "" {
			c.err = f.entryError(key, e.problem)
		}
		if !s.spells(key, repo) {
			c.skipped = cmp.Or(c.skipped, "OpenTofu does not take this key for the repository")
		}
		if f.old {
			c.skipped = cmp.Or(c.skipped, "OpenTofu does not know the format of .dockercfg")
		}
		add(c)
	}
	for _, key := range sortedKeys(f.helpers, repo) {
		s := parseKey(key)
		if s.path != "" || f.helpers[key] == "" {
			continue
		}
		c := candidate{depth: 1, origin: Origin{Section: "credHelpers", Key: key, Helper: f.helpers[key]}}
		if !s.spells(key, repo) {
			c.skipped = "OpenTofu does not take this key for the registry"
		}
		add(c)
	}
	if f.store != "" {
		add(candidate{origin: Origin{Section: "credsStore", Helper: f.store}})
	}
	return all
}

// sortedKeys returns the keys that are for a repository: first those spelled like
// it, which a client wrote later than those of old.
func sortedKeys[V any](values map[string]V, repo repository) []string {
	var keys []string
	for key := range maps.Keys(values) {
		if parseKey(key).depth(repo) > 0 {
			keys = append(keys, key)
		}
	}
	old := func(key string) int {
		if parseKey(key).spells(key, repo) {
			return 0
		}
		return 1
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(old(a), old(b)), cmp.Compare(a, b)) })
	return keys
}
