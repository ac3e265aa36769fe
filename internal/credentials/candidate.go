package credentials

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// candidate is a source that might have credentials for a repository.
type candidate struct {
	origin Origin
	// depth is the result of [scope.depth], or 0 for sources that apply to all
	// registries.
	depth int
	// credential contains the credentials. If the source is a helper, the query sets
	// credential.
	credential Credential
	// err explains why the source can't be used.
	err error

	// rank is the position in OpenTofu's order among candidates of the same depth.
	rank int
	// skipped explains why OpenTofu ignores the source. It is empty if OpenTofu uses
	// the source.
	skipped string
	// differs explains why OpenTofu doesn't read the same credentials from the source
	// as this package. It is empty if OpenTofu does.
	differs string
	// stops explains why this source makes OpenTofu fail if OpenTofu finds credentials
	// in a different source. It is empty if OpenTofu does not fail.
	stops string
}

// candidates returns the sources for a repository, sorted by precedence.
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
			c.differs = "OpenTofu requires access_token and refresh_token together"
		}
		if rule.Username == "" && c.credential.IdentityToken.IsEmpty() && c.credential.RegistryToken.IsEmpty() && rule.Helper == "" {
			c.credential, c.stops = Credential{}, "has neither a username nor an access token"
		}
		if !s.spells(rule.Prefix(), repo) {
			c.skipped = "OpenTofu requires the registry to be spelled as in the repository name"
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

// noteRefusal records that OpenTofu ignores all files in default locations if it
// rejects one of the files.
func (r *Resolver) noteRefusal(files []file, all []*candidate) {
	path := refused(files)
	if path == "" || r.hasConfiguredFiles() {
		return
	}
	for _, c := range all {
		if c.origin.File != "" {
			c.skipped = cmp.Or(c.skipped, "OpenTofu reads none of the files, because it rejects "+path)
		}
	}
}

// refused returns the path of the first file that OpenTofu reads and rejects. If
// OpenTofu rejects no file, refused returns an empty string.
func refused(files []file) (path string) {
	i := slices.IndexFunc(files, func(file file) bool { return file.rank > 0 && (file.strict || file.err != nil) })
	if i < 0 {
		return ""
	}
	return files[i].path
}

// candidates returns the file's sources for a repository, sorted by precedence.
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
			c.skipped = cmp.Or(c.skipped, "OpenTofu does not recognize this key as a match for the repository")
		}
		if f.old {
			c.skipped = cmp.Or(c.skipped, "OpenTofu does not support the format of .dockercfg")
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
			c.skipped = "OpenTofu does not recognize this key as a match for the registry"
		}
		add(c)
	}
	if f.store != "" {
		add(candidate{origin: Origin{Section: "credsStore", Helper: f.store}})
	}
	return all
}

// sortedKeys returns the keys for a repository. Keys with the repository's exact
// spelling come first, because newer clients wrote them.
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
