package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/catalog"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func fromFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "from", Category: commandline.GroupSelection, Usage: usage}
}

func toFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "to", Category: commandline.GroupSelection, Usage: usage}
}

func sourcesFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "sources", Category: commandline.GroupSelection, Usage: "read PROVIDERs from `FILE`; - is stdin"}
}

func lockFileFlag(usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: "lock-file", Category: commandline.GroupSelection, Usage: usage}
}

func terraformFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "terraform", Category: commandline.GroupOperation, Usage: usage}
}

func rootFlag(usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: "root", Category: commandline.GroupSelection, Usage: usage}
}

// isTree reports whether a value of --root has the form DIR/..., and returns DIR.
func isTree(root string) (dir string, is bool) {
	if root == "..." {
		return ".", true
	}
	return strings.CutSuffix(filepath.ToSlash(root), "/...")
}

// rootDirs returns the directories of the root modules that values of --root specify.
// DIR/... represents all root modules in and below DIR.
func rootDirs(c *cli.Context, roots []string) (dirs []string, err error) {
	var trees []string
	for _, root := range roots {
		if dir, is := isTree(root); is {
			trees = append(trees, dir)
		} else {
			dirs = append(dirs, filepath.Clean(root))
		}
	}
	if len(trees) == 0 {
		return dirs, nil
	}
	found, err := configuration.Roots(c.Context, configuration.FromEnvironment(os.Environ(), c.Bool("terraform")), trees...)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no configuration found in or below %s", strings.Join(trees, ", "))
	}
	for _, dir := range found {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, flagError("root", err)
}

func platformFlag(usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: "platform", Category: commandline.GroupSelection, Usage: usage}
}

// versionFlags returns the flags that select versions.
func versionFlags(versions string) []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "latest", Category: commandline.GroupSelection, Usage: "select the newest `N` " + versions},
		&cli.BoolFlag{Name: "all", Category: commandline.GroupSelection, Usage: "select all " + versions + " except pre-releases"},
	}
}

func aliasFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "alias", Category: commandline.GroupSelection, Usage: "`REQUESTED=STORED`: for REQUESTED, use releases stored under STORED"}
}

func dryRunFlag(usage string) cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Category: commandline.GroupOperation, Usage: usage}
}

func failFastFlag() cli.Flag {
	return &cli.BoolFlag{Name: "fail-fast", Category: commandline.GroupOperation, Usage: "don't start new items after the first failure"}
}

// requiredProviders returns the PROVIDERs on the command line and in the --sources
// files. Without any PROVIDER, it returns an error.
func requiredProviders(cmd *command) ([]provider.Requirement, error) {
	if !hasProviders(cmd.c) && !cmd.c.IsSet("root") {
		or := ""
		switch sources := commandline.FlagNamed(cmd.c.Command, "sources") != nil; {
		case sources && commandline.FlagNamed(cmd.c.Command, "lock-file") != nil:
			or = ", --sources FILE, or --lock-file FILE"
		case sources:
			or = ", or --sources FILE"
		}
		return nil, usagef("specify at least one PROVIDER, such as hashicorp/null%s; see tofu-oci %s --help", or, strings.TrimPrefix(cmd.c.Command.HelpName, "tofu-oci "))
	}
	return providers(cmd)
}

// requiredProvider is like requiredProviders, but requires exactly one PROVIDER.
func requiredProvider(cmd *command) (provider.Requirement, error) {
	wanted, err := requiredProviders(cmd)
	if err != nil {
		return provider.Requirement{}, err
	}
	if len(wanted) > 1 {
		return provider.Requirement{}, usagef("got %d arguments: want one PROVIDER", len(wanted))
	}
	return wanted[0], nil
}

// hasProviders reports whether PROVIDERs are specified as arguments or in a file.
func hasProviders(c *cli.Context) bool { return c.Args().Present() || c.IsSet("sources") }

// providers returns the PROVIDERs on the command line, followed by those in the
// --sources files. It omits duplicates.
func providers(cmd *command) ([]provider.Requirement, error) {
	var wanted []provider.Requirement
	places := map[string]string{}
	for _, arg := range cmd.c.Args().Slice() {
		r, err := parseRequirement(cmd.c, arg)
		if err != nil {
			return nil, misuse(err)
		}
		if len(wanted) > 0 && wanted[0].Address.IsModule() != r.Address.IsModule() {
			return nil, usagef("cannot combine providers and modules; run the command once for each")
		}
		wanted = append(wanted, r)
		places[r.String()] = "on the command line"
	}
	files := cmd.c.StringSlice("sources")
	if first := slices.Index(files, catalog.Stdin); first >= 0 && slices.Contains(files[first+1:], catalog.Stdin) {
		return nil, usagef("--sources - cannot be repeated")
	}
	for _, file := range files {
		listed, err := catalog.ReadSources(file, cmd.c.App.Reader)
		if err != nil {
			return nil, flagError("sources", err)
		}
		for _, s := range listed {
			if s.Err != nil {
				if err := cmd.unread("sources", s.Err); err != nil {
					return nil, err
				}
				continue
			}
			if place, duplicate := places[s.Requirement.String()]; duplicate {
				cmd.out.Note("%s: %s is already specified %s", s.Place, s.Requirement, place)
				continue
			}
			places[s.Requirement.String()] = "in " + s.Place
			wanted = append(wanted, s.Requirement)
		}
	}
	return wanted, nil
}

// unread reports an error about a file or line that a flag specifies. With --fail-fast,
// it returns the error instead.
func (cmd *command) unread(flag string, err error) error {
	if err = flagError(flag, err); cmd.c.Bool("fail-fast") {
		return err
	}
	cmd.out.Unread(err)
	return nil
}

func addresses(wanted []provider.Requirement) []provider.Address {
	var as []provider.Address
	for _, r := range wanted {
		as = append(as, r.Address)
	}
	return as
}

// repositoryTemplate parses --to or --from.
func repositoryTemplate(c *cli.Context, flag string) (t template.Template, err error) {
	if c.String(flag) == "" {
		return t, missingTemplate(flag)
	}
	err = parse(c, flag, &t, template.Parse)
	return t, err
}

func missingTemplate(flag string) error {
	return usagef("missing --%s: specify a repository template, such as --%s ghcr.io/acme/providers/{namespace}/{type} or --%s oci-layout:mirror/{namespace}/{type}", flag, flag, flag)
}

// platforms parses --platform.
func platforms(c *cli.Context) ([]provider.Platform, error) {
	var ps []provider.Platform
	for _, list := range c.StringSlice("platform") {
		for text := range strings.SplitSeq(list, ",") {
			p, err := parsePlatform(strings.TrimSpace(text))
			if err != nil {
				return nil, err
			}
			ps = append(ps, p)
		}
	}
	return provider.SortPlatforms(ps), nil
}

// parsePlatform parses OS_ARCH. It also accepts OS/ARCH, the notation of container tools.
func parsePlatform(s string) (provider.Platform, error) {
	p, err := provider.ParsePlatform(strings.Replace(s, "/", "_", 1))
	if system, arch, ok := text.Platform(s); ok && (err != nil || system != p.OS || strings.Contains(p.Arch, "_")) {
		return p, usagef("invalid --platform %q: want OS_ARCH; did you mean %s_%s?", s, system, arch)
	}
	return p, flagError("platform", err)
}

// latest returns the number of versions that --all or --latest selects per PROVIDER.
// Zero means all versions. If neither flag is set, it returns otherwise.
func latest(c *cli.Context, otherwise int) (int, error) {
	switch {
	case c.Bool("all"):
		return 0, nil
	case !c.IsSet("latest"):
		return otherwise, nil
	case c.Int("latest") < 1:
		return 0, usagef("invalid --latest %d: want at least 1", c.Int("latest"))
	}
	return c.Int("latest"), nil
}

// parse parses the value of a flag with parser and stores the result in *to.
func parse[T any](c *cli.Context, flag string, to *T, parser func(string) (T, error)) (err error) {
	*to, err = parser(c.String(flag))
	return flagError(flag, err)
}

// parseSet is like parse, but does nothing if the value is empty.
func parseSet[T any](c *cli.Context, flag string, to *T, parser func(string) (T, error)) error {
	if c.String(flag) == "" {
		return nil
	}
	return parse(c, flag, to, parser)
}

// parseAll is like parse, but appends all values of a repeatable flag to a list.
func parseAll[S ~[]T, T any](c *cli.Context, flag string, to *S, parser func(string) (T, error)) error {
	return flagError(flag, parseEach(c.StringSlice(flag), to, parser))
}

// parseEach parses values and appends them to a list.
func parseEach[S ~[]T, T any](values []string, to *S, parser func(string) (T, error)) error {
	for _, text := range values {
		value, err := parser(text)
		if err != nil {
			return err
		}
		*to = append(*to, value)
	}
	return nil
}

// flagError wraps err as an error about the value of a flag. If err is nil, flagError
// returns nil.
func flagError(flag string, err error) error {
	if err == nil {
		return nil
	}
	return usagef("--%s: %w", flag, err)
}

// misuse wraps err as an error about the command line or the configuration. If err is
// nil, misuse returns nil.
func misuse(err error) error {
	if err == nil {
		return nil
	}
	return usagef("%w", err)
}

// selection contains the releases that PROVIDERs and --lock-file select.
type selection struct {
	requirements []provider.Requirement
	// locked contains the versions and hashes in the lock files. It is nil without
	// --lock-file.
	locked lock.Selections
}

// selectProviders parses the PROVIDERs and reads the --lock-file files. If both are
// specified, the PROVIDERs restrict the locked providers.
func selectProviders(cmd *command) (s selection, err error) {
	names := cmd.c.StringSlice("lock-file")
	if len(names) == 0 {
		s.requirements, err = requiredProviders(cmd)
		return s, err
	}
	only, err := providers(cmd)
	if err != nil {
		return s, err
	}
	for _, r := range only {
		if variable := stateOf(cmd.c.App).variables["lock-file"]; variable != "" && !r.Constraint.IsZero() {
			cmd.out.Note("%s is ignored, because %s specifies a version", variable, r)
			return selection{requirements: only}, nil
		}
		if !r.Constraint.IsZero() {
			return s, usagef("%s: cannot combine a version constraint with --lock-file; omit @%s", r, r.Constraint)
		}
	}
	var invalid error
	s.locked, err = lock.ReadSelections(cmd.c.Context, lock.ReadOptions{
		Configuration: configuration.FromEnvironment(os.Environ(), cmd.c.Bool("terraform")),
		Requires:      func(a provider.Address) bool { return slices.Contains(addresses(only), a) },
	}, func(err error) { invalid = cmp.Or(invalid, cmd.unread("lock-file", err)) }, names...)
	if err != nil {
		return s, flagError("lock-file", err)
	}
	if invalid != nil {
		return s, invalid
	}
	if len(only) > 0 {
		s.locked, err = s.locked.Of(addresses(only)...)
	}
	for _, l := range s.locked {
		if l.Predecessor != (provider.Address{}) {
			cmd.out.Warn("using %s %s without locked hashes, as tofu init does, because the lock file locks %s; to use %s, specify --terraform", l.Address, l.Version, l.Predecessor, l.Predecessor)
		}
	}
	s.requirements = s.locked.Requirements()
	return s, err
}

// limit restricts a source to the locked packages.
func (cmd *command) limit(src provider.Source, s selection) provider.Source {
	if s.locked == nil {
		return src
	}
	return lock.NewSource(src, s.locked, lock.Options{Progress: cmd.out.Progress()}, func(p provider.Package) {
		cmd.out.Note("%s %s for %s: verified with its h1 hash, because the lock file has no zh hash for the zip", p.Address, p.Version, p.Platform)
	})
}

// warnDenied warns about denied versions that a requirement would otherwise select. n
// is the number of requested versions, or zero for all versions. selected contains the
// versions that were selected instead.
func (cmd *command) warnDenied(src provider.Source, r provider.Requirement, n int, selected ...provider.Version) {
	for _, v := range source.Denied(cmd.c.Context, src, r, n, selected) {
		cmd.out.Warn("skipping denied version %s %s", r.Address, v)
	}
}
