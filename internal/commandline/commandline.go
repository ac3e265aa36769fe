// Package commandline parses the program's command line and describes it as data. From
// the description it generates help texts, shell completions, and manual pages. The
// output is deterministic.
package commandline

import (
	"strings"
	"time"
)

// Program describes a program with commands.
type Program struct {
	// Name is the name of the executable. Summary is one clause without a period.
	Name, Summary string
	// Text is the description: paragraphs separated by blank lines. Indented lines are
	// printed verbatim.
	Text string
	// Date is the commit date of the build, or zero if it is unknown.
	Date time.Time
	// Flags are the flags that can be used without a command.
	Flags []Flag
	// Commands are all commands and subcommands, in the order of the help text.
	Commands []Command
}

// Command describes a command or subcommand.
type Command struct {
	// Path is the command's name: "mirror", or "cache" and "prune".
	Path []string
	// Summary and Text have the same format as in [Program].
	Summary, Text string
	// Usage is the synopsis of arguments and flags: "PATH... [FLAG...]".
	Usage string
	// Arguments describes the values of arguments.
	Arguments Values
	Flags     []Flag
}

// Name returns the command's name without the program: "cache prune".
func (c Command) Name() string { return strings.Join(c.Path, " ") }

// Flag describes a flag of a command.
type Flag struct {
	// Names are the flag's names without dashes. A name of one letter is preceded by one
	// dash, other names by two.
	Names []string
	// Placeholder represents the value in texts, such as "FILE". It is empty for Boolean
	// flags.
	Placeholder string
	// Description explains the flag: clauses separated by semicolons.
	Description string
	// Group is the heading in the help text that the flag is listed under.
	Group string
	// Values describes the values of the flag.
	Values Values
	// Repeatable reports whether the flag can be given more than once.
	Repeatable bool
	// Variable is the environment variable that sets the flag, or empty.
	Variable string
}

// Spellings returns the flag's names with dashes: "--quiet", "-q".
func (f Flag) Spellings() []string {
	spellings := make([]string, 0, len(f.Names))
	for _, name := range f.Names {
		spellings = append(spellings, strings.Repeat("-", min(len(name), 2))+name)
	}
	return spellings
}

// Values describes the values of a flag or argument.
type Values struct {
	Kind Kind
	// Choices are the possible values if Kind is [OneOf].
	Choices []string
}

// Kind is a kind of values that shells can complete.
type Kind string

// Kinds of values.
const (
	Free        Kind = "free"        // any text
	OneOf       Kind = "words"       // one of a fixed set of words
	Files       Kind = "files"       // file names
	Directories Kind = "directories" // directory names
	Programs    Kind = "programs"    // a program and its arguments
	Nothing     Kind = "nothing"     // no value
)

// kind returns the kind of v. The default is [Free].
func (v Values) kind() Kind {
	if v.Kind == "" {
		return Free
	}
	return v.Kind
}

// parents returns the names of commands with subcommands. The name of the program itself
// is "".
func (p Program) parents() []string {
	names := []string{""}
	for _, c := range p.Commands {
		if len(p.subcommands(c.Path)) > 0 {
			names = append(names, c.Name())
		}
	}
	return names
}

// subcommands returns the direct subcommands of a command. If path is empty, it returns the
// program's commands.
func (p Program) subcommands(path []string) []Command {
	var found []Command
	for _, c := range p.Commands {
		if len(c.Path) == len(path)+1 && strings.Join(c.Path[:len(path)], " ") == strings.Join(path, " ") {
			found = append(found, c)
		}
	}
	return found
}

// all returns the program itself, as a command without a name, and all commands.
func (p Program) all() []Command {
	return append([]Command{{Summary: p.Summary, Flags: p.Flags}}, p.Commands...)
}

// shorten returns the first clause of a description, for completion lists.
func shorten(description string) string {
	for _, end := range []string{"; ", ": ", " ("} {
		description, _, _ = strings.Cut(description, end)
	}
	const maxLength = 72
	if len(description) <= maxLength {
		return description
	}
	if at := strings.LastIndexAny(description[:maxLength], " ,"); at > 0 {
		description = description[:at]
	}
	return strings.TrimRight(description, " ,") + " ..."
}
