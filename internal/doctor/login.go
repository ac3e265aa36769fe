package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

// Login is what is known about the login for a repository, without its secret.
type Login struct {
	// Found is false for nobody's login; Source says where it came from.
	Found  bool   `json:"found"`
	Source string `json:"source"`
	// OpenTofu reports whether OpenTofu comes to the same login, Why why not.
	OpenTofu bool   `json:"opentofu"`
	Why      string `json:"reason,omitempty"`
	// Unread is set when OpenTofu does not read the file that has the login, and
	// Files are those that are there, for a configuration that names them.
	Unread bool     `json:"-"`
	Files  []string `json:"-"`
	// Helper is the NAME of docker-credential-NAME that gave the login.
	Helper string `json:"-"`
	// Fault is the file with logins that is in the way: of OpenTofu, which stops at
	// it, or of us when there is an Err. Empty for none.
	Fault string `json:"-"`
	// Err is why the login could not be looked up.
	Err error `json:"-"`
}

// FindLogin describes the login for a repository, and leaves the secret behind.
func FindLogin(ctx context.Context, finder *credentials.Resolver, name string) Login {
	found, origin, err := finder.Find(ctx, name)
	l := Login{
		Found: !found.IsAnonymous(), Source: origin.String(), OpenTofu: origin.OpenTofu, Why: origin.Why, Helper: origin.Helper,
		Fault: origin.Stops, Err: err,
	}
	if broken, ok := errors.AsType[*credentials.FileError](err); ok {
		l.Fault = broken.Path
	}
	for _, p := range finder.Files() {
		if p.Variable && p.Path == origin.File {
			l.Helper = "" // whatever it knows, OpenTofu does not learn that it is there
		}
		if !p.Exists || p.Variable {
			continue // what is no file can't be named to OpenTofu
		}
		l.Files = append(l.Files, p.Path)
		l.Unread = l.Unread || p.Path == origin.File && !p.OpenTofu
	}
	return l
}

// CheckLogin finds what is wrong with the login for a repository of a registry.
// needed tells that the registry refuses those who are not logged in.
func CheckLogin(l Login, registry string, needed bool) []finding.Finding {
	switch {
	case l.Err != nil:
		remedy := finding.Remedy{Command: "tofu-oci login " + registry}
		if l.Fault != "" {
			remedy = finding.Remedy{Hint: "correct " + l.Fault}
		}
		return []finding.Finding{finding.New(finding.Error, "login-broken", fmt.Sprintf("The login for %s cannot be looked up: %v.", registry, l.Err), remedy)}
	case l.Fault != "":
		return []finding.Finding{finding.New(finding.Error, "login-stops-opentofu", fmt.Sprintf("OpenTofu installs nothing from %s: %s.", registry, l.Why), finding.Remedy{Hint: "correct " + l.Fault})}
	case l.OpenTofu:
		return nil
	}
	f := finding.New(finding.Warning, "login-unknown-to-opentofu", fmt.Sprintf("OpenTofu does not find the login that is in %s: %s.", l.Source, l.Why),
		finding.Remedy{Hint: addBlock + credentialsBlock(registry)})
	if needed {
		f.Severity = finding.Error
	}
	if !l.Found {
		f.Message = fmt.Sprintf("OpenTofu takes another login for %s: %s.", registry, l.Why)
	}
	switch {
	case isDockerHub(registry):
		f.Hint = addBlock + credentialsBlock("registry-1.docker.io")
	case l.Unread && len(l.Files) > 0:
		var names []string
		for _, file := range l.Files {
			names = append(names, fmt.Sprintf("%q", file))
		}
		f.Code = "login-file-not-read"
		f.Hint = addBlock + fmt.Sprintf("oci_default_credentials {\n  docker_style_config_files = [%s]\n}", strings.Join(names, ", "))
	case l.Helper != "":
		f.Code = "login-helper-key"
		f.Remedy = finding.Remedy{Command: fmt.Sprintf("echo '{\"ServerURL\":\"https://%s\",\"Username\":\"…\",\"Secret\":\"…\"}' | docker-credential-%s store", registry, l.Helper)}
	}
	return []finding.Finding{f}
}

// addBlock introduces a block in a hint.
const addBlock = "add to the CLI configuration:\n"

func isDockerHub(registry string) bool {
	return registry == "docker.io" || registry == "index.docker.io"
}
