package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "explain how a provider is found, and what OpenTofu itself would do",
		ArgsUsage: "[PROVIDER] [--from REPO | --to REPO] [FLAG...]",
		Description: strings.TrimSpace(`
Says which files of the CLI configuration were read, which installation method
is for the provider and why others are not, the repository, tag, digest and zip
that it leads to, where the login comes from, and what the registry replied.
Then it names what is wrong, and what OpenTofu would not do as tofu-oci does,
each with what to write or to run. It changes nothing, shows no secrets, and
asks OCI registries only, not origin registries. It ends with exit code 1 when
a finding is an error.

With --from or --to it looks at that repository, whatever the CLI configuration
says and also without any; of --to no release need be there. --push asks whether
this login may push there: it begins an upload and cancels it, so that nothing
is left behind, but for a repository that some registries make at once.

Without PROVIDER, --from or --to says whether the template is right, the registry
answers, and takes the login that there is for it; where the template has no
{variables}, also whether the repository can be read. Of image layouts it reads
all that the template has, but for their zips. It says what it did not check.

Examples:
   tofu-oci doctor --to ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci doctor hashicorp/aws --to ghcr.io/acme/providers/{namespace}/{type} --push
   tofu-oci doctor hashicorp/aws
   tofu-oci doctor 'hashicorp/aws@~> 5.0' --lock-file .terraform.lock.hcl
   tofu-oci doctor hashicorp/null --platform linux_arm64 --output json`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "look in the repository that the template `REPO` names, as pull --from does"},
			&cli.StringFlag{Name: "to", Usage: "look at the repository that the template `REPO` names, as mirror --to does"},
			&cli.BoolFlag{Name: "push", Usage: "with --from or --to: ask whether this login may push there"},
			&cli.StringFlag{Name: "lock-file", Usage: "compare with the dependency lock `FILE`, and go by the version that it has"},
			&cli.StringFlag{Name: "platform", Usage: "look for the package of `PLATFORM` (default: this machine's)"},
			aliasFlag(),
		}, networkFlags(), outputFlags()),
		Action: printing(diagnose),
	}
}

func diagnose(c *cli.Context, out *report.Report) error {
	o := doctor.Options{PlainHTTP: c.StringSlice("plain-http")}
	if file := c.String("ca-file"); os.Getenv("SSL_CERT_FILE") == "" {
		o.CAFile = file
	}
	err := subject(c, out, &o)
	if err == nil {
		err = examined(c, &o)
	}
	if err != nil {
		return err
	}
	// 1. The configuration. Where it is malformed there is nothing to go by.
	o.Files, o.Config, err = readConfiguration(c.String("config"))
	out.Debug.Configuration(o.Files)
	if err != nil {
		findings, ok := doctor.CheckSyntax(err)
		if !ok {
			return ofConfig(c, err)
		}
		report := doctor.Facts(o.Files)
		report.Findings = findings
		if o.Wanted.Address != (provider.Address{}) {
			report.Source, report.Platform = o.Wanted.String(), o.Platform.String()
		}
		return out.Doctor(report)
	}
	// 2. The lock file.
	if file := c.String("lock-file"); file != "" {
		locks, err := lockfile.Read(file)
		if err != nil {
			return usagef("--lock-file: %w", err)
		}
		if locked, ok := locks.Selection(o.Wanted.Address); ok {
			o.Lock = &locked
		}
	}
	// 3. All else is the library's.
	if err := surroundings(c, out, &o); err != nil {
		return err
	}
	report, err := doctor.Examine(c.Context, o)
	if err != nil {
		return err
	}
	return out.Doctor(report)
}

// subject reads PROVIDER and --platform. Without PROVIDER there has to be a place to
// look at.
func subject(c *cli.Context, out *report.Report, o *doctor.Options) error {
	if !c.Args().Present() && (c.IsSet("from") || c.IsSet("to")) {
		return nil
	}
	wanted, err := requirements(c, out)
	if err != nil {
		return err
	}
	if len(wanted) > 1 {
		return usagef("doctor takes one PROVIDER, not %d", len(wanted))
	}
	o.Wanted, o.Platform = wanted[0], provider.CurrentPlatform()
	if text := c.String("platform"); text != "" {
		o.Platform, err = parsePlatform(text)
	}
	return err
}

// examined reads --from, --to and --push.
func examined(c *cli.Context, o *doctor.Options) error {
	from, to := c.IsSet("from"), c.IsSet("to")
	o.IsTarget, o.Push = to, c.Bool("push")
	flag := "from"
	switch {
	case to:
		flag = "to"
	case !from:
		return nil
	}
	t, err := repositoryTemplate(c, flag)
	o.Template = &t
	return err
}

// surroundings sets what an examination asks.
func surroundings(c *cli.Context, out *report.Report, o *doctor.Options) error {
	cmd := &command{}
	err := cmd.connectAs(c, out, o.Config)
	if err != nil {
		return err
	}
	o.Aliases = cmd.aliases
	if o.Installation, err = cmd.installed(); err != nil {
		return err
	}
	finder := credentials.New(o.Config, credentials.SystemEnvironment())
	open := func(options repository.Options) func(template.Reference) (repository.Reader, error) {
		return func(ref template.Reference) (repository.Reader, error) { return repository.Open(ref, options) }
	}
	anonymous := cmd.repos
	anonymous.Credential = nil
	o.Repository, o.Anonymous = open(cmd.repos), open(anonymous)
	o.Login = func(ctx context.Context, name string) doctor.Login { return doctor.FindLogin(ctx, finder, name) }
	o.Registry = cmd.takesLogin
	return nil
}

// takesLogin asks a registry whether it takes the login that there is for what is below
// a reference.
func (cmd *command) takesLogin(ctx context.Context, at template.Reference) (asked bool, err error) {
	options := cmd.repos
	options.Credential = func(ctx context.Context, _ string) (repository.Credential, error) {
		return cmd.repos.Credential(ctx, at.Registry+"/"+at.Name)
	}
	return repository.CheckCredentials(ctx, at.Registry, options)
}
