package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
	return &cli.Command{
		Name:      commandline.Login,
		Usage:     "log in to an OCI registry, for tofu-oci, OpenTofu and Docker alike",
		ArgsUsage: "REGISTRY [--username NAME] [--password-stdin] [FLAG...]",
		Description: strings.TrimSpace(`
Asks the registry whether it takes the login, and then keeps it where Docker and
OpenTofu both look: in ~/.docker/config.json, or config.json in $DOCKER_CONFIG.
Where that file names a credential helper for the registry (credHelpers,
credsStore), the helper gets it, by the names that Docker and OpenTofu ask for;
else it is in the file, readable for its owner and not encrypted. All else in the
file stays as it is. The last line says which programs will find the login.

REGISTRY is HOST or HOST:PORT, and HOST/PATH for the repositories below a path,
which OpenTofu and Podman tell apart, and Docker does not. docker.io is Docker Hub.

The password is asked for at a terminal; elsewhere it comes by --password-stdin,
less the end of its line. Most registries want an access token in its place.

Examples:
   # at a terminal
   tofu-oci login registry.example.com --username jane

   # GitHub
   echo "$TOKEN" | tofu-oci login ghcr.io --username jane --password-stdin

   # Amazon ECR
   aws ecr get-login-password | tofu-oci login --username AWS --password-stdin \
      123456789012.dkr.ecr.eu-central-1.amazonaws.com`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "username", Aliases: []string{"u"}, Usage: "log in as `NAME` (default: asked for at a terminal)"},
			&cli.BoolFlag{Name: "password-stdin", Usage: "read the password from stdin"},
		}, networkFlags(), outputFlags()),
		Action: printing(loginAction),
	}
}

func loginAction(c *cli.Context, out *report.Report) error {
	// 1. Where it is for, and where it will be.
	target, err := loginTarget(c)
	if err != nil {
		return err
	}
	cmd, err := connect(c, out)
	if err != nil {
		return err
	}
	keeper, err := loginKeeper(cmd.config)
	if err != nil {
		return err
	}
	if _, err := keeper.Locate(target); err != nil {
		return err
	}

	// 2. Whose it is.
	login, err := readLogin(c, target)
	if err != nil {
		return err
	}

	// 3. The registry takes it.
	asked, err := cmd.checkLogin(c.Context, target, login)
	if err != nil {
		return err
	}
	if !asked {
		out.Warn("%s asks nobody for a login before it is needed, so that this one could not be checked", target)
	}

	// 4. It is kept, and somebody finds it.
	kept, err := keeper.Save(c.Context, target, login)
	if err != nil {
		return err
	}
	found, problems, err := keeper.FoundBy(c.Context, target, login, kept)
	if err != nil {
		problems = append(problems, fmt.Sprintf("looking for the login: %v", err))
	}
	return out.LoggedIn(report.LoggedIn{
		Registry: target.String(), Username: login.Username, File: kept.File, Helper: kept.Helper, Encrypted: kept.Helper != "",
		Checked: asked, FoundBy: append([]string{}, found...), Problems: problems,
	})
}

// loginKeeper keeps logins where a CLI configuration has them looked for.
func loginKeeper(config cliconfig.Config) (*credentials.Store, error) {
	keeper, err := credentials.NewStore(config, credentials.SystemEnvironment())
	if err != nil {
		return nil, usagef("%w", err)
	}
	return keeper, nil
}

// loginTarget reads REGISTRY.
func loginTarget(c *cli.Context) (credentials.Prefix, error) {
	switch c.Args().Len() {
	case 0:
		return credentials.Prefix{}, usagef("name the REGISTRY, such as ghcr.io; see tofu-oci %s --help", c.Command.Name)
	case 1:
	default: // one of them may be a password
		return credentials.Prefix{}, usagef("%s takes one REGISTRY, and there are %d arguments; see tofu-oci %[1]s --help", c.Command.Name, c.Args().Len())
	}
	target, err := credentials.ParsePrefix(c.Args().First())
	if err != nil {
		return target, usagef("%w", err)
	}
	return target, nil
}

// checkLogin asks a registry whether it takes a login.
func (cmd *command) checkLogin(ctx context.Context, target credentials.Prefix, login credentials.Credential) (asked bool, err error) {
	o := cmd.repos
	o.Credential = func(context.Context, string) (repository.Credential, error) {
		return repository.Credential{Username: login.Username, Password: login.Password.Reveal()}, nil
	}
	asked, err = repository.CheckCredentials(ctx, target.Registry, o)
	if errors.Is(err, provider.ErrDenied) {
		err = explain.WithHint(err, explain.LoginHint(target.Registry)+"; nothing was written")
	}
	return asked, err
}

// readLogin reads the user name and the password, from flags, stdin and a terminal.
func readLogin(c *cli.Context, target credentials.Prefix) (credentials.Credential, error) {
	terminal, _ := c.App.Reader.(*os.File)
	if terminal != nil && !term.IsTerminal(int(terminal.Fd())) {
		terminal = nil
	}
	ask := func(question string, hidden bool) (string, error) {
		return commandline.Ask(c.Context, terminal, c.App.ErrWriter, report.Printable(question), hidden)
	}
	name := c.String("username")
	var err error
	switch {
	case terminal == nil && !c.Bool("password-stdin"):
		return credentials.Credential{}, usagef("there is no terminal to ask at: name the user with --username, and pipe the password into --password-stdin")
	case name == "" && c.Bool("password-stdin"):
		return credentials.Credential{}, usagef("--username is missing: name whose login it is; where only a token counts any name will do")
	case name == "":
		if name, err = ask(fmt.Sprintf("User name for %s: ", target), false); err != nil {
			return credentials.Credential{}, err
		}
	}
	if strings.ContainsFunc(name, unicode.IsControl) || strings.Contains(name, ":") { // and perhaps a password
		return credentials.Credential{}, usagef("--username: a name has no colon, which separates it from the password, and no control characters; the password comes by --password-stdin")
	}
	var password string
	if terminal != nil {
		password, err = ask(fmt.Sprintf("Password of %s for %s: ", name, target), true)
	} else {
		password, err = commandline.ReadPassword(c.App.Reader)
	}
	return credentials.Credential{Username: name, Password: text.NewSecret(password)}, err
}
