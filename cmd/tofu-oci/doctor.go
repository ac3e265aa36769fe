package main

import (
	"context"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func doctorCommand() *cli.Command {
	return newCommand("doctor", doctorAction, []cli.Flag{
		fromFlag("examine `REPO` as the source of an installation"),
		toFlag("examine `REPO` as the target of a push"),
		&cli.StringFlag{Name: "lock-file", Category: commandline.GroupSelection, Usage: "compare with the lock file `FILE`"},
		&cli.StringFlag{Name: "platform", Category: commandline.GroupSelection, Usage: "examine packages for `OS_ARCH` (default: the current platform)"},
		aliasFlag(),
		&cli.BoolFlag{Name: "probe", Category: commandline.GroupOperation, Usage: "push a temporary artifact to find out what the registry supports"},
	}, networkFlags(), outputFlags())
}

func doctorAction(cmd *command) error {
	o := doctor.Options{PlainHTTP: cmd.c.StringSlice("plain-http")}
	if file := cmd.c.String("ca-file"); os.Getenv("SSL_CERT_FILE") == "" {
		o.CAFile = file
	}
	err := doctorProvider(cmd, &o)
	if err == nil {
		err = doctorTemplate(cmd.c, &o)
	}
	if err != nil {
		return err
	}
	// 1. Read the configuration. If it is malformed, nothing else can be checked.
	o.Files, o.Config, err = readConfiguration(cmd.c.String("config"))
	cmd.out.Debug.Configuration(o.Files)
	if err != nil {
		findings, ok := doctor.CheckSyntax(err)
		if !ok {
			return configError(cmd.c, err)
		}
		report := doctor.ConfigReport(o.Files, findings)
		if o.Wanted.Address != (provider.Address{}) {
			report.Source, report.Platform = o.Wanted.String(), o.Platform.String()
		}
		return cmd.out.Doctor(report)
	}
	if !cmd.c.Args().Present() && o.Template == nil {
		return cmd.out.Doctor(doctor.ConfigReport(o.Files, doctor.CheckConfig(o.Config, o.Files)))
	}
	// 2. Read the lock file.
	if file := cmd.c.String("lock-file"); file != "" {
		locked, err := lock.ReadFile(cmd.c.Context, file, lock.ReadOptions{Requires: func(a provider.Address) bool { return a == o.Wanted.Address }})
		if err != nil {
			return flagError("lock-file", err)
		}
		if i := slices.IndexFunc(locked, func(s lockfile.Selection) bool { return s.Address == o.Wanted.Address }); i >= 0 {
			o.Lock = &locked[i]
		}
	}
	// 3. Examine the provider and its repository.
	if err := doctorConnections(cmd, &o); err != nil {
		return err
	}
	report, err := doctor.Examine(cmd.c.Context, o)
	if err != nil {
		cmd.warnLeft(report.Probe)
		return err
	}
	return cmd.out.Doctor(report)
}

// warnLeft prints a warning about content that an interrupted probe could not delete.
func (cmd *command) warnLeft(p *doctor.Probe) {
	if p == nil {
		return
	}
	if f, isLeft := p.Leftover(); isLeft {
		cmd.out.Warn("%s %s", f.Message, f.Hint)
	}
}

// doctorProvider parses PROVIDER and --platform. Without PROVIDER, the examination is
// limited to the repositories of --from or --to, or to the CLI configuration.
func doctorProvider(cmd *command, o *doctor.Options) error {
	if !cmd.c.Args().Present() {
		return nil
	}
	wanted, err := requiredProvider(cmd)
	if err != nil {
		return err
	}
	o.Wanted, o.Platform = wanted, provider.CurrentPlatform()
	if text := cmd.c.String("platform"); text != "" {
		o.Platform, err = parsePlatform(text)
	}
	return err
}

// doctorTemplate parses --from, --to, and --probe.
func doctorTemplate(c *cli.Context, o *doctor.Options) error {
	from, to := c.IsSet("from"), c.IsSet("to")
	o.IsTarget, o.Push = to, c.Bool("probe")
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

// doctorConnections sets the functions that connect to registries.
func doctorConnections(cmd *command, o *doctor.Options) error {
	err := cmd.connectWith(o.Config)
	if err != nil {
		return err
	}
	o.Aliases = cmd.aliases
	if o.Installation, err = cmd.installation(); err != nil {
		return err
	}
	resolver := credentials.New(o.Config, credentials.SystemEnvironment())
	open := func(options repository.Options) func(template.Reference) (repository.Reader, error) {
		return func(ref template.Reference) (repository.Reader, error) { return repository.Open(ref, options) }
	}
	anonymous := cmd.repos
	anonymous.Credential = nil
	o.Repository, o.Anonymous, o.Target = open(cmd.repos), open(anonymous), cmd.openTarget
	o.Login = func(ctx context.Context, name string) doctor.Login { return doctor.FindLogin(ctx, resolver, name) }
	o.Registry = cmd.checkStoredLogin
	o.HasClientCertificate = cmd.network.HasClientCertificate
	return nil
}

// checkStoredLogin checks whether a reference's registry accepts the stored
// credentials. It returns false if the registry does not request credentials.
func (cmd *command) checkStoredLogin(ctx context.Context, ref template.Reference) (checked bool, err error) {
	options := cmd.repos
	options.Credential = func(ctx context.Context, _ string) (repository.Credential, error) {
		return cmd.repos.Credential(ctx, ref.Registry+"/"+ref.Name)
	}
	return repository.CheckCredentials(ctx, ref.Registry, options)
}
