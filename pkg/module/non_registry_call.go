package module

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/git"
	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// NonRegistryCall is a call that a CLI configuration cannot redirect, because the module
// is not in a module registry or because the call cannot be resolved.
type NonRegistryCall struct {
	// Address is the address of the call, such as "module.network.module.dns".
	Address string `json:"address"`
	// Source is the source without credentials and arguments. It is empty if the source
	// is an expression that cannot be resolved.
	Source string `json:"source,omitempty"`
	// File and Line are the position of the call. For a fetched module, File starts with
	// the name of the package, such as "registry.opentofu.org/acme/vpc/aws@1.0.0//".
	File string `json:"file"`
	Line int    `json:"line"`
	// Reason explains why the call cannot be redirected or read.
	Reason string `json:"reason"`
	// IsUnread reports whether the requirements of the module are unknown.
	IsUnread bool `json:"unread,omitempty"`
	// IsUnresolved reports whether the source or the version is an expression that cannot
	// be resolved. The module might be in a module registry.
	IsUnresolved bool `json:"unresolved,omitempty"`
	// GitURL is the URL of a git repository, which git's url.BASE.insteadOf setting can
	// redirect. It is empty for other sources.
	GitURL string `json:"git_url,omitempty"`
}

// String describes the call in a sentence without a period.
func (d NonRegistryCall) String() string {
	reason := d.Reason
	if d.IsUnread {
		reason = "the requirements of the module are unknown, because " + reason
	}
	if d.Source != "" {
		reason = d.Source + ": " + reason
	}
	return fmt.Sprintf("%s:%d: %s: %s", d.File, d.Line, d.Address, reason)
}

func (c *Dependencies) addNonRegistryCall(call configuration.Call, d NonRegistryCall) {
	d.Address, d.File, d.Line = call.Address, call.Position.File, call.Position.Line
	d.Source = redacted(call.Source)
	if key := call.Position.String(); c.direct[key].Address == "" {
		c.direct[key] = d
	}
}

// redacted returns a source without credentials and arguments.
func redacted(source string) string {
	source, _, _ = strings.Cut(source, "?")
	if !strings.Contains(source, "://") {
		return text.RedactUserinfo(source)
	}
	return httpclient.RedactText(source)
}

// fetchNonRegistryCall fetches the package for a call whose source is not in a module
// registry. If the source is not supported, the package is empty.
func (c *Dependencies) fetchNonRegistryCall(ctx context.Context, call configuration.Call) (configuration.Package, error) {
	unread := func(reason string) (configuration.Package, error) {
		c.addNonRegistryCall(call, NonRegistryCall{Reason: reason, IsUnread: true})
		return configuration.Package{}, nil
	}
	l, err := parseLocation(origin.Location{Source: shorthand.ReplaceAllString(call.Source, "git::https://$1.git$2")})
	if err != nil {
		return unread("tofu-oci does not support this source")
	}
	_, hasPassword := l.url.User.Password()
	d := NonRegistryCall{Reason: "a CLI configuration cannot redirect URLs"}
	switch {
	case hasPassword || l.url.User != nil && l.url.Scheme != "ssh":
		return unread("the source contains credentials")
	case l.isGit:
		d.GitURL = l.url.String()
		d.Reason = "a CLI configuration cannot redirect git repositories; use git config url.BASE.insteadOf " + d.GitURL
	case l.url.Scheme == "oci":
		d.Reason = "the module is already in an OCI repository; to mirror it, use tofu-oci copy and change the source"
	case !l.isArchive():
		return unread("the URL does not refer to a zip or tar.gz archive")
	}
	// Only the configuration is read, so missing submodules and LFS files don't matter.
	p, subdir, err := c.unpack(ctx, l, MirrorOptions{Open: c.options.Open, AllowIncomplete: true})
	if errors.Is(err, git.ErrUnsafe) {
		return unread(err.Error())
	}
	if err != nil {
		return configuration.Package{}, err
	}
	c.addNonRegistryCall(call, d)
	name, _, _ := strings.Cut(strings.TrimPrefix(httpclient.RedactText(l.url.String()), "https://"), "?")
	if l.ref != "" {
		name += "@" + l.ref
	}
	return configuration.Package{Dir: p.dir, Subdir: subdir, Name: name}, nil
}

// shorthand matches sources for which OpenTofu assumes git.
var shorthand = regexp.MustCompile(`^((?:github\.com|bitbucket\.org)/[^/?]+/[^/?]+?)(?:\.git)?((?://[^?]*)?(?:\?.*)?)$`)

// isArchive reports whether OpenTofu would unpack the file at the URL.
func (l location) isArchive() bool {
	return slices.ContainsFunc([]string{"zip", "tar.gz", "tgz"}, func(format string) bool {
		return l.archive == format || strings.HasSuffix(l.url.Path, "."+format)
	})
}
