package credentials

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
)

// authVariable is the variable that contains the text of a Docker-style file. GitLab
// runners and Docker read this variable
// (https://docs.gitlab.com/ci/docker/using_docker_images/#use-statically-defined-credentials).
const authVariable = "DOCKER_AUTH_CONFIG"

// fileSpec is a possible credentials file.
type fileSpec struct {
	path string
	// text is the content if the content comes from a variable. In this case, path is
	// the variable's name.
	text string
	// legacy selects the format without auths, which is an object of entries.
	legacy bool
	// rank is the file's position in OpenTofu's order, starting at 1.
	rank int
	// skipped explains why OpenTofu doesn't read the file. It is empty if OpenTofu
	// reads the file.
	skipped string
}

// configuredFiles returns the files that the configuration lists.
func configuredFiles(paths []string) []fileSpec {
	places := make([]fileSpec, len(paths))
	for i, path := range paths {
		places[i] = fileSpec{path: path, rank: i + 1}
	}
	return places
}

// files returns the files in which Podman and Docker store credentials. The variable
// with the text of a file comes first, and the files that variables specify come
// second. The remaining files follow in OpenTofu's order. Podman's files are documented
// at https://github.com/containers/image/blob/main/docs/containers-auth.json.5.md. As
// in OpenTofu, ~/.docker is used even if $DOCKER_CONFIG is set.
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
			skipped: "OpenTofu does not read files in /run/containers",
		})
	case e.OS == "linux":
		l.add(fileSpec{path: filepath.Join(runtimeDir, "containers", "auth.json")})
	default:
		l.add(fileSpec{path: filepath.Join(runtimeDir, "containers", "auth.json"), skipped: "OpenTofu reads $XDG_RUNTIME_DIR only on Linux"})
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

// CertDirs returns the directories in which Docker looks for the certificates of
// registries. Each directory contains a directory for each registry. See
// https://docs.docker.com/engine/security/certificates/.
func (e Environment) CertDirs() []string {
	var parents []string
	if dir := e.Getenv("DOCKER_CONFIG"); dir != "" {
		parents = append(parents, dir)
	}
	if e.Home != "" {
		parents = append(parents, filepath.Join(e.Home, ".docker"))
	}
	system := filepath.Join(string(filepath.Separator), "etc", "docker")
	if e.OS == "windows" {
		system = filepath.Join(e.Getenv("ProgramData"), "docker")
	}
	dirs := make([]string, 0, len(parents)+1)
	for _, parent := range append(parents, system) {
		dirs = append(dirs, filepath.Join(parent, "certs.d"))
	}
	return dirs
}

// fileSpecs is a list of files without duplicates.
type fileSpecs struct {
	specs []fileSpec
	rank  int
}

// addHome adds a file in the home directory.
func (l *fileSpecs) addHome(e Environment, elements ...string) {
	if e.Home != "" {
		l.add(fileSpec{path: filepath.Join(append([]string{e.Home}, elements...)...)})
	}
}

// add adds a file. If the list already contains the file, add only records how OpenTofu
// uses it.
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

// File describes a possible credentials file.
type File struct {
	// Path is the path of the file. If a variable contains the text of the file, Path
	// is $ followed by the variable's name.
	Path string
	// Variable reports whether a variable contains the text of the file.
	Variable bool
	Exists   bool
	// Err is a *[FileError] if the file can't be used.
	Err error
	// OpenTofu reports whether OpenTofu up to 1.12 reads the file. If it does not, Why
	// explains the reason in a sentence without a final period.
	OpenTofu bool
	Why      string
}

// Files returns the files to search for credentials, in order.
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
