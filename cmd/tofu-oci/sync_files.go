package main

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func syncValidateCommand() *cli.Command {
	return newCommand("validate", syncValidate, []cli.Flag{
		&cli.StringFlag{Name: "explain", Category: commandline.GroupSelection, Usage: "show the settings for `PROVIDER` or a module"},
		&cli.BoolFlag{Name: "probe", Category: commandline.GroupOperation, Usage: "push temporary artifacts to find out what the targets' registries support"},
		outputFlag("print `FORMAT`: text or json"), quietFlag(),
	}, networkFlags())
}

func syncValidate(cmd *command) error {
	d, err := readDeclaration(cmd.c)
	if err != nil {
		return err
	}
	_, _, wrongTrust := d.Policy(os.Getenv)
	wanted, problems := cmd.declaredProviders(d, func([]string, func(string, error)) (*module.Dependencies, error) { return &module.Dependencies{}, nil })
	if err := errors.Join(misuse(wrongTrust), d.CheckRepositories(wanted)); err != nil {
		return errors.Join(append([]error{err}, problems...)...)
	}
	if !cmd.c.IsSet("explain") {
		probes, err := cmd.probeTargets(d, wanted)
		if err != nil {
			return err
		}
		return cmd.out.Declared(d, wanted, nil, probes, problems)
	}
	if cmd.c.Bool("probe") {
		return usagef("--probe cannot be combined with --explain")
	}
	var a provider.Address
	if err := parse(cmd.c, "explain", &a, sync.ParseAddress); err != nil {
		return err
	}
	if wanted = slices.DeleteFunc(wanted, func(w sync.Wanted) bool { return w.Address != a }); len(wanted) == 0 {
		wanted = []sync.Wanted{{Address: a}} // the declaration doesn't select the provider
	}
	return cmd.out.Declared(d, wanted, d.Explain(a), nil, problems)
}

// probeTargets probes a repository of each target if --probe is set.
func (cmd *command) probeTargets(d *sync.Declaration, wanted []sync.Wanted) (all []report.ProbedTarget, err error) {
	if !cmd.c.Bool("probe") {
		return nil, nil
	}
	samples, err := d.SampleRepositories(wanted)
	if err == nil {
		err = cmd.connect()
	}
	if err != nil {
		return nil, err
	}
	for _, s := range samples {
		t := report.ProbedTarget{Target: s.Target}
		switch {
		case s.Repository.IsLayout():
			t.Skipped = "image layouts have no registry"
		case s.Repository == (template.Reference{}):
			t.Skipped = "the declaration selects no provider for this target"
		default:
			repo, err := cmd.openTarget(s.Repository)
			if err != nil {
				return nil, err
			}
			done := cmd.out.Step("probing target %s", s.Target)
			p, err := doctor.RunProbe(cmd.c.Context, repo)
			done()
			if err != nil {
				cmd.warnLeft(&p)
				return nil, err
			}
			t.Probe, t.Findings = &p, p.Findings()
		}
		all = append(all, t)
	}
	return all, nil
}

func syncReportCommand() *cli.Command {
	return newCommand("report", syncReport, []cli.Flag{
		&cli.StringFlag{Name: "declaration", Category: commandline.GroupSelection, Usage: "read the declaration from `FILE` (default: the path in the results)"},
		&cli.StringFlag{Name: "ca-file", Category: commandline.GroupNetwork, Usage: "also trust the CA certificates in `FILE` (PEM)"},
		&cli.StringFlag{Name: "max-age", Category: commandline.GroupSelection, Usage: "reject results older than `DURATION`, such as 8h"},
		textfileFlag(),
	}, syncOutputFlags())
}

func syncReport(cmd *command) error {
	if !cmd.c.Args().Present() {
		return usagef("missing FILE: specify files that sync apply --result-file wrote")
	}
	var limit time.Duration
	if err := parseSet(cmd.c, "max-age", &limit, text.ParseAge); err != nil {
		return err
	}
	all, problems, err := outcome.Merge(cmd.c.Args().Slice(), limit)
	if err != nil {
		return err
	}
	declared := &all.Summary.Declaration
	path := cmp.Or(cmd.c.String("declaration"), declared.Path)
	if path == "" { // no results could be read
		return usagef("reading the results: %w", errors.Join(problems...))
	}
	d, err := readDeclarationFrom(path)
	if err != nil {
		return err
	}
	if d.Digest != cmp.Or(declared.Digest, d.Digest) {
		return provider.Errorf(provider.Conflict, "%s differs from the declaration that produced the results", d.Path)
	}
	declared.Path, declared.Digest = cmp.Or(declared.Path, d.Path), d.Digest
	cmd.out.Summary = os.Getenv("GITHUB_STEP_SUMMARY")
	watch := watcher{command: cmd, result: report.NewSync(cmd.out, &sync.Plan{})}
	if err := watch.open(d); err != nil {
		return err
	}
	return watch.finish(watch.result.Merged(all, problems))
}
