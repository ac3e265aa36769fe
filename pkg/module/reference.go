package module

import (
	"errors"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const (
	scheme       = "oci://"
	layoutPrefix = "oci-layout:"
)

// tagRule matches tags. See
// https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#pulling-manifests.
var tagRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$`)
})

// Reference identifies a module package in a repository. At most one of Version, Tag,
// and Digest is set. Create references with [ParseReference].
type Reference struct {
	Repository template.Reference
	// Version is nil if the reference contains no version.
	Version *provider.Version
	Tag     string
	Digest  digest.Digest
}

// IsReference reports whether an argument is a [Reference], as opposed to an address.
// Addresses of providers and modules never start with the prefixes of references.
func IsReference(s string) bool {
	return strings.HasPrefix(s, scheme) || strings.HasPrefix(s, layoutPrefix)
}

// ParseReference parses one of these forms:
//
//	oci://HOST/NAME[@VERSION]
//	oci://HOST/NAME?tag=TAG
//	oci://HOST/NAME?digest=DIGEST
//	oci-layout:DIRECTORY[@VERSION]
//
// The forms with a query are the same as in OpenTofu's module sources. Errors are of
// type *[provider.SyntaxError].
func ParseReference(s string) (Reference, error) {
	fail := func(problem string) (Reference, error) {
		return Reference{}, &provider.SyntaxError{What: "module reference", Input: s, Problem: problem}
	}
	var r Reference
	rest, isRegistry := strings.CutPrefix(s, scheme)
	if isRegistry {
		if strings.Contains(rest, "//") {
			return fail("omit the subdirectory; the package always contains all directories")
		}
		var query string
		if rest, query, _ = strings.Cut(rest, "?"); query != "" {
			var problem string
			if r.Tag, r.Digest, problem = parseQuery(query); problem != "" {
				return fail(problem)
			}
		}
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		v, err := provider.ParseVersion(rest[at+1:])
		switch {
		case err == nil && (r.Tag != "" || r.Digest != ""):
			return fail("specify only one of @VERSION, tag, and digest")
		case err == nil:
			r.Version, rest = &v, rest[:at]
		case isRegistry:
			invalid := &provider.SyntaxError{What: "module reference", Input: s, Offset: strings.Index(s, rest) + at + 1, Problem: "the version after @ is invalid"}
			if e, ok := errors.AsType[*provider.SyntaxError](err); ok {
				invalid.Offset, invalid.Problem = invalid.Offset+e.Offset, invalid.Problem+": "+e.Problem
			}
			return Reference{}, invalid
		}
	}
	var err error
	if r.Repository, err = template.ParseReference(rest); err != nil {
		return Reference{}, err
	}
	return r, nil
}

// parseQuery parses the query of an oci:// reference. If the query is valid, problem is
// empty.
func parseQuery(query string) (tag string, of digest.Digest, problem string) {
	values, err := url.ParseQuery(query)
	if err != nil || len(values) != 1 {
		return "", "", "the query must be ?tag=TAG or ?digest=DIGEST"
	}
	tag, of = values.Get("tag"), digest.Digest(values.Get("digest"))
	switch {
	case of != "" && of.Validate() != nil:
		problem = "invalid digest: want sha256: followed by 64 hexadecimal digits"
	case of == "" && !tagRule().MatchString(tag):
		problem = "the query must be ?tag=TAG or ?digest=DIGEST"
	}
	return tag, of, problem
}

// Target returns the digest, the tag, or the tag of the version in the reference. If
// the reference contains none of these, it returns "".
func (r Reference) Target() string {
	switch {
	case r.Digest != "":
		return r.Digest.String()
	case r.Version != nil:
		return artifact.Tag(*r.Version)
	}
	return r.Tag
}

// Name returns the name of the module: the last part of the repository's name or of the
// layout's directory. If this part is not valid in a file name, Name returns "module".
func (r Reference) Name() string {
	if !r.Repository.IsLayout() {
		return path.Base(r.Repository.Name)
	}
	dir, err := filepath.Abs(filepath.FromSlash(r.Repository.Layout))
	if err != nil || provider.CheckFilename(filepath.Base(dir)) != nil {
		return "module"
	}
	return filepath.Base(dir)
}

// String returns the form that [ParseReference] parses.
func (r Reference) String() string {
	text := r.Repository.String()
	if !r.Repository.IsLayout() {
		text = scheme + text
	}
	switch {
	case r.Digest != "":
		return text + "?digest=" + r.Digest.String()
	case r.Tag != "":
		return text + "?tag=" + r.Tag
	case r.Version != nil:
		return text + "@" + r.Version.String()
	}
	return text
}
