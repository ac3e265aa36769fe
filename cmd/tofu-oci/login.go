package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

func loginCommand() *cli.Command {
	return newCommand(commandline.Login, loginAction, []cli.Flag{
		&cli.StringFlag{Name: "username", Category: commandline.GroupSelection, Aliases: []string{"u"}, Usage: "log in as `NAME` (default: prompt for the name)"},
		&cli.BoolFlag{Name: "password-stdin", Category: commandline.GroupSelection, Usage: "read the password from stdin"},
	}, networkFlags(), outputFlags())
}

func loginAction(cmd *command) error {
	// 1. Find the registry and the location of its credentials.
	target, err := loginTarget(cmd.c)
	if err != nil {
		return err
	}
	if err := cmd.connect(); err != nil {
		return err
	}
	store, err := credentialStore(cmd.config)
	if err != nil {
		return err
	}
	if _, err := store.Locate(target); err != nil {
		return err
	}

	// 2. Read the credentials.
	login, err := readLogin(cmd.c, target)
	if err != nil {
		return err
	}

	// 3. Check the credentials.
	checked, err := cmd.checkLogin(cmd.c.Context, target, login)
	if err != nil {
		return err
	}
	if !checked {
		cmd.out.Warn("the credentials for %s could not be checked, because the registry did not request any", target)
	}

	// 4. Store the credentials and report which programs find them.
	kept, err := store.Save(cmd.c.Context, target, login)
	if err != nil {
		return err
	}
	found, problems, err := store.FoundBy(cmd.c.Context, target, login, kept)
	if err != nil {
		problems = append(problems, fmt.Sprintf("finding the credentials: %v", err))
	}
	return cmd.out.LoggedIn(report.LoggedIn{
		Registry: target.String(), Username: login.Username, File: kept.File, Helper: kept.Helper, Encrypted: kept.Helper != "",
		Checked: checked, FoundBy: append([]string{}, found...), Problems: problems,
	})
}

// credentialStore returns the credential store for a CLI configuration.
func credentialStore(config cliconfig.Config) (*credentials.Store, error) {
	store, err := credentials.NewStore(config, credentials.SystemEnvironment())
	return store, misuse(err)
}

// loginTarget parses REGISTRY.
func loginTarget(c *cli.Context) (credentials.Prefix, error) {
	if !c.Args().Present() {
		return credentials.Prefix{}, usagef("missing REGISTRY, such as ghcr.io; see tofu-oci %s --help", c.Command.Name)
	}
	target, err := credentials.ParsePrefix(c.Args().First())
	return target, misuse(err)
}

// checkLogin checks whether a registry accepts credentials. It returns false if the
// registry does not request credentials.
func (cmd *command) checkLogin(ctx context.Context, target credentials.Prefix, login credentials.Credential) (checked bool, err error) {
	o := cmd.repos
	o.Credential = func(context.Context, string) (repository.Credential, error) {
		return repository.Credential{Username: login.Username, Password: login.Password.Reveal()}, nil
	}
	checked, err = repository.CheckCredentials(ctx, target.Registry, o)
	if errors.Is(err, provider.ErrForbidden) {
		err = explain.WithHint(err, explain.LoginHint(target.Registry)+"; nothing was written")
	}
	return checked, err
}

// readLogin reads the user name and the password from flags, stdin, or the terminal.
func readLogin(c *cli.Context, target credentials.Prefix) (credentials.Credential, error) {
	terminal, _ := c.App.Reader.(*os.File)
	if terminal != nil && !term.IsTerminal(int(terminal.Fd())) {
		terminal = nil
	}
	prompt := func(label string, hidden bool) (string, error) {
		return commandline.Prompt(c.Context, terminal, c.App.ErrWriter, report.Printable(label), hidden)
	}
	name := c.String("username")
	var err error
	switch {
	case terminal == nil && !c.Bool("password-stdin"):
		return credentials.Credential{}, usagef("stdin is not a terminal; use --username NAME and pipe the password to --password-stdin")
	case name == "" && c.Bool("password-stdin"):
		return credentials.Credential{}, usagef("missing --username; if the registry only checks a token, any name works")
	case name == "":
		if name, err = prompt(fmt.Sprintf("User name for %s: ", target), false); err != nil {
			return credentials.Credential{}, err
		}
	}
	if strings.ContainsFunc(name, unicode.IsControl) || strings.Contains(name, ":") { // don't print the name, because it can contain a password
		return credentials.Credential{}, usagef("invalid --username: want a name without colons or control characters; use --password-stdin for the password")
	}
	var password string
	if terminal != nil {
		password, err = prompt(fmt.Sprintf("Password for %s at %s: ", name, target), true)
	} else {
		password, err = commandline.ReadPassword(c.App.Reader)
	}
	return credentials.Credential{Username: name, Password: text.NewSecret(password)}, err
}
