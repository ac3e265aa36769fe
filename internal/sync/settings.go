package sync

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// Settings contains the settings of one provider or module.
type Settings struct {
	// Versions is the constraint that selects versions.
	Versions provider.Constraint
	// Latest is the maximum number of versions that are selected, starting with the
	// newest. If zero, all matching versions are selected.
	Latest int
	// None selects no versions. It is set if the argument latest is 0.
	None bool
	// PerMinor is the maximum number of versions that are selected per minor version,
	// starting with the newest. It is applied before Latest. If zero, the number is not
	// limited.
	PerMinor int
	// PreReleases also selects a pre-release if its final release meets Versions.
	PreReleases bool
	// Platforms restricts the platforms. If empty, all platforms are mirrored.
	Platforms []provider.Platform
	// MinAge is the minimum age of a version.
	MinAge time.Duration
	// Signatures specifies which signatures are required.
	Signatures trust.Mode
	// KeyChange specifies what happens to releases whose signing key has changed.
	KeyChange KeyChange
	// Attestations specifies whether attestations are published, and whether they are
	// required.
	Attestations publish.AttestationMode
	// AutoSBOM generates missing SBOMs.
	AutoSBOM bool
	// Stage publishes new releases as pending, so that they must be approved.
	Stage bool
	// Dependencies also mirrors the modules that a module calls.
	Dependencies bool
	// Targets lists the names of the targets. It is never empty.
	Targets []string
	// Aliases allows releases of other providers to be used for this provider.
	Aliases provider.Aliases
}

// Setting describes the value of a provider's setting and where it is set.
type Setting struct {
	// Name is the name of the argument.
	Name string `json:"name"`
	// Value is the effective value. Lists are separated by ", ".
	Value string `json:"value"`
	// Position is the file and line of the argument, such as "mirror.hcl:12", or
	// "default".
	Position string `json:"position"`
}

// block is a defaults block, a provider block, or a module block.
type block struct {
	pattern Pattern
	// position is the file and line of the block.
	position string
	// values contains the values of the arguments in positions.
	values Settings
	// positions maps the name of each argument to its position.
	positions map[string]string
}

// attribute is an argument of defaults, provider, and module blocks.
type attribute struct {
	name string
	// read reads the argument.
	read func(d *Declaration, a *hcl.Attribute, into *Settings) error
	// copy copies the argument's value from one Settings to another.
	copy func(into *Settings, from Settings)
	// format returns the value for [Setting].
	format func(Settings) string
}

// Values of the arguments attestations and sbom.
const auto, off = "auto", "off"

// onlyProviders contains the arguments that module blocks don't have.
var onlyProviders = []string{"platforms", "signatures", "key_change", "attestations", "sbom", "alias"}

// onlyModules contains the arguments that only module blocks have.
var onlyModules = []string{"dependencies"}

// isUsed reports whether an argument applies to modules or, if isModule is false, to
// providers.
func (a attribute) isUsed(isModule bool) bool {
	if isModule {
		return !slices.Contains(onlyProviders, a.name)
	}
	return !slices.Contains(onlyModules, a.name)
}

// attributes contains all arguments of defaults and provider blocks.
var attributes = []attribute{
	simple("versions", func(s *Settings) *provider.Constraint { return &s.Versions }, constraint, func(c provider.Constraint) string {
		return cmp.Or(c.String(), "any")
	}),
	{"latest", readLatest, func(into *Settings, from Settings) { into.Latest, into.None = from.Latest, from.None }, formatLatest},
	simple("per_minor", func(s *Settings) *int { return &s.PerMinor }, numberOrAll(1), formatNumber),
	simple("prereleases", func(s *Settings) *bool { return &s.PreReleases }, boolean, strconv.FormatBool),
	simple("platforms", func(s *Settings) *[]provider.Platform { return &s.Platforms }, readPlatforms, func(ps []provider.Platform) string {
		return cmp.Or(strings.Join(text.Strings(ps), ", "), all)
	}),
	simple("min_age", func(s *Settings) *time.Duration { return &s.MinAge }, age, formatAge),
	simple("signatures", func(s *Settings) *trust.Mode { return &s.Signatures }, oneOf[trust.Mode](string(trust.ModeRequire), string(trust.ModeWarn), string(trust.ModeOff)), func(m trust.Mode) string { return string(m) }),
	simple("key_change", func(s *Settings) *KeyChange { return &s.KeyChange }, oneOf[KeyChange](string(KeyChangeHold), string(KeyChangeWarn), string(KeyChangeRefuse)), func(k KeyChange) string { return string(k) }),
	simple("attestations", func(s *Settings) *publish.AttestationMode { return &s.Attestations }, func(a *hcl.Attribute) (publish.AttestationMode, error) {
		mode, err := oneOf[publish.AttestationMode](string(publish.AttestationsFetch), string(publish.AttestationsRequire), off)(a)
		if mode == off {
			mode = ""
		}
		return mode, err
	}, func(m publish.AttestationMode) string { return cmp.Or(string(m), off) }),
	simple("sbom", func(s *Settings) *bool { return &s.AutoSBOM }, func(a *hcl.Attribute) (bool, error) {
		mode, err := oneOf[string](auto, off)(a)
		return mode == auto, err
	}, func(isAuto bool) string { return map[bool]string{true: auto, false: off}[isAuto] }),
	simple("stage", func(s *Settings) *bool { return &s.Stage }, boolean, strconv.FormatBool),
	simple("dependencies", func(s *Settings) *bool { return &s.Dependencies }, boolean, strconv.FormatBool),
	{"targets", readTargetNames, func(into *Settings, from Settings) { into.Targets = from.Targets }, func(s Settings) string {
		return strings.Join(s.Targets, ", ")
	}},
	simple("alias", func(s *Settings) *provider.Aliases { return &s.Aliases }, readAliases, func(as provider.Aliases) string {
		return cmp.Or(strings.Join(text.Strings(as), ", "), "none")
	}),
}

// simple returns an attribute for one field of [Settings].
func simple[T any](name string, field func(*Settings) *T, read func(*hcl.Attribute) (T, error), format func(T) string) attribute {
	return attribute{
		name: name,
		read: func(_ *Declaration, a *hcl.Attribute, into *Settings) (err error) {
			*field(into), err = read(a)
			return err
		},
		copy:   func(into *Settings, from Settings) { *field(into) = *field(&from) },
		format: func(s Settings) string { return format(*field(&s)) },
	}
}

func formatNumber(n int) string {
	if n == 0 {
		return all
	}
	return strconv.Itoa(n)
}

func formatLatest(s Settings) string {
	if s.None {
		return "0"
	}
	return formatNumber(s.Latest)
}

func readLatest(_ *Declaration, a *hcl.Attribute, into *Settings) (err error) {
	into.Latest, err = numberOrAll(0)(a)
	into.None = into.Latest == 0 && !isText(a.Expr)
	return err
}

func readPlatforms(a *hcl.Attribute) ([]provider.Platform, error) {
	if isText(a.Expr) {
		if word, err := stricthcl.String(a.Name, a.Expr); err != nil || word != all {
			return nil, stricthcl.Errorf(a.Expr.Range(), "%s must be a list of strings, or %q", a.Name, all)
		}
		return nil, nil
	}
	platforms, err := list(a, func(s string) (provider.Platform, error) {
		p, err := provider.ParsePlatform(s)
		if system, arch, ok := text.Platform(s); ok && (err != nil || system != p.OS || arch != p.Arch) {
			err = provider.Errorf(provider.Malformed, "invalid platform %q; did you mean %s_%s?", s, system, arch)
		}
		return p, err
	})
	return provider.SortPlatforms(platforms), err
}

func readAliases(a *hcl.Attribute) (provider.Aliases, error) {
	if empty, diags := hcl.ExprList(a.Expr); !diags.HasErrors() && len(empty) == 0 && !isText(a.Expr) {
		return nil, nil
	}
	return list(a, provider.ParseAlias)
}

// readTargetNames reads the names of targets and stores them in the order of the target
// blocks.
func readTargetNames(d *Declaration, a *hcl.Attribute, into *Settings) error {
	var known []string
	for _, t := range d.Targets {
		known = append(known, t.Name)
	}
	names, err := list(a, func(s string) (string, error) { return s, nil })
	if err != nil || len(known) == 0 { // no target block is valid
		return err
	}
	err = stricthcl.Strings(a.Name, a.Expr, func(name string, at hcl.Range) error {
		i := slices.Index(known, name)
		if i < 0 {
			return unknown(at, fmt.Sprintf("unknown target %q", name), name, known)
		}
		if from := d.Targets[i].From; from != "" && !slices.Contains(names, from) {
			return stricthcl.Errorf(at, "targets must also contain %q, because %q is copied from it", from, name)
		}
		return nil
	})
	into.Targets = slices.DeleteFunc(known, func(name string) bool { return !slices.Contains(names, name) })
	return err
}

// readPattern parses the label of a block. kind is the type of the block.
func readPattern(kind string, b labeled) (p Pattern, err error) {
	what := "provider"
	if kind == "module" || kind == "deny_module" {
		what = "module"
		p.Modules, err = provider.ParseModulePattern(b.Label)
	} else {
		p.Providers, err = provider.ParsePattern(b.Label)
	}
	switch {
	case err != nil && strings.Contains(b.Label, "@"):
		return p, stricthcl.Errorf(b.Range, "invalid %s pattern %q; specify versions with the argument versions", what, b.Label)
	case err != nil:
		return p, stricthcl.Errorf(b.Range, "%v", err)
	}
	return p, nil
}

// readSettings reads the defaults block, the provider blocks, and the module blocks.
func (d *Declaration) readSettings(f file) (err error) {
	if f.Defaults != nil {
		d.defaults, err = d.readBlock("defaults", f.Defaults.Range, f.Defaults.Arguments)
	}
	err = stricthcl.Join(err, d.readBlocks("provider", f.Providers), d.readBlocks("module", f.Modules))
	slices.SortStableFunc(d.patterns, func(a, b *block) int { return b.pattern.specificity() - a.pattern.specificity() })
	return err
}

func (d *Declaration) readBlocks(kind string, blocks []labeled) error {
	seen := map[Pattern]int{}
	var errs []error
	for _, b := range blocks {
		read, err := d.readBlock(kind, b.Range, b.Arguments)
		pattern, wrong := readPattern(kind, b)
		if errs = append(errs, err, wrong); wrong != nil {
			continue
		}
		if line, duplicate := seen[pattern]; duplicate {
			errs = append(errs, stricthcl.Errorf(b.Range, "duplicate %s %q: already used on line %d", kind, pattern, line))
			continue
		}
		seen[pattern], read.pattern = b.Range.Start.Line, pattern
		a, isAddress, err := pattern.address()
		switch {
		case err != nil:
			errs = append(errs, stricthcl.Errorf(b.Range, "%v", err))
		case isAddress:
			d.named[a] = read
		case pattern.specificity() == 0:
			errs = append(errs, stricthcl.Errorf(b.Range, "the pattern %q matches every %s; use the defaults block instead", pattern, kind))
		default:
			d.patterns = append(d.patterns, read)
		}
	}
	return stricthcl.Join(errs...)
}

func (d *Declaration) readBlock(kind string, at hcl.Range, arguments hcl.Attributes) (*block, error) {
	b := &block{position: position(at), positions: map[string]string{}}
	read := map[string]func(*hcl.Attribute) error{}
	for _, known := range attributes {
		if !known.isUsed(kind == "module") {
			continue
		}
		read[known.name] = func(a *hcl.Attribute) error {
			b.positions[known.name] = position(a.NameRange)
			return known.read(d, a, &b.values)
		}
	}
	return b, parseArguments(kind, at, arguments, read)
}

// Settings returns the settings of a provider or module. Each argument comes from the
// most specific block that contains it. The block with the address comes first, then
// blocks with patterns such as HOST/NAMESPACE/* and HOST/*/*, and then the defaults
// block.
func (d *Declaration) Settings(a provider.Address) Settings {
	s, _ := d.resolve(a)
	return s
}

// Explain returns the settings of a provider or module, and where each setting is set.
func (d *Declaration) Explain(a provider.Address) []Setting {
	s, positions := d.resolve(a)
	var all []Setting
	for _, known := range attributes {
		if !known.isUsed(a.IsRegistryModule()) {
			continue
		}
		all = append(all, Setting{Name: known.name, Value: known.format(s), Position: cmp.Or(positions[known.name], "default")})
	}
	return all
}

// resolve returns the settings of a provider, and the position of each argument.
func (d *Declaration) resolve(a provider.Address) (Settings, map[string]string) {
	s := Settings{Latest: 1, Signatures: trust.ModeWarn, KeyChange: KeyChangeHold}
	for _, t := range d.Targets {
		s.Targets = append(s.Targets, t.Name)
	}
	layers := []*block{d.named[a]}
	for _, b := range d.patterns {
		if b.pattern.Match(a) {
			layers = append(layers, b)
		}
	}
	layers = append(layers, d.defaults)
	positions := map[string]string{}
	for _, known := range attributes {
		for _, b := range layers {
			if b != nil && b.positions[known.name] != "" {
				known.copy(&s, b.values)
				positions[known.name] = b.positions[known.name]
				break
			}
		}
	}
	if a.IsRegistryModule() {
		s.Versions = s.Versions.ForModules()
	}
	return s, positions
}
