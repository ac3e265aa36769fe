package credentials

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
)

// authVariable holds the text of a file, as GitLab's runners and Docker read it
// (https://docs.gitlab.com/ci/docker/using_docker_images/#use-statically-defined-credentials).
const authVariable = "DOCKER_AUTH_CONFIG"

// place is where a file with logins may be.
type fileSpec struct {
	path string
	// text is the content where it is in a variable, which path names then.
	text string
	// legacy is the format before auths: an object of its entries.
	legacy bool
	// rank is the file's turn in OpenTofu, from 1.
	rank int
	// unread says why OpenTofu does not read the file, "" when it does.
	skipped string
}

// listed are the places of files that the configuration names.
func configuredFiles(paths []string) []fileSpec {
	places := make([]fileSpec, len(paths))
	for i, path := range paths {
		places[i] = fileSpec{path: path, rank: i + 1}
	}
	return places
}

// places lists where Podman and Docker keep logins: first the variable that holds
// some, then the files that variables name, then the others in OpenTofu's order. Podman's are those of
// https://github.com/containers/image/blob/main/docs/containers-auth.json.5.md,
// and ~/.docker counts also where $DOCKER_CONFIG is set, as for OpenTofu.
func (e Environment) files() []fileSpec {
	var l fileSpecs
	if text := e.Getenv(authVariable); text != "" {
		l.add(fileSpec{path: "$" + authVariable, text: text, skipped: "OpenTofu does not read $" + authVariable})
	}
	if path := e.Getenv("REGISTRY_AUTH_FILE"); path != "" {
		l.add(fileSpec{path: path, skipped: "OpenTofu does not read $REGISTRY_AUTH_FILE"})
	}
	if dir := e.Getenv("DOCKER_CONFIG"); dir != "" {
		l.add(fileSpec{path: filepath.Join(dir, "config.json"), skipped: "OpenTofu does not read $DOCKER_CONFIG"})
	}

	runtimeDir := e.Getenv("XDG_RUNTIME_DIR")
	switch {
	case e.OS == "windows" || e.OS == "darwin":
		l.addHome(e, ".config", "containers", "auth.json")
	case runtimeDir == "":
		l.add(fileSpec{
			path:    filepath.Join(string(filepath.Separator), "run", "containers", strconv.Itoa(e.UID), "auth.json"),
			skipped: "OpenTofu does not look below /run/containers",
		})
	case e.OS == "linux":
		l.add(fileSpec{path: filepath.Join(runtimeDir, "containers", "auth.json")})
	default:
		l.add(fileSpec{path: filepath.Join(runtimeDir, "containers", "auth.json"), skipped: "OpenTofu reads $XDG_RUNTIME_DIR on Linux only"})
	}

	if dir := e.Getenv("XDG_CONFIG_HOME"); dir != "" {
		l.add(fileSpec{path: filepath.Join(dir, "containers", "auth.json")})
	} else {
		l.addHome(e, ".config", "containers", "auth.json")
	}
	l.addHome(e, ".docker", "config.json")
	if e.Home != "" {
		l.add(fileSpec{path: filepath.Join(e.Home, ".dockercfg"), legacy: true})
	}
	return l.specs
}

// placeList is a list of places without duplicates.
type fileSpecs struct {
	specs []fileSpec
	rank  int
}

func (l *fileSpecs) addHome(e Environment, elements ...string) {
	if e.Home != "" {
		l.add(fileSpec{path: filepath.Join(append([]string{e.Home}, elements...)...)})
	}
}

// add adds a place, unless it is there: then what OpenTofu does with it is
// noted.
func (l *fileSpecs) add(p fileSpec) {
	if p.skipped == "" {
		l.rank++
		p.rank = l.rank
	}
	i := slices.IndexFunc(l.specs, func(other fileSpec) bool { return filepath.Clean(other.path) == filepath.Clean(p.path) })
	if i < 0 {
		l.specs = append(l.specs, p)
		return
	}
	if p.skipped == "" {
		l.specs[i].skipped = ""
		l.specs[i].rank = cmp.Or(l.specs[i].rank, p.rank)
	}
}

// Place is where a file with logins may be.
type File struct {
	// Path is the file's; for a variable that holds the text of one it is the
	// variable's name, with a $.
	Path string
	// Variable tells that it is no file.
	Variable bool
	Exists   bool
	// Err is a *[FileError] that says why the file is of no use.
	Err error
	// OpenTofu reports whether OpenTofu up to 1.12 reads the file, and Why, a sentence
	// without its full stop, why it doesn't.
	OpenTofu bool
	Why      string
}

// Places lists the files that logins are looked for in, the first first.
func (r *Resolver) Files() []File {
	var places []File
	for _, file := range r.files() {
		p := File{Path: file.path, Variable: file.text != "", Exists: file.exists, Err: file.err, OpenTofu: file.skipped == "", Why: file.skipped}
		if r.hasConfiguredFiles() {
			p.Err = file.unusable()
		}
		places = append(places, p)
	}
	return places
}
