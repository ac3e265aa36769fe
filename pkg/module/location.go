package module

import (
	"context"
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

// location is the parsed location of a module package. For the format, see
// https://pkg.go.dev/github.com/hashicorp/go-getter#section-readme.
type location struct {
	origin.Location
	isGit  bool
	url    *url.URL // without ref and subdirectory
	ref    string   // of a git location
	subdir string   // of the module in the package; can be a pattern
	// archive is the format of an archive, or empty if its file name determines the format.
	archive string
	// pkg identifies the module in progress reports.
	pkg provider.Package
	// stored, if not nil, is a repository that contains the package under the tag ref.
	// If set, only the tag and the subdirectory are used.
	stored repository.Reader
}

// scpForm matches git addresses such as git@example.org:acme/vpc.git.
var scpForm = regexp.MustCompile(`^([\w.-]+@[\w.-]+):([^/].*)$`)

func locate(ctx context.Context, from *origin.Modules, a provider.Address, v provider.Version) (location, error) {
	located, err := from.Location(ctx, a, v)
	if err != nil {
		return location{}, err
	}
	return parseLocation(located)
}

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
		return fail("not a valid URL")
	}
	if l.subdir = strings.TrimSuffix(l.subdir, "/"); l.subdir != "" && (!path.IsAbs("/"+l.subdir) || path.Clean("/"+l.subdir) != "/"+l.subdir) {
		return fail("the subdirectory is not valid")
	}
	l.ref, l.archive = arguments.Get("ref"), arguments.Get("archive")
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

// fetched is a package that was downloaded from its origin.
type fetched struct {
	files []File
	// isUnwrapped reports whether unwrap removed a directory from the paths.
	isUnwrapped bool
	commit      string // of a git repository
	close       func()
}

func (l location) fetch(ctx context.Context, from *origin.Modules, o MirrorOptions) (f fetched, err error) {
	switch {
	case l.stored != nil:
		f, err = l.readArtifact(ctx, l.stored, l.ref, l.stored.String(), o)
	case l.isGit:
		c, err := git.Fetch(ctx, l.url, l.ref, git.Options{AllowIncomplete: o.AllowIncomplete})
		if err != nil {
			return f, err
		}
		f = fetched{files: c.Files, commit: c.ID, close: c.Close}
	case l.url.Scheme == "oci":
		f, err = l.fetchArtifact(ctx, o)
	default:
		f, err = l.readArchive(ctx, l.origin(), o.publisher().Progress, func() (io.ReadCloser, error) { return from.OpenArchive(ctx, l.Location, l.url) })
	}
	if err == nil && l.subdir == "*" {
		f.unwrap()
	}
	return f, err
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
		tag = artifact.LatestTag
	}
	return l.readArtifact(ctx, repo, tag, l.Source, o)
}

// readArtifact reads the zip of a module. name identifies the module in errors.
func (l location) readArtifact(ctx context.Context, repo repository.Reader, tag, name string, o MirrorOptions) (fetched, error) {
	_, manifest, err := repo.Manifest(ctx, tag)
	if err != nil {
		return fetched{}, err
	}
	m, err := artifact.ParseModule(manifest)
	if err != nil {
		return fetched{}, err
	}
	title := m.Zip.Annotations[ocispec.AnnotationTitle]
	return l.readArchive(ctx, name, o.publisher().Progress, func() (io.ReadCloser, error) { return repository.Verified(ctx, repo, m.Zip, title) })
}

// directory returns the subdirectory of the module in the package. If the location
// contains a pattern, the pattern must match exactly one directory.
func (l location) directory(f fetched) (string, error) {
	if l.subdir == "" || f.isUnwrapped {
		return "", nil
	}
	var found []string
	elements := strings.Count(l.subdir, "/") + 1
	for _, file := range f.files {
		parts := strings.Split(file.Path, "/")
		if len(parts) <= elements {
			continue
		}
		dir := strings.Join(parts[:elements], "/")
		if match, err := path.Match(l.subdir, dir); (match || err != nil && dir == l.subdir) && !slices.Contains(found, dir) {
			found = append(found, dir)
		}
	}
	if len(found) != 1 {
		return "", provider.Errorf(provider.NotFound, "%d directories in the package match the subdirectory %q: want one", len(found), l.subdir)
	}
	return found[0], nil
}

// unwrap removes the first directory from the paths of the files if this directory
// contains all files. Archives from code hosts contain such a directory.
func (f *fetched) unwrap() {
	if len(f.files) == 0 {
		return
	}
	dir, _, _ := strings.Cut(f.files[0].Path, "/")
	if slices.ContainsFunc(f.files, func(file File) bool { return !strings.HasPrefix(file.Path, dir+"/") }) {
		return
	}
	for i := range f.files {
		f.files[i].Path = strings.TrimPrefix(f.files[i].Path, dir+"/")
	}
	f.isUnwrapped = true
}
