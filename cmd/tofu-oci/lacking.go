package main

import (
	"context"
	"errors"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// lacking gives the error about a provider of a lock file with the command that brings
// the version which is not there. Where providers come from their origin, none does.
func (l locking) lacking(p lock.Locked) error {
	missing, ok := errors.AsType[*provider.VersionError](p.Err)
	if remedy := l.conn.remedy(l.c, p.Err); remedy != "" || !ok || !l.conn.fromRepository(l.c, missing.Address) {
		return l.conn.withRemedy(l.c, p.Err)
	}
	return explain.WithHint(p.Err, "bring one there: "+doctor.MirrorCommand(missing.Address, l.options.Template, wantedBy(missing).Constraint.String()))
}

// staged asks how a version that is missing stands with those who approve releases, where
// the provider comes from an OCI repository.
func (conn *connection) staged(c *cli.Context) func(context.Context, provider.Requirement) doctor.Staged {
	return func(ctx context.Context, wanted provider.Requirement) doctor.Staged {
		repo, to, err := conn.audited(c, wanted.Address)
		if err != nil {
			return doctor.Staged{}
		}
		if !c.IsSet("from") {
			to = template.Template{}
		}
		return doctor.AskStaged(ctx, repo, wanted, to)
	}
}

// wantedBy is what was asked for and is missing.
func wantedBy(e *provider.VersionError) provider.Requirement {
	if e.Version != (provider.Version{}) {
		return provider.Requirement{Address: e.Address, Constraint: e.Version.Constraint()}
	}
	return provider.Requirement{Address: e.Address, Constraint: e.Wanted}
}

// lackingForExec gives an error of exec with the command that brings what is not there.
// exec has no choice of platforms: this machine's is wanted.
func lackingForExec(c *cli.Context, conn *connection, err error) error {
	if conn.remedy(c, err) != "" {
		return conn.withRemedy(c, err)
	}
	absent := errors.Is(err, provider.ErrVersionNotFound) || errors.Is(err, provider.ErrProviderNotFound)
	if at, ok := errors.AsType[*provider.Error](err); ok && absent && conn.fromRepository(c, at.Address) {
		return explain.WithHint(err, "bring it there: "+bringCommand(c, at.Address, at.Version)+"; all that is locked: tofu-oci mirror --lock-file FILE --to REPO")
	}
	e, ok := errors.AsType[*provider.PlatformError](err)
	switch {
	case !ok:
		return err
	case conn.fromRepository(c, e.Address):
		return explain.WithHint(err, "bring it there for this machine too: "+bringCommand(c, e.Address, e.Version)+" --platform "+e.Wanted.String()+"; what was built here, tofu-oci publish adds")
	}
	return explain.WithHint(err, "its author has released nothing for this machine: lock another version, or run where there is one")
}

// withRemedy adds a remedy to an error about a release in a repository.
func (conn *connection) withRemedy(c *cli.Context, err error) error {
	if remedy := conn.remedy(c, err); remedy != "" {
		return explain.WithHint(err, remedy)
	}
	return err
}

// remedy returns the command to restore lost content, or whether a missing version is
// pending or denied; or "".
func (conn *connection) remedy(c *cli.Context, err error) string {
	if missing, ok := errors.AsType[*provider.VersionError](err); ok && conn.fromRepository(c, missing.Address) {
		if staged := conn.staged(c)(c.Context, wantedBy(missing)).Hint(); staged != "" {
			return staged
		}
	}
	at, ok := errors.AsType[*provider.Error](err)
	absent := errors.Is(err, provider.ErrVersionNotFound) || errors.Is(err, provider.ErrProviderNotFound)
	_, lost := errors.AsType[*repository.LostError](err)
	lost = lost || errors.Is(err, repository.ErrNotFound)
	if !ok || absent || !lost || at.Version == (provider.Version{}) || !conn.fromRepository(c, at.Address) {
		return ""
	}
	return "restore it: " + strings.ReplaceAll(doctor.RestoreCommand(at.Address, fromTemplate(c), at.Version, ""), "\n", "; ")
}

// bringCommand mirrors a version into the repository of --from, or where the CLI
// configuration says.
func bringCommand(c *cli.Context, a provider.Address, v provider.Version) string {
	return doctor.MirrorCommand(a, fromTemplate(c), v.String())
}

// fromTemplate returns the template of --from, which was validated before, or the zero
// value if the CLI configuration selects the repository.
func fromTemplate(c *cli.Context) (t template.Template) {
	if c.IsSet("from") {
		t, _ = repositoryTemplate(c, "from")
	}
	return t
}

// fromRepository tells whether a provider comes from an OCI repository.
func (conn *connection) fromRepository(c *cli.Context, a provider.Address) bool {
	if c.IsSet("from") {
		return true
	}
	i, err := conn.installed()
	if err != nil {
		return false
	}
	_, _, err = i.Target(a)
	return err == nil
}
