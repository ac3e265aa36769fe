package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/logins"
)

func logoutCommand() *cli.Command {
	return &cli.Command{
		Name:      "logout",
		Usage:     "remove the login for an OCI registry",
		ArgsUsage: "REGISTRY [FLAG...]",
		Description: strings.TrimSpace(`
Removes a login from wherever tofu-oci login or docker login may have put it: from
Docker's file, also in $DOCKER_CONFIG, and from the credential helper that it names
for the registry. The registry is not asked: a token stays valid until it expires
or is revoked there.

Logins for a part of the registry (HOST/PATH) stay unless they are named, and those
of other programs stay too; both are said. Where there is none, nothing is done, and
the exit code is 0.

Examples:
   tofu-oci logout ghcr.io
   tofu-oci logout registry.example.com/acme`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "config", Usage: "OpenTofu CLI configuration `FILE` to read instead of those that OpenTofu reads"},
		}, outputFlags()),
		Action: printing(logoutAction),
	}
}

// loggedOut is what logout prints.
type loggedOut struct {
	Registry string `json:"registry"`
	// Removed are the places that the login was in.
	Removed []removedLogin `json:"removed"`
	// Problems are logins that stay.
	Problems []string `json:"problems,omitempty"`
}

// removedLogin is where a login was: in auths of the file, or with the helper that
// the file names.
type removedLogin struct {
	File   string   `json:"file"`
	Helper string   `json:"helper,omitempty"`
	Keys   []string `json:"keys"`
}

func logoutAction(c *cli.Context, out *output) error {
	// 1. From where.
	target, err := loginTarget(c)
	if err != nil {
		return err
	}
	config, err := cliConfiguration(c, out)
	if err != nil {
		return err
	}
	keeper, err := loginKeeper(config)
	if err != nil {
		return err
	}

	// 2. What can be removed is, and said, whatever else goes wrong.
	removed, failed := keeper.Forget(c.Context, target)
	if failed != nil {
		out.sayRemoved(target, removed)
		return failed
	}

	// 3. What stays.
	left, err := keeper.Left(c.Context, target)
	if err != nil {
		left = append(left, fmt.Sprintf("looking for logins that stay: %v", err))
	}
	return out.loggedOut(target, keeper, removed, left)
}

func (o *output) loggedOut(target logins.Target, keeper *logins.Keeper, removed []logins.Kept, left []string) error {
	l := loggedOut{Registry: target.String(), Removed: []removedLogin{}, Problems: left}
	for _, kept := range removed {
		l.Removed = append(l.Removed, removedLogin(kept))
	}
	for _, problem := range left {
		o.warn("%s", problem)
	}
	if o.json {
		return o.printDocument(documentLogout, l)
	}
	if len(removed) == 0 {
		_, err := io.WriteString(o.stdout, printable(fmt.Sprintf("there was no login for %s in %s\n", target, strings.Join(keeper.Files(), ", "))))
		return err
	}
	o.sayRemoved(target, removed)
	return nil
}

// sayRemoved says where a login was.
func (o *output) sayRemoved(target logins.Target, removed []logins.Kept) {
	for _, kept := range removed {
		if !o.json {
			_, _ = io.WriteString(o.stdout, printable(fmt.Sprintf("removed the login for %s from %s\n", target, kept)))
		}
	}
}
