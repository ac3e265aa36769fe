package module

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/git"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// location is the parsed location of a module package. It has the format of go-getter:
// https://pkg.go.dev/github.com/hashicorp/go-getter#section-readme.
type location struct {
	origin.Location
	isGit  bool
	url    *url.URL // without ref and subdirectory
	ref    string   // of a git location
	subdir string   // of the module in the package; can be a pattern
	// pkg identifies the module in the progress of transfers.
	pkg provider.Package
}

// scpForm matches git addresses such as git@example.org:acme/vpc.git.
var scpForm = regexp.MustCompile(`^([\w.-]+@[\w.-]+):([^/].*)$`)

// parseLocation parses a location from a registry. It rejects unsupported arguments
// instead of ignoring them.
func parseLocation(from origin.Location) (location, error) {
	l := location{Location: from}
	fail := func(problem string) (location, error) {
		return l, provider.Errorf(provider.Refused, "unsupported module location %s: %s", httpclient.RedactText(from.Source), problem)
	}
	text, isGit := strings.CutPrefix(from.Source, "git::")
	if m := scpForm.FindStringSubmatch(text); m != nil && !strings.Contains(text, "://") {
		text, isGit = "ssh://"+m[1]+"/"+m[2], true
	}
	l.isGit = isGit
	text, query, _ := strings.Cut(text, "?")
	if scheme, rest, ok := strings.Cut(text, "://"); ok && !from.IsArchive {
		rest, l.subdir, _ = strings.Cut(rest, "//")
		text = scheme + "://" + rest
	}
	arguments, err := url.ParseQuery(query)
	if err == nil {
		l.url, err = url.Parse(text)
	}
	if err != nil {
		return fail("it is not a valid URL")
	}
	if l.subdir = strings.TrimSuffix(l.subdir, "/"); l.subdir != "" && (!path.IsAbs("/"+l.subdir) || path.Clean("/"+l.subdir) != "/"+l.subdir) {
		return fail("the subdirectory is not valid")
	}
	l.ref = arguments.Get("ref")
	for name := range arguments {
		switch {
		case l.isGit && (name == "ref" || name == "depth"), !l.isGit && name == "archive":
			arguments.Del(name)
		case l.isGit || name == "checksum" || name == "filename":
			return fail("the argument " + name + " is not supported")
		}
	}
	l.url.RawQuery = arguments.Encode()
	switch {
	case isGit, l.url.Scheme == "https" && l.url.Hostname() != "", l.url.Scheme == "oci":
		return l, nil
	}
	return fail("want git::, https, or oci")
}

// origin returns the location without credentials.
func (l location) origin() string {
	if l.isGit || l.url.Scheme == "oci" {
		return l.Source // checked by fetch
	}
	return httpclient.RedactText(l.Source)
}

// fetched is a package from its origin.
type fetched struct {
	files  []File
	commit string // of a git repository
	close  func()
}

// fetch downloads the package.
func (l location) fetch(ctx context.Context, from *origin.Modules, o MirrorOptions) (fetched, error) {
	switch {
	case l.isGit:
		c, err := git.Fetch(ctx, l.url, l.ref, git.Options{AllowSubmodules: o.AllowSubmodules, AllowLFS: o.AllowLFS})
		if err != nil {
			return fetched{}, err
		}
		f := fetched{commit: c.ID, close: c.Close}
		for _, file := range c.Files {
			f.files = append(f.files, File(file))
		}
		return f, nil
	case l.url.Scheme == "oci":
		return l.fetchArtifact(ctx, o)
	}
	return l.readArchive(ctx, l.origin(), o.progress(), func() (io.ReadCloser, error) { return from.OpenArchive(ctx, l.Location, l.url) })
}

// fetchArtifact fetches the zip of a module in an OCI repository.
func (l location) fetchArtifact(ctx context.Context, o MirrorOptions) (fetched, error) {
	ref, err := ParseReference(l.url.String())
	if err != nil {
		return fetched{}, err
	}
	repo, err := o.Open(ref.Repository)
	if err != nil {
		return fetched{}, err
	}
	tag := ref.Target()
	if tag == "" {
		tag = LatestTag
	}
	_, manifest, err := repo.Manifest(ctx, tag)
	if err != nil {
		return fetched{}, err
	}
	m, err := artifact.ParseModule(manifest)
	if err != nil {
		return fetched{}, err
	}
	name := m.Zip.Annotations[ocispec.AnnotationTitle]
	return l.readArchive(ctx, l.Source, o.progress(), func() (io.ReadCloser, error) { return repository.Verified(ctx, repo, m.Zip, name) })
}

// directory returns the subdirectory of the module. If the location contains a pattern,
// the pattern must match exactly one directory.
func (l location) directory(files []File) (string, error) {
	var found []string
	elements := strings.Count(l.subdir, "/") + 1
	for _, f := range files {
		parts := strings.Split(f.Path, "/")
		if len(parts) <= elements {
			continue
		}
		dir := strings.Join(parts[:elements], "/")
		if match, err := path.Match(l.subdir, dir); (match || err != nil && dir == l.subdir) && !slices.Contains(found, dir) {
			found = append(found, dir)
		}
	}
	switch {
	case l.subdir == "":
		return "", nil
	case len(found) != 1:
		return "", provider.Errorf(provider.NotFound, "%d directories of the package match the subdirectory %s, want one", len(found), fmt.Sprintf("%q", l.subdir))
	}
	return found[0], nil
}

// unwrap removes a directory from the paths of files if it contains all of them. Code
// hosts add such a directory, whose name contains the commit, to archives.
func unwrap(files []File, dir string) bool {
	if slices.ContainsFunc(files, func(f File) bool { return !strings.HasPrefix(f.Path, dir+"/") }) {
		return false
	}
	for i := range files {
		files[i].Path = strings.TrimPrefix(files[i].Path, dir+"/")
	}
	return true
}
