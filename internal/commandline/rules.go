package commandline

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// A FlagRule restricts which flags and arguments can be combined. Its lists contain
// flag names, NAME=VALUE for a flag with a specific value, [Argument], or
// [ModuleReference]. A false or empty flag is treated as not set. If an environment
// variable sets a flag that violates a rule, the flag is dropped, and no error is
// reported. See [commandLine.applyRules].
type FlagRule struct {
	// Command is the command to which the rule applies. If empty, the rule applies to
	// all commands.
	Command string
	// Flags contains the flags that the rule restricts.
	Flags []string
	// Conflicts contains the flags that cannot be combined with any of Flags.
	Conflicts []string
	// Requires lists flags. If a flag in Flags is set, a flag in Requires must be set
	// too.
	Requires []string
	// Strict reports whether a conflict is an error even if environment variables set
	// both flags. If false, the flag in Flags is dropped instead.
	Strict bool
	// Hint is appended to the error message.
	Hint string
}

const (
	// Argument represents a command-line argument in a [FlagRule].
	Argument = ""
	// ModuleReference represents an argument that refers to a module.
	ModuleReference = "oci://"
)

// Rules contains the flag rules of all commands. Commands themselves validate the
// values of their flags and check for required flags and arguments.
var Rules = []FlagRule{
	{Flags: []string{"all"}, Conflicts: []string{"latest"}, Strict: true},
	{Flags: []string{"digest-file"}, Conflicts: []string{"check-level=tags"}, Strict: true, Hint: "use --check-level index, which reads digests"},
	{Command: "mirror", Flags: []string{"terraform"}, Requires: []string{"lock-file"}},
	{Command: "pull", Flags: []string{"terraform"}, Requires: []string{"lock-file"}},
	{Command: "bundle create", Flags: []string{"terraform"}, Requires: []string{"lock-file"}},
	{Command: "mirror", Flags: []string{"all", "latest"}, Conflicts: []string{"lock-file"}, Strict: true},
	{Command: "pull", Flags: []string{"all", "latest"}, Conflicts: []string{"lock-file"}, Strict: true},
	{Command: "mirror", Flags: []string{"root"}, Conflicts: []string{"lock-file"}, Hint: "run the command once for each flag"},
	{Command: "mirror", Flags: []string{"modules-to"}, Requires: []string{"root"}},
	{Command: "pull", Flags: []string{"with-documents"}, Conflicts: []string{"layout=unpacked"}, Strict: true, Hint: "use --layout zip, packed, or network"},
	{Command: "pull", Flags: []string{"verify-cache"}, Requires: []string{"cache"}, Hint: "alternatively, set TOFU_OCI_CACHE"},

	{Command: "list", Flags: []string{"pending"}, Conflicts: []string{"history"}},
	{Command: "list", Flags: []string{"history"}, Requires: []string{Argument}},
	{Command: "list", Flags: []string{"pending"}, Requires: []string{Argument, "sources", "from"}},
	{Command: "list", Flags: []string{"sources"}, Conflicts: []string{Argument}},

	{Command: "doctor", Flags: []string{"from"}, Conflicts: []string{"to"}},
	{Command: "doctor", Flags: []string{"to"}, Conflicts: []string{"from"}},
	{Command: "doctor", Flags: []string{"probe"}, Requires: []string{"from", "to"}},
	{Command: "doctor", Flags: []string{"lock-file", "platform", "alias"}, Requires: []string{Argument}},

	{Command: "lock", Flags: []string{"upgrade", "h1=verify", "dry-run"}, Conflicts: []string{"check"}},
	{Command: "lock", Flags: []string{Argument, "sources"}, Conflicts: []string{"check"}, Hint: "--check checks all providers in the lock files"},
	{Command: "lock", Flags: []string{"lock-file"}, Requires: []string{"check"}, Hint: "to write a lock file, use --root"},
	{Command: "lock", Flags: []string{"lock-file"}, Conflicts: []string{"root"}},
	{Command: "lock", Flags: []string{"output=sarif", "output=github"}, Requires: []string{"check"}},

	{Command: "tofurc", Flags: []string{"dry-run"}, Requires: []string{"write"}},
	{Command: "serve", Flags: []string{"signatures", "keyring", "attestations", "sbom"}, Requires: []string{"pull-through"}},
	{Command: "serve", Flags: []string{"min-age"}, Requires: []string{"pull-through", "modules-pull-through"}},

	{Flags: []string{"from"}, Conflicts: []string{ModuleReference}, Hint: "the argument contains the repository"},
	{Command: "promote", Flags: []string{"to"}, Conflicts: []string{ModuleReference}, Hint: "the argument contains the repository"},
	{Command: "deny", Flags: []string{"to"}, Conflicts: []string{ModuleReference}, Hint: "the argument contains the repository"},
	{Command: "bundle create", Flags: []string{"declaration"}, Conflicts: []string{Argument, "from", "sources", "lock-file", "root", "module", "modules-from", "latest", "all", "signatures", "trust"}},
	{Command: "bundle import", Flags: []string{"declaration"}, Conflicts: []string{"to", "modules-to", "alias", "stage", "gate", "signatures", "trust"}},
	{Command: "sync apply", Flags: []string{"textfile"}, Conflicts: []string{"shard"}, Hint: "use --textfile with sync report, which merges the results of all shards"},
	{Command: "exec", Flags: []string{"bundle"}, Conflicts: []string{"from", "allow-direct"}},
	{Command: "man", Flags: []string{"dir"}, Conflicts: []string{Argument}},
}

// violation is a rule that a command line violates.
type violation struct {
	rule FlagRule
	// flag is the restricted flag, and conflict is the conflicting flag. If a required
	// flag is missing, conflict is the zero value.
	flag, conflict setFlag
}

// message describes the violation.
func (v violation) message() string {
	text := v.flag.String()
	if v.rule.Conflicts != nil {
		text += " cannot be used with " + v.conflict.String()
	} else {
		text += " requires " + alternatives(v.rule.Requires)
	}
	if v.rule.Hint != "" {
		text += "; " + v.rule.Hint
	}
	return text
}

// alternatives formats a list of flags, for example "--a, --b, or --c".
func alternatives(flags []string) string {
	names := make([]string, 0, len(flags))
	for _, flag := range flags {
		if flag == Argument {
			names = append(names, "a PROVIDER")
			continue
		}
		names = append(names, "--"+flag)
	}
	return text.List(names, "or")
}

// applyRules drops flags that variables set until the command line violates no rule. If
// it cannot resolve a violation, it returns an error.
func (c *commandLine) applyRules() error {
	for {
		violations := c.violations()
		if len(violations) == 0 {
			return nil
		}
		dropped := droppable(violations)
		if len(dropped) == 0 {
			return usagef("%s", violations[0].message())
		}
		c.flags = slices.DeleteFunc(c.flags, func(f setFlag) bool { return slices.Contains(dropped, f.name) })
	}
}

// violations returns the rules that the command line violates.
func (c *commandLine) violations() []violation {
	var found []violation
	for _, r := range Rules {
		if r.Command != "" && r.Command != nameOf(c.command) {
			continue
		}
		for _, name := range r.Flags {
			flag, set := c.lookup(name)
			if !set {
				continue
			}
			if len(r.Requires) > 0 && !slices.ContainsFunc(r.Requires, func(name string) bool { _, set := c.lookup(name); return set }) {
				found = append(found, violation{rule: r, flag: flag})
			}
			for _, name := range r.Conflicts {
				if conflict, set := c.lookup(name); set {
					found = append(found, violation{r, flag, conflict})
				}
			}
		}
	}
	return found
}

// droppable returns flags that variables set and that can be dropped to resolve
// violations. If some of them conflict with the command line, it returns only these
// flags, because dropping them can also resolve the other violations.
func droppable(violations []violation) []string {
	var byCommandLine, byVariable []string
	for _, v := range violations {
		switch flag, conflict := v.flag.variable != "", v.conflict.variable != ""; {
		case flag && !conflict:
			byCommandLine = append(byCommandLine, v.flag.name)
		case !flag && conflict:
			byCommandLine = append(byCommandLine, v.conflict.name)
		case flag && !v.rule.Strict:
			byVariable = append(byVariable, v.flag.name)
		}
	}
	if len(byCommandLine) > 0 {
		return byCommandLine
	}
	return byVariable
}

// lookup returns the flag that matches an entry in a [FlagRule] and reports whether the
// flag is set. For [Argument], it returns the first argument. For [ModuleReference], it
// returns the first argument that refers to a module.
func (c *commandLine) lookup(name string) (f setFlag, set bool) {
	if name == Argument {
		return setFlag{values: c.rest[:min(len(c.rest), 1)]}, len(c.rest) > 0
	}
	if name == ModuleReference {
		i := slices.IndexFunc(c.rest, func(arg string) bool {
			return strings.HasPrefix(arg, ModuleReference) || strings.HasPrefix(arg, "oci-layout:")
		})
		return setFlag{values: c.rest[max(i, 0):max(i+1, 0)]}, i >= 0
	}
	name, value, hasValue := strings.Cut(name, "=")
	for _, f := range slices.Backward(c.flags) { // the last value is used
		if f.name == name {
			if hasValue {
				f.ruled = value
			}
			return f, !f.isUnset && (!hasValue || slices.Contains(f.values, value))
		}
	}
	return f, false
}

// String formats the flag or argument for use in messages.
func (f setFlag) String() string {
	if f.name == Argument {
		return strings.Join(f.values, " ")
	}
	return strings.TrimSpace("--" + f.name + " " + f.ruled)
}
