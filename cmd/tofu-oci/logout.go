package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

func logoutCommand() *cli.Command {
	return newCommand("logout", logoutAction, []cli.Flag{configFlag()}, outputFlags())
}

func logoutAction(cmd *command) error {
	target, err := loginTarget(cmd.c)
	if err != nil {
		return err
	}
	config, err := cliConfiguration(cmd)
	if err != nil {
		return err
	}
	store, err := credentialStore(config)
	if err != nil {
		return err
	}
	removed, failed := store.Delete(cmd.c.Context, target)
	if failed != nil {
		return cmd.out.LoggedOut(target, removed, nil, nil, failed)
	}
	left, err := store.Remaining(cmd.c.Context, target)
	if err != nil {
		left = append(left, fmt.Sprintf("looking for remaining credentials: %v", err))
	}
	return cmd.out.LoggedOut(target, removed, store.Files(), left, nil)
}
