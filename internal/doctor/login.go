package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/finding"
)

// Login describes a repository's credentials, without the secret.
type Login struct {
	// Found reports whether credentials were found. Source is their location.
	Found  bool   `json:"found"`
	Source string `json:"source"`
	// OpenTofu reports whether OpenTofu finds the same credentials. If it does not, Why
	// explains the reason.
	OpenTofu bool   `json:"opentofu"`
	Why      string `json:"reason,omitempty"`
	// Unread reports whether OpenTofu ignores the file that contains the credentials.
	// Files contains the existing credential files, for use in a configuration.
	Unread bool     `json:"-"`
	Files  []string `json:"-"`
	// Helper is the NAME of the docker-credential-NAME that returned the credentials.
	Helper string `json:"-"`
	// Fault is the path of an invalid credential file. If Err is nil, only OpenTofu
	// rejects the file.
	Fault string `json:"-"`
	// Err explains why the credentials could not be looked up.
	Err error `json:"-"`
}

// FindLogin describes a repository's credentials, without the secret.
func FindLogin(ctx context.Context, finder *credentials.Resolver, name string) Login {
	found, origin, err := finder.Find(ctx, name)
	l := Login{
		Found: !found.IsAnonymous(), Source: origin.String(), OpenTofu: origin.OpenTofu, Why: origin.Why, Helper: origin.Helper,
		Fault: origin.Stops, Err: err,
	}
	if invalid, ok := errors.AsType[*credentials.FileError](err); ok {
		l.Fault = invalid.Path
	}
	for _, p := range finder.Files() {
		if p.Variable && p.Path == origin.File {
			l.Helper = "" // OpenTofu doesn't know about this helper
		}
		if !p.Exists || p.Variable {
			continue // OpenTofu can't be configured to read this file
		}
		l.Files = append(l.Files, p.Path)
		l.Unread = l.Unread || p.Path == origin.File && !p.OpenTofu
	}
	return l
}

// CheckLogin returns the problems with a repository's credentials. needed reports
// whether the registry rejects anonymous requests.
func CheckLogin(l Login, registry string, needed bool) []finding.Finding {
	switch {
	case l.Err != nil:
		remedy := finding.Remedy{Command: "tofu-oci login " + registry}
		if l.Fault != "" {
			remedy = finding.Remedy{Hint: "correct " + l.Fault}
		}
		return []finding.Finding{finding.New(finding.Error, "login-broken", fmt.Sprintf("The credentials for %s cannot be looked up: %v.", registry, l.Err), remedy)}
	case l.Fault != "":
		return []finding.Finding{finding.New(finding.Error, "login-stops-opentofu", fmt.Sprintf("OpenTofu can't install providers from %s: %s.", registry, l.Why), finding.Remedy{Hint: "correct " + l.Fault})}
	case l.OpenTofu:
		return nil
	}
	f := finding.New(finding.Warning, "login-unknown-to-opentofu", fmt.Sprintf("OpenTofu does not find the credentials in %s: %s.", l.Source, l.Why),
		finding.Remedy{Hint: addBlock + credentialsBlock(registry)})
	if needed {
		f.Severity = finding.Error
	}
	if !l.Found {
		f.Message = fmt.Sprintf("OpenTofu and tofu-oci use different credentials for %s: %s.", registry, l.Why)
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

// addBlock is the start of a hint that contains a block.
const addBlock = "add to the CLI configuration:\n"

func isDockerHub(registry string) bool {
	return registry == "docker.io" || registry == "index.docker.io"
}
