package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/logins"
	"github.com/tofu-oci/tofu-oci/pkg/doctor"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "explain how a provider is found, and what OpenTofu itself would do",
		ArgsUsage: "PROVIDER [FLAG...]",
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

Examples:
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

func diagnose(c *cli.Context, out *output) error {
	wanted, err := requirements(c, out)
	if err != nil {
		return err
	}
	if len(wanted) > 1 {
		return usagef("doctor takes one PROVIDER, not %d", len(wanted))
	}
	o := doctor.Options{Wanted: wanted[0], Platform: provider.CurrentPlatform(), PlainHTTP: c.StringSlice("plain-http")}
	if text := c.String("platform"); text != "" {
		if o.Platform, err = parsePlatform(text); err != nil {
			return err
		}
	}
	if file := c.String("ca-file"); os.Getenv("SSL_CERT_FILE") == "" {
		o.CAFile = file
	}
	if err := examined(c, &o); err != nil {
		return err
	}
	// 1. The configuration. Where it is malformed there is nothing to go by.
	o.Files, o.Config, err = readConfiguration(c.String("config"))
	out.debug.configuration(o.Files)
	if err != nil {
		findings, ok := doctor.CheckSyntax(err)
		if !ok {
			return err
		}
		report := doctor.Facts(o.Files)
		report.Source, report.Platform, report.Findings = o.Wanted.String(), o.Platform.String(), findings
		return out.report(report)
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
	return out.report(report)
}

// examined reads --from, --to and --push.
func examined(c *cli.Context, o *doctor.Options) error {
	from, to := c.IsSet("from"), c.IsSet("to")
	o.Target, o.Push = to, c.Bool("push")
	flag := "from"
	switch {
	case from && to:
		return usagef("--from and --to name one place each: look at one after the other")
	case o.Push && !from && !to:
		return usagef("--push asks about the repository of --from or --to: name it")
	case to:
		flag = "to"
	case !from:
		return nil
	}
	t, err := repositoryTemplate(c, flag)
	o.At = &t
	return err
}

// surroundings gives an examination what it asks.
func surroundings(c *cli.Context, out *output, o *doctor.Options) error {
	conn, err := connectAs(c, out, o.Config)
	if err != nil {
		return err
	}
	o.Aliases = conn.aliases
	if o.Installation, err = conn.installed(); err != nil {
		return err
	}
	finder, err := logins.New(loginRules(o.Config), logins.SystemEnvironment())
	if err != nil {
		return &usage{err}
	}
	open := func(options repository.Options) func(template.Reference) (repository.Reader, error) {
		return func(ref template.Reference) (repository.Reader, error) { return repository.Open(ref, options) }
	}
	anonymous := conn.repos
	anonymous.Credential = nil
	o.Repository, o.Anonymous = open(conn.repos), open(anonymous)
	o.Login = func(ctx context.Context, name string) doctor.Login {
		return describeLogin(ctx, finder, name)
	}
	return nil
}

// describeLogin tells about a login, and leaves the secret behind.
func describeLogin(ctx context.Context, finder *logins.Finder, name string) doctor.Login {
	found, origin, err := finder.Find(ctx, name)
	l := doctor.Login{
		Found: !found.IsAnonymous(), Source: origin.String(), OpenTofu: origin.OpenTofu, Why: origin.Why, Helper: origin.Helper,
		Fault: origin.Stops, Err: err,
	}
	if broken, ok := errors.AsType[*logins.FileError](err); ok {
		l.Fault = broken.Path
	}
	for _, p := range finder.Places() {
		if p.Variable && p.Path == origin.File {
			l.Helper = "" // whatever it knows, OpenTofu does not learn that it is there
		}
		if !p.Exists || p.Variable {
			continue // what is no file can't be named to OpenTofu
		}
		l.Files = append(l.Files, p.Path)
		l.Unread = l.Unread || p.Path == origin.File && !p.OpenTofu
	}
	return l
}

// report prints a report. It ends in an error, which says nothing more, when a
// finding is one.
func (o *output) report(r doctor.Report) error {
	if o.json {
		if err := o.printDocument(documentDoctor, r); err != nil {
			return err
		}
	} else if _, err := io.WriteString(o.stdout, printable(reportText(r)+findingsText(r.Findings))); err != nil {
		return err
	}
	return findingsResult(r.Findings)
}

func findingsResult(findings []doctor.Finding) error {
	if doctor.Failed(findings) {
		return &itemsError{exitFailed}
	}
	return nil
}

func reportText(r doctor.Report) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-11s %s\n", name, continued(value))
		}
	}
	row("source", r.Source)
	for _, f := range r.Files {
		state := "not read"
		if f.Read {
			state = "read"
		}
		row("file", fmt.Sprintf("%s: %s (%s)", f.Path, state, f.Why))
	}
	for _, m := range r.Methods {
		state := "not asked"
		if m.Asked {
			state = "asked"
		}
		row("method", fmt.Sprintf("%s: %s (%s)", m.Method, state, m.Why))
	}
	row("platform", r.Platform)
	row("repository", r.Repository)
	if l := r.Login; l != nil {
		text := l.Source
		if l.Found && l.OpenTofu {
			text += ", which OpenTofu finds too"
		} else if l.Found {
			text += ", which OpenTofu does not find"
		}
		row("login", text)
	}
	row("answer", r.Answer)
	row("version", r.Version)
	row("tag", r.Tag)
	row("digest", r.Digest)
	row("zip", r.Zip)
	row("push", r.Push)
	if r.Referrers != nil {
		row("referrers", map[bool]string{true: "the registry has the referrers API", false: "the registry has no referrers API; a tag stands for it"}[*r.Referrers])
	}
	return b.String()
}

// findingsText lists findings with their remedies indented below.
func findingsText(findings []doctor.Finding) string {
	if len(findings) == 0 {
		return "no findings\n"
	}
	var b strings.Builder
	for _, f := range findings {
		b.WriteString(findingText(f))
	}
	return b.String()
}

func findingText(f doctor.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s [%s]\n", f.Severity, continued(f.Problem), f.Code)
	b.WriteString(indented(f.Remedy))
	return b.String()
}

// indented sets the lines of a remedy apart.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		b.WriteString("  " + line)
	}
	return b.String()
}
