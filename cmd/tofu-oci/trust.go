package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func trustCommand() *cli.Command {
	return &cli.Command{
		Name:      "trust",
		Usage:     "pin providers to the keys that sign them, or say what the pins refuse",
		ArgsUsage: "init|check [PROVIDER...] [--from REPO] [FLAG...]",
		Description: strings.TrimSpace(`
init looks at what is there, says which keys have signed it, and writes a trust
file that pins each provider to those (trust on first use: compare the
fingerprints with what the author publishes). A file that is there is not
touched. By default it looks at the newest release that PROVIDER means.

check judges what repositories hold by the evidence that lies in them, and asks
nobody else: what pull would refuse is exit code 4. By default it looks at all
releases that PROVIDER means.

A trust file has a block for each pattern; the most specific one counts:
   trust "registry.terraform.io/hashicorp/*" {
     fingerprints = ["C874 011F 0AB4 0511 0D02 1055 3436 5D94 72D7 468F"]
     expired      = "warn"    # accept, warn or refuse expired keys
     unsigned     = "refuse"  # accept, warn or refuse unsigned releases
     signed_since = "1.4.0"   # older versions may be unsigned
   }

Examples:
   tofu-oci trust init hashicorp/null acme/widget --trust trust.hcl
   tofu-oci trust init --sources providers.txt --trust trust.hcl
   tofu-oci trust check hashicorp/null --trust trust.hcl \
      --from ghcr.io/acme/providers/{namespace}/{type}`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "repository template `REPO` to look in (default: where the CLI configuration says that OpenTofu installs from)"},
			sourcesFlag(),
			&cli.IntFlag{Name: "latest", Usage: "the newest `N` versions that match"},
			&cli.BoolFlag{Name: "all", Usage: "all versions that match, pre-releases aside"},
			aliasFlag(),
		}, trustFlags(), networkFlags(), outputFlags()),
		Action: printing(trustAction),
	}
}

func trustAction(c *cli.Context, out *report.Report) error {
	does := map[string]func(trusting) error{"init": trusting.init, "check": trusting.check}[c.Args().First()]
	if does == nil {
		if meant, found := text.Nearest(c.Args().First(), []string{"init", "check"}); found {
			return usagef("there is no command \"trust %s\"; did you mean tofu-oci trust %s?", c.Args().First(), meant)
		}
		return usagef("say what to do: tofu-oci trust init PROVIDER..., or tofu-oci trust check PROVIDER...")
	}
	if c.Args().Len() < 2 && !c.IsSet("sources") {
		return usagef("name at least one PROVIDER, such as hashicorp/null, or --sources FILE; see tofu-oci trust --help")
	}
	wanted, err := named(c, c.Args().Tail(), out)
	if err != nil {
		return err
	}
	newest, err := newestOf(c, map[string]int{"init": 1, "check": 0}[c.Args().First()])
	if err != nil {
		return err
	}
	cmd, err := connect(c, out)
	if err != nil {
		return err
	}
	src, err := cmd.from()
	if err != nil {
		return err
	}
	return does(trusting{c: c, out: out, src: src, wanted: wanted, newest: newest})
}

// trusting is what both parts of the command work on.
type trusting struct {
	c      *cli.Context
	out    *report.Report
	src    provider.Source
	wanted []provider.Requirement
	newest int
}

// init pins providers to what their releases are signed by.
func (t trusting) init() error {
	path := t.c.String("trust")
	if path == "" {
		return usagef("--trust is missing: name the FILE to write")
	}
	there := usagef("--trust: %s is there, and is not overwritten: name another file, and add to it what is missing", path)
	if _, err := os.Lstat(path); err == nil {
		return there
	}
	file, err := atomicfile.Create(path, 0o644)
	if err != nil {
		return err
	}
	defer file.Discard()
	learning, err := keyringOnly(t.c) // the trust file is what is made
	if err != nil {
		return err
	}
	var rules trust.Rules
	for _, r := range t.wanted {
		rule, err := t.learn(t.c.Context, learning, r)
		if err != nil {
			t.out.Failed(r, provider.Version{}, "", err)
			continue
		}
		rules = append(rules, rule)
	}
	// A file without all of them would leave the others unpinned, and look whole.
	if err := t.out.Finish(); err != nil {
		return err
	}
	if _, err := trust.ParseRules(path, rules.Bytes()); err != nil {
		return usagef("%w", err) // a provider was named twice
	}
	if _, err := file.Write(rules.Bytes()); err != nil {
		return err
	}
	err = file.CommitNew()
	if errors.Is(err, fs.ErrExist) {
		return there
	}
	if err == nil {
		t.out.Note("wrote %s: compare the fingerprints with what the authors publish", path)
	}
	return err
}

func (t trusting) learn(ctx context.Context, learning trust.Policy, r provider.Requirement) (trust.Rule, error) {
	var releases []provider.Release
	versions, err := source.Resolve(ctx, t.src, r, t.newest)
	for _, v := range versions {
		release, err := t.src.Release(ctx, r.Address, v)
		if err != nil {
			return trust.Rule{}, err
		}
		releases = append(releases, release)
	}
	if err != nil {
		return trust.Rule{}, err
	}
	rule, found, err := learning.PinSigners(ctx, r.Address, releases...)
	if err == nil {
		for i, verdict := range found {
			said := strings.Replace(verdict.String(), ", key not pinned", ", pinned now", 1) // by the file that is written
			t.out.Judged(r.Address, releases[i].Version, verdict, said)
		}
	}
	return rule, err
}

// check says what the policy refuses of what is there.
func (t trusting) check() error {
	judging, err := policy(t.c)
	if err != nil {
		return err
	}
	refused := false
	for _, r := range t.wanted {
		versions, err := source.Resolve(t.c.Context, t.src, r, t.newest)
		if err != nil {
			t.out.Failed(r, provider.Version{}, "", err)
		}
		for _, v := range versions {
			var verdict provider.Verdict
			release, err := t.src.Release(t.c.Context, r.Address, v)
			if err == nil {
				verdict, err = judging.Verify(t.c.Context, release)
			}
			if err != nil {
				_, is := errors.AsType[*trust.RefusedError](err)
				refused = refused || is
				t.out.Failed(r, v, "", err)
				continue
			}
			t.out.Judged(r.Address, v, verdict, verdict.String())
		}
	}
	err = t.out.Finish()
	if refused {
		return &explain.ExitError{Code: explain.ExitUnverified}
	}
	return errors.Join(err, t.c.Context.Err())
}

// trustFlags are those of every command that judges signatures.
func trustFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "signatures", Value: string(trust.ModeWarn), Usage: "what is demanded of signatures: `MODE` require, warn or off; a bad one is refused in any case"},
		&cli.StringFlag{Name: "keyring", Usage: "`FILE` or directory of OpenPGP keys that count, in place of those that come with a release"},
		&cli.StringFlag{Name: "trust", Usage: "trust `FILE` that pins providers to keys"},
	}
}

// policy reads them.
func policy(c *cli.Context) (p trust.Policy, err error) {
	if p, err = keyringOnly(c); err != nil {
		return p, err
	}
	if p.Mode, err = trust.ParseMode(c.String("signatures")); err != nil {
		return p, usagef("--signatures: %w", err)
	}
	if path := c.String("trust"); path != "" {
		if p.Rules, err = trust.ReadRules(path); err != nil {
			return p, usagef("--trust: reading the trust file: %w", err)
		}
	}
	return p.WithEnvironment(os.Getenv), nil
}

// keyringOnly is a policy that knows keys, and demands nothing yet.
func keyringOnly(c *cli.Context) (p trust.Policy, err error) {
	if path := c.String("keyring"); path != "" {
		if p.Keyring, err = trust.ReadKeyring(path); err != nil {
			return p, usagef("--keyring: %w", err)
		}
	}
	return p, nil
}
