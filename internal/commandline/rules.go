package commandline

import (
	"slices"
	"strings"
)

// rule is what a command refuses of its flags and arguments, before it begins. Where
// one of them comes from a variable, which was set for many commands, it is left out
// instead: see [call.settle]. What rules name is a flag that is there, and not false or
// empty; a flag with a value, NAME=VALUE; or an [argument].
type rule struct {
	// command is the only one that it holds for, "" for every.
	command string
	// refused is each of these, beside any of the others, or without all of them.
	refused, beside, without []string
	// equal tells that variables for both are an error, as flags are. Else the one that is
	// refused is left out.
	equal bool
	// why is the error: {refused} and {beside} stand for what is there.
	why string
}

// argument stands for an argument of the command line among the names of flags.
const argument = ""

// rules are those of all commands. Which values a flag takes, and what has to be there,
// the commands say themselves.
var rules = []rule{
	{refused: []string{"all"}, beside: []string{"latest"}, equal: true, why: "--all and --latest contradict each other"},
	{
		refused: []string{"digest-file"}, beside: []string{"check-level=tags"}, equal: true,
		why: "--digest-file: the list of tags that --check-level tags goes by has no digests: use --check-level index",
	},
	{refused: []string{"sign-passphrase-file"}, without: []string{"sign-key"}, why: "{refused} is of no use without --sign-key"},
	{
		command: "mirror", refused: []string{"all", "latest"}, beside: []string{"lock-file"}, equal: true,
		why: "--all and --latest choose versions, and so does --lock-file: leave out one of them",
	},
	{
		command: "pull", refused: []string{"with-evidence"}, beside: []string{"layout=unpacked"}, equal: true,
		why: "--with-evidence goes beside zips: use --layout zip, packed or network",
	},
	{
		command: "pull", refused: []string{"verify-cache"}, without: []string{"cache"},
		why: "--verify-cache is about a cache, and none is named: name it with --cache DIR or TOFU_OCI_CACHE",
	},

	{command: "list", refused: []string{"check-level"}, beside: []string{"server", "pending"}, why: listCheckText},
	{command: "list", refused: []string{"check-level"}, without: []string{argument}, why: listCheckText},
	{command: "list", refused: []string{"pending"}, beside: []string{"server"}, why: listPendingText},
	{command: "list", refused: []string{"pending"}, without: []string{argument, "sources", "from"}, why: "--pending is about PROVIDERs, or --sources; or say with --from REPO where to look for all that waits"},
	{command: "list", refused: []string{"sources"}, without: []string{"pending"}, why: "--sources is for --pending: name one PROVIDER"},
	{
		command: "list", refused: []string{"from"}, beside: []string{"server"},
		why: "--server and --from contradict each other: a server has its own repositories",
	},
	{command: "list", refused: []string{"providers"}, beside: []string{"server"}, why: "--providers is for --from; a server has its own"},
	{command: "list", refused: []string{"providers"}, beside: []string{argument, "sources"}, why: "--providers is for a list of providers; leave the PROVIDER out"},
	{command: "verify", refused: []string{"providers"}, beside: []string{argument, "sources"}, why: "--providers is for all providers of --from; leave the PROVIDER out"},
	{command: "verify", refused: []string{"providers"}, without: []string{"from"}, why: "--providers is about the repositories of --from: name them"},

	{command: "doctor", refused: []string{"from"}, beside: []string{"to"}, why: doctorPlaceText},
	{command: "doctor", refused: []string{"to"}, beside: []string{"from"}, why: doctorPlaceText},
	{command: "doctor", refused: []string{"push"}, without: []string{"from", "to"}, why: "--push asks about the repository of --from or --to: name it"},
	{
		command: "doctor", refused: []string{"lock-file", "platform", "alias"}, without: []string{argument},
		why: "{refused} is about a PROVIDER: name it",
	},

	{
		command: "lock", refused: []string{"upgrade", "compute-h1", "dry-run"}, beside: []string{"check"},
		why: "--check writes nothing: {refused} has no meaning with it",
	},
	{command: "lock", refused: []string{argument, "sources"}, beside: []string{"check"}, why: "--check looks at all that lock files select: leave out {refused}"},
	{command: "lock", refused: []string{"lock-file"}, without: []string{"check"}, why: "--lock-file is for --check; a lock file is given into its --module-dir"},
	{
		command: "lock", refused: []string{"lock-file"}, beside: []string{"module-dir", "recursive"},
		why: "--lock-file and {beside} contradict each other: name the files, directories and patterns with --lock-file",
	},
	{command: "lock", refused: []string{"recursive"}, beside: []string{argument}, why: "--recursive is about configurations: leave out {beside}"},
	{command: "lock", refused: []string{"sources"}, beside: []string{"recursive"}, why: "--recursive is about configurations: leave out --sources"},
	{
		command: "lock", refused: []string{"output=sarif", "output=github"}, without: []string{"check"},
		why: "{refused} must be text or json; sarif and github are for --check",
	},

	{command: "tofurc", refused: []string{"output"}, without: []string{"validate"}, why: "--output goes with --validate: the block is text"},
	{command: "tofurc", refused: []string{"dry-run"}, without: []string{"write"}, why: "--dry-run goes with --write: without it nothing is given"},
	{
		command: "serve", refused: []string{"min-age", "signatures", "keyring", "trust"}, without: []string{"pull-through"},
		why: "{refused} is of no use without --pull-through: what lies in the repositories is served as it is",
	},
	{
		command: "man", refused: []string{"dir"}, beside: []string{argument},
		why: "man --dir takes a DIRECTORY, and no other arguments: it writes all pages; see tofu-oci man --help",
	},
}

const (
	listCheckText   = "--check-level is about the versions of one PROVIDER, in the repository of --from"
	listPendingText = "--pending is about the repositories of --from: a server has nothing that waits"
	doctorPlaceText = "--from and --to name one place each: look at one after the other"
)

// FlagsOfRules returns the flags that rules name, each behind its command if the rule is
// about one.
func FlagsOfRules() []string {
	var named []string
	for _, r := range rules {
		for _, name := range slices.Concat(r.refused, r.beside, r.without) {
			if flag, _, _ := strings.Cut(name, "="); flag != argument {
				named = append(named, strings.TrimSpace(r.command+" "+flag))
			}
		}
	}
	return named
}

// breach is a rule that a call breaks, and what breaks it; beside is nothing where it
// is that something is missing.
type breach struct {
	rule            rule
	refused, beside given
}

// settle holds a call to the rules. A variable gives way: to the command line, where
// something is missing that it says more about, and then to another variable. It is an
// error where none can.
func (c *call) settle() error {
	for {
		breaches := c.breaches()
		if len(breaches) == 0 {
			return nil
		}
		yielding := givingWay(breaches)
		if len(yielding) == 0 {
			b := breaches[0]
			return usagef("%s", strings.NewReplacer("{refused}", b.refused.text(), "{beside}", b.beside.text()).Replace(b.rule.why))
		}
		c.flags = slices.DeleteFunc(c.flags, func(g given) bool { return slices.Contains(yielding, g.name) })
	}
}

// breaches are the rules that the call breaks.
func (c *call) breaches() []breach {
	var found []breach
	for _, r := range rules {
		if r.command != "" && r.command != nameOf(c.command) {
			continue
		}
		for _, name := range r.refused {
			refused, there := c.has(name)
			if !there {
				continue
			}
			if len(r.without) > 0 && !slices.ContainsFunc(r.without, func(name string) bool { _, there := c.has(name); return there }) {
				found = append(found, breach{rule: r, refused: refused})
			}
			for _, name := range r.beside {
				if beside, there := c.has(name); there {
					found = append(found, breach{r, refused, beside})
				}
			}
		}
	}
	return found
}

// givingWay names the flags of variables that give way. What the command line
// contradicts goes first: beside what is left, another may stay.
func givingWay(breaches []breach) []string {
	var toLine, toVariable []string
	for _, b := range breaches {
		switch refused, beside := b.refused.variable != "", b.beside.variable != ""; {
		case refused && !beside:
			toLine = append(toLine, b.refused.name)
		case !refused && beside:
			toLine = append(toLine, b.beside.name)
		case refused && !b.rule.equal:
			toVariable = append(toVariable, b.refused.name)
		}
	}
	if len(toLine) > 0 {
		return toLine
	}
	return toVariable
}

// has returns a flag, by its name or NAME=VALUE, or the first [argument].
func (c *call) has(name string) (g given, there bool) {
	if name == argument {
		return given{values: c.rest[:min(len(c.rest), 1)]}, len(c.rest) > 0
	}
	name, value, valued := strings.Cut(name, "=")
	for _, g := range slices.Backward(c.flags) { // the last counts
		if g.name == name {
			return g, !g.off && (!valued || slices.Contains(g.values, value))
		}
	}
	return g, false
}

// text is how a message names it.
func (g given) text() string {
	if g.name == argument {
		return strings.Join(g.values, " ")
	}
	return "--" + g.name
}
