// Package commandline parses the program's command line and describes it as data. From
// this data, it generates help texts, shell completions, and manual pages. The output
// is deterministic.
package commandline

import (
	"strings"
	"time"
)

// Program describes a program with commands.
type Program struct {
	// Name is the executable's name. Summary is a clause without a final period.
	Name, Summary string
	// Text is the description. Blank lines separate its paragraphs, and indented lines
	// are printed verbatim.
	Text string
	// FlagsText introduces the flags that most commands have in common.
	FlagsText string
	// Date is the build's commit date. It is zero if the date is unknown.
	Date time.Time
	// Flags contains the flags that can be used without a command.
	Flags []Flag
	// Commands contains all commands and subcommands, in the order of the help text.
	Commands []Command
}

// Command describes a command or subcommand.
type Command struct {
	// Path is the command's name, such as "mirror", or "cache" and "prune".
	Path []string
	// Group is the heading under which the program's help text lists the command. It is
	// empty for subcommands.
	Group string
	// Summary and Text have the same format as in [Program].
	Summary, Text string
	// Usage is the synopsis of arguments and flags, such as "PATH... [FLAG...]".
	Usage string
	// Arguments describes the values of the command's arguments.
	Arguments Values
	Flags     []Flag
}

// Name returns the command's name without the program, such as "cache prune".
func (c Command) Name() string { return strings.Join(c.Path, " ") }

// Flag describes a flag of a command.
type Flag struct {
	// Names contains the flag's names without dashes. A name of one letter follows one
	// dash, and a longer name follows two dashes.
	Names []string
	// Placeholder represents the flag's value in help texts, such as "FILE". It is
	// empty for Boolean flags.
	Placeholder string
	// Description explains the flag. It consists of clauses separated by semicolons.
	Description string
	// Group is the help text's heading under which the flag is listed.
	Group string
	// Values describes the flag's possible values.
	Values Values
	// Repeatable reports whether the flag can be given more than once.
	Repeatable bool
	// Variable is the environment variable that sets the flag. It can be empty.
	Variable string
}

// Spellings returns the flag's names with dashes, such as "--quiet" and "-q".
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
	// Choices contains the possible values if Kind is [OneOf].
	Choices []string
}

// Kind is the kind of a value. It determines how shells complete the value.
type Kind string

// Kinds of values.
const (
	Free        Kind = "free"        // any text
	OneOf       Kind = "words"       // one of a fixed set of words
	Files       Kind = "files"       // file names
	Directories Kind = "directories" // directory names
	Programs    Kind = "programs"    // a program and its arguments
	Providers   Kind = "providers"   // PROVIDERs or MODULEs in a repository; see [CompleteProviders]
	Nothing     Kind = "nothing"     // no value
)

// CompleteProviders is the first argument of the "completion" command when a completion
// script requests completions for a PROVIDER or MODULE, with or without a version. The
// next argument is the incomplete word. The remaining arguments are the words before it,
// except the program.
const CompleteProviders = "providers"

// kind returns the kind of the values. The default is [Free].
func (v Values) kind() Kind {
	if v.Kind == "" {
		return Free
	}
	return v.Kind
}

// parents returns the names of commands that have subcommands. The program itself is
// represented by "".
func (p Program) parents() []string {
	names := []string{""}
	for _, c := range p.Commands {
		if len(p.subcommands(c.Path)) > 0 {
			names = append(names, c.Name())
		}
	}
	return names
}

// subcommands returns a command's direct subcommands. If path is empty, it returns the
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

// all returns all commands. It represents the program itself as a command without a
// name.
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
