package main

import (
	"errors"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// lacking gives the error about a provider of a lock file with the command that brings
// the version which is not there. Where providers come from their origin, none does.
func (l locking) lacking(p lock.Locked) error {
	missing, ok := errors.AsType[*provider.VersionError](p.Err)
	if remedy := l.cmd.remedy(p.Err); remedy != "" || !ok || !l.cmd.fromRepository(missing.Address) {
		return l.cmd.withRemedy(p.Err)
	}
	return explain.WithHint(p.Err, "bring one there: "+doctor.MirrorCommand(missing.Address, l.options.Template, wantedBy(missing).Constraint.String()))
}

// staged asks how a version that is missing stands with those who approve releases, where
// the provider comes from an OCI repository.
func (cmd *command) staged(wanted provider.Requirement) doctor.Staged {
	repo, err := cmd.reader(wanted.Address)
	if err != nil {
		return doctor.Staged{}
	}
	return doctor.AskStaged(cmd.c.Context, repo, wanted, cmd.template)
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
func lackingForExec(cmd *command, err error) error {
	if cmd.remedy(err) != "" {
		return cmd.withRemedy(err)
	}
	absent := errors.Is(err, provider.ErrVersionNotFound) || errors.Is(err, provider.ErrProviderNotFound)
	if at, ok := errors.AsType[*provider.Error](err); ok && absent && cmd.fromRepository(at.Address) {
		return explain.WithHint(err, "bring it there: "+cmd.bringCommand(at.Address, at.Version)+"; all that is locked: tofu-oci mirror --lock-file FILE --to REPO")
	}
	e, ok := errors.AsType[*provider.PlatformError](err)
	switch {
	case !ok:
		return err
	case cmd.fromRepository(e.Address):
		return explain.WithHint(err, "bring it there for this machine too: "+cmd.bringCommand(e.Address, e.Version)+" --platform "+e.Wanted.String()+"; what was built here, tofu-oci publish adds")
	}
	return explain.WithHint(err, "its author has released nothing for this machine: lock another version, or run where there is one")
}

// withRemedy adds a remedy to an error about a release in a repository.
func (cmd *command) withRemedy(err error) error {
	if remedy := cmd.remedy(err); remedy != "" {
		return explain.WithHint(err, remedy)
	}
	return err
}

// remedy returns the command to restore lost content, or whether a missing version is
// pending or denied; or "".
func (cmd *command) remedy(err error) string {
	if missing, ok := errors.AsType[*provider.VersionError](err); ok && cmd.fromRepository(missing.Address) {
		if staged := cmd.staged(wantedBy(missing)).Hint(); staged != "" {
			return staged
		}
	}
	at, ok := errors.AsType[*provider.Error](err)
	absent := errors.Is(err, provider.ErrVersionNotFound) || errors.Is(err, provider.ErrProviderNotFound)
	_, lost := errors.AsType[*repository.LostError](err)
	lost = lost || errors.Is(err, repository.ErrNotFound)
	if !ok || absent || !lost || at.Version == (provider.Version{}) || !cmd.fromRepository(at.Address) {
		return ""
	}
	return "restore it: " + strings.ReplaceAll(doctor.RestoreCommand(at.Address, cmd.template, at.Version, ""), "\n", "; ")
}

// bringCommand mirrors a version into the repository of --from, or where the CLI
// configuration says.
func (cmd *command) bringCommand(a provider.Address, v provider.Version) string {
	return doctor.MirrorCommand(a, cmd.template, v.String())
}

// fromRepository tells whether a provider comes from an OCI repository.
func (cmd *command) fromRepository(a provider.Address) bool {
	if cmd.c.IsSet("from") {
		return true
	}
	i, err := cmd.installed()
	if err != nil {
		return false
	}
	_, _, err = i.Target(a)
	return err == nil
}
