package main

import (
	"errors"

	"github.com/tofu-oci/tofu-oci/pkg/doctor"
	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// lackingError says that a repository has no version that is wanted, where the command
// is known that brings one.
type lackingError struct {
	error
	command string
}

func (e *lackingError) Unwrap() error { return e.error }

func (e *lackingError) hint() string { return "bring one there: " + e.command }

// lacking gives the error about a provider with the command that brings the version
// which is not there. Where providers come from their origin, none does.
func (l locking) lacking(p lock.Locked) error {
	missing, ok := errors.AsType[*provider.VersionError](p.Err)
	if !ok || !l.mirrored(missing.Address) {
		return p.Err
	}
	constraint := missing.Wanted.String()
	if missing.Version != (provider.Version{}) {
		constraint = missing.Version.String()
	}
	return &lackingError{p.Err, doctor.MirrorCommand(missing.Address, constraint, l.options.Template)}
}

// mirrored tells whether a provider comes from an OCI repository.
func (l locking) mirrored(a provider.Address) bool {
	if l.c.IsSet("from") {
		return true
	}
	i, err := l.conn.installed()
	if err != nil {
		return false
	}
	_, _, err = i.Target(a)
	return err == nil
}
