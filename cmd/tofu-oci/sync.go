package main

import (
	"cmp"
	"errors"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/outcome"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// defaultDeclaration is the declaration that sync commands read if no argument
// specifies one.
const defaultDeclaration = "mirror.hcl"

func syncCommand() *cli.Command {
	return &cli.Command{Name: "sync", Subcommands: []*cli.Command{syncValidateCommand(), syncPlanCommand(), syncApplyCommand(), syncInitCommand(), syncReportCommand()}}
}

func syncPlanCommand() *cli.Command {
	return newCommand("plan", syncPlan, syncFlags(), []cli.Flag{
		&cli.StringFlag{Name: "plan-file", Category: commandline.GroupOutput, Usage: "write the plan to `FILE`, for sync apply"},
		&cli.BoolFlag{Name: "detailed-exitcode", Category: commandline.GroupOutput, Usage: "exit with code 10 if the plan contains changes"},
	}, networkFlags(), syncOutputFlags())
}

func syncApplyCommand() *cli.Command {
	return newCommand("apply", syncApply, syncFlags(), []cli.Flag{
		&cli.StringFlag{Name: "plan-file", Category: commandline.GroupOperation, Usage: "perform only the actions in the plan `FILE`"},
		missingRepositoryFlag(),
		&cli.StringFlag{Name: "result-file", Category: commandline.GroupOutput, Usage: "write the result to `FILE`, for sync report"},
		textfileFlag(),
	}, transferFlags(), networkFlags(), syncOutputFlags())
}

// syncFlags returns the flags of sync plan and sync apply.
func syncFlags() []cli.Flag {
	level := checkLevelFlag("check existing versions: `LEVEL` is tags, index, manifests, blobs, or deep").(*cli.StringFlag)
	level.Value = repository.DepthIndex.String()
	return []cli.Flag{
		&cli.StringFlag{Name: "shard", Category: commandline.GroupSelection, Usage: "select only the providers in shard `I/N`, auto/N (in a Kubernetes Indexed Job), or auto (in a GitLab parallel job)"},
		level,
	}
}

func syncOutputFlags() []cli.Flag {
	return []cli.Flag{outputFlag("print `FORMAT`: text, json, or markdown"), quietFlag()}
}

func textfileFlag() cli.Flag {
	return &cli.StringFlag{Name: "textfile", Category: commandline.GroupOutput, Usage: "write metrics to `FILE` for the Prometheus node exporter"}
}

// readDeclaration reads the declaration that --declaration or the argument specifies.
func readDeclaration(c *cli.Context) (*sync.Declaration, error) {
	if path := c.String("declaration"); path != "" {
		return readDeclarationFrom(path)
	}
	return readDeclarationFrom(cmp.Or(c.Args().First(), defaultDeclaration))
}

func readDeclarationFrom(path string) (*sync.Declaration, error) {
	d, err := sync.Read(path, os.LookupEnv)
	if err == nil {
		return d, nil
	}
	if err = usagef("reading the declaration: %w", err); errors.Is(err, os.ErrNotExist) {
		err = explain.WithHint(err, "create a declaration with tofu-oci sync init")
	}
	return nil, err
}

// syncOptions returns the options for commands that use a declaration. The caller must
// call done at the end.
func syncOptions(cmd *command, isStored bool) (o sync.Options, done func(), err error) {
	if o.Declaration, err = readDeclaration(cmd.c); err != nil {
		return o, nil, err
	}
	if o.Policy, o.Trust, err = o.Declaration.Policy(os.Getenv); err != nil {
		return o, nil, misuse(err)
	}
	if o.Shard, err = sync.ParseShard(cmd.c.String("shard"), os.Getenv); err != nil {
		return o, nil, flagError("shard", err)
	}
	if err := cmd.prepare(); err != nil {
		return o, nil, err
	}
	o.Check, o.Open = cmd.publishing.Check, cmd.openTarget
	o.Publisher = &publish.Publisher{Concurrency: cmd.concurrency, Progress: cmd.out.Progress()}
	modules, publishing := cmd.moduleOrigin(0), cmd.moduleMirrorOptions()
	from, reading := modules, module.DependencyOptions{Open: publishing.Open}
	if isStored {
		from, reading.Stored = nil, cmd.declaredModules(o.Declaration)
	}
	o.Wanted, o.Problems = cmd.declaredProviders(o.Declaration, func(dirs []string, failed func(string, error)) (_ *module.Dependencies, err error) {
		reading.OnError = failed
		publishing.Dependencies, err = module.FindDependencies(cmd.c.Context, from, dirs, reading)
		for _, call := range publishing.Dependencies.MissingCalls() {
			failed(call.Root, &module.MissingError{Calls: []module.MissingCall{call}})
		}
		return publishing.Dependencies, err
	})
	if slices.ContainsFunc(o.Wanted, func(w sync.Wanted) bool { return w.Settings.Attestations != "" }) {
		if cmd.github, err = origin.GitHubFromEnv(os.Getenv); err != nil {
			publishing.Dependencies.Close()
			return o, nil, err
		}
	}
	o.Source = source.NewMemo(cmd.origin(), 0)
	o.Modules = modules
	var dependencies *module.Dependencies
	o, err = o.WithDependencies(cmd.c.Context, isStored, func(of []module.Requirement, failed func(error)) (_ *module.Dependencies, err error) {
		reading.OnError = func(_ string, err error) { failed(err) }
		dependencies, err = module.FindVersionDependencies(cmd.c.Context, from, of, reading)
		for _, call := range dependencies.MissingCalls() {
			failed(&module.MissingError{Calls: []module.MissingCall{call}})
		}
		return dependencies, err
	})
	done = func() { publishing.Dependencies.Close(); dependencies.Close() }
	if err != nil {
		done()
		return o, nil, err
	}
	if publishing.Dependencies == nil {
		publishing.Dependencies = dependencies // its packages aren't fetched again
	}
	o.PublishModule = publishing.PublishFunc(modules)
	return o, done, nil
}

// declaredModules returns a function that opens a module's repository in its first
// target.
func (cmd *command) declaredModules(d *sync.Declaration) func(module.Address) (repository.Reader, error) {
	return func(a module.Address) (repository.Reader, error) {
		ref, err := d.Import(provider.ModuleAddress(a.String()), trust.Policy{}, &publish.Options{})
		if err != nil {
			return nil, err
		}
		return cmd.open(ref)
	}
}

// declaredProviders returns the providers that a declaration selects. If it selects
// none, declaredProviders prints a warning.
func (cmd *command) declaredProviders(d *sync.Declaration, dependencies sync.RootDependencies) (wanted []sync.Wanted, problems []error) {
	if wanted, problems = d.Wanted(cmd.c.Context, dependencies); len(wanted)+len(problems)+len(d.Roots) == 0 {
		cmd.out.Warn(`no provider is selected, because a pattern such as "hashicorp/*" only sets policies; add a block with an address, or set sources, lock_files, or roots`)
	}
	return wanted, problems
}

func syncPlan(cmd *command) error {
	o, closeRoots, err := syncOptions(cmd, false)
	if err != nil {
		return err
	}
	defer closeRoots()
	done := cmd.out.Step("planning %s", report.CountedWanted(o.Wanted))
	plan, err := sync.NewPlan(cmd.c.Context, o)
	done()
	if err != nil {
		return err
	}
	if file := cmd.c.String("plan-file"); file != "" {
		if err := plan.Write(file); err != nil {
			return flagError("plan-file", err)
		}
	}
	err = report.NewSync(cmd.out, plan).Planned(o.Problems)
	if err == nil && cmd.c.Bool("detailed-exitcode") && plan.HasChanges() {
		return &explain.ExitError{Code: explain.ExitChanges}
	}
	return err
}

func syncApply(cmd *command) error {
	o, closeRoots, err := syncOptions(cmd, false)
	if err != nil {
		return err
	}
	defer closeRoots()
	watch := watcher{command: cmd}
	if o.Shard.Count > 0 {
		cmd.out.Summary = "" // sync report writes the summary of all shards
	} else if err := watch.open(o.Declaration); err != nil {
		return err
	}
	return watch.finish(watch.applyPlan(o))
}

// applyPlan creates a plan and applies it.
func (w *watcher) applyPlan(o sync.Options) error {
	w.result = report.NewSync(w.out, &sync.Plan{Declaration: sync.PlannedFile{Path: o.Declaration.Path, Digest: o.Declaration.Digest}}) // the result if planning fails
	plan, err := sync.NewPlan(w.c.Context, o)
	if file := w.c.String("plan-file"); file != "" && err == nil {
		var approved *sync.Plan
		if approved, err = sync.ReadPlan(file); err != nil {
			return flagError("plan-file", err)
		}
		err = plan.Restrict(approved)
	}
	if err != nil {
		return err
	}
	w.result = report.NewSync(w.out, plan)
	err = plan.Apply(w.c.Context, w.result.Watch(o))
	if err == nil {
		w.noteMirroredModules(o, plan)
	}
	result := w.result.Document
	if w.c.IsSet("textfile") || w.c.IsSet("result-file") {
		result.Summary.Newest = sync.Newest(w.c.Context, o)
	}
	err = w.result.Finish(o.Problems, err)
	if file := w.c.String("result-file"); file != "" {
		err = errors.Join(err, result.Write(file)) // the error contains the path
	}
	return err
}

// noteMirroredModules prints the modules that the mirror lacks although mirrored
// modules call them. It skips modules whose dependencies the declaration includes.
func (cmd *command) noteMirroredModules(o sync.Options, plan *sync.Plan) {
	var mirrored []module.Requirement
	for _, a := range plan.Actions {
		if a.Kind != sync.Mirror || !(sync.Wanted{Address: a.Provider}).IsModule() || o.Declaration.Settings(a.Provider).Dependencies {
			continue
		}
		mirrored = append(mirrored, module.Requirement{Address: module.FromRegistry(a.Provider), Constraint: provider.ExactConstraint(a.Version)})
	}
	cmd.noteMissingModules(newestOf(mirrored), cmd.declaredModules(o.Declaration), "dependencies = true")
}

// watcher sends the notification of a run and writes its metrics.
type watcher struct {
	*command
	result *report.Sync
	// hook is nil if no notifications are sent.
	hook *outcome.Webhook
}

// open reads the URL of the declaration's webhook.
func (w *watcher) open(d *sync.Declaration) error {
	if d.Notify == nil {
		return nil
	}
	hook, err := outcome.NewWebhook(d.Notify.URLEnv, os.Getenv(d.Notify.URLEnv), d.Notify.Format)
	w.hook = &hook
	return err
}

// finish writes the metrics and sends the notification of a run that ended with err. It
// returns err, joined with the error from writing the metrics.
func (w *watcher) finish(err error) error {
	code := explain.ExitCode(w.c.Context, err)
	if file := w.c.String("textfile"); file != "" {
		err = errors.Join(err, w.result.Document.Metrics(code).WriteTextfile(file)) // the error contains the path
	}
	if text := w.result.Message(code, err); w.hook != nil && text != "" && w.c.Context.Err() == nil {
		o := outcome.SendOptions{CAFile: w.c.String("ca-file"), UserAgent: "tofu-oci/" + thisBuild().Version}
		if failed := w.hook.Send(w.c.Context, text, w.result.Document.Summary, o); failed != nil {
			w.out.Warn("%v", failed)
		}
	}
	return err
}
