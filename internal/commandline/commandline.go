// Package commandline says what a program's command line consists of, as data, and
// writes from it what other programs want to know: completions for shells, and
// pages of the manual. Equal data gives equal bytes.
package commandline

import (
	"strings"
	"time"
)

// Program is a program with commands.
type Program struct {
	// Name is what is typed, About what it does, in one clause without a full stop.
	Name, About string
	// Text explains it: paragraphs between blank lines; a line that begins with a
	// blank stands as it is, in the manual too.
	Text string
	// Date is when what was built was committed, zero where that is not known.
	Date time.Time
	// Flags are what may stand without a command.
	Flags []Flag
	// Commands are all of them, also the commands of commands, in the order of the help.
	Commands []Command
}

// Command is a command, or a command of a command.
type Command struct {
	// Words are its name: "mirror", or "cache" and "prune".
	Words []string
	// About and Text are as those of a program.
	About, Text string
	// Reads tells what the command reads besides its arguments, if that is more than usual.
	Reads string
	// Usage is what stands behind the name: "PATH... [FLAG...]".
	Usage string
	// Arguments are what may be typed there, flags aside.
	Arguments Values
	Flags     []Flag
}

// Name is the command as it is typed behind the program: "cache prune".
func (c Command) Name() string { return strings.Join(c.Words, " ") }

// Flag is a flag of a command.
type Flag struct {
	// Names are without dashes; names of one letter have one dash, others two.
	Names []string
	// Word stands for the value in texts: "FILE". Switches have none.
	Word string
	// About explains it, in clauses between semicolons.
	About string
	// Values are what may be typed for Word.
	Values Values
	// Repeatable reports whether it may be given several times.
	Repeatable bool
	// Environment are variables that stand for it.
	Environment []string
}

// Spellings are the flag's names as they are typed: "--quiet", "-q".
func (f Flag) Spellings() []string {
	spelled := make([]string, 0, len(f.Names))
	for _, name := range f.Names {
		spelled = append(spelled, strings.Repeat("-", min(len(name), 2))+name)
	}
	return spelled
}

// Values are what may be typed somewhere.
type Values struct {
	Kind Kind
	// Words are what a value of kind OneOf is one of.
	Words []string
}

// Kind is a kind of values, as far as shells can list them.
type Kind string

// Kinds of values.
const (
	Free        Kind = "free"        // nobody but the user knows them
	OneOf       Kind = "words"       // one of a few words
	Files       Kind = "files"       // files, and directories on the way to them
	Directories Kind = "directories" // directories
	Programs    Kind = "programs"    // a program with arguments of its own
	Nothing     Kind = "nothing"     // there are none
)

// kind is the kind of v, with a meaning for the zero value.
func (v Values) kind() Kind {
	if v.Kind == "" {
		return Free
	}
	return v.Kind
}

// parents are the commands that have commands, and the program itself as "".
func (p Program) parents() []string {
	names := []string{""}
	for _, c := range p.Commands {
		if len(p.below(c.Words)) > 0 {
			names = append(names, c.Name())
		}
	}
	return names
}

// below are the commands of a command, or those of the program itself.
func (p Program) below(words []string) []Command {
	var below []Command
	for _, c := range p.Commands {
		if len(c.Words) == len(words)+1 && strings.Join(c.Words[:len(words)], " ") == strings.Join(words, " ") {
			below = append(below, c)
		}
	}
	return below
}

// all are the commands with the program itself in front, as one without a name.
func (p Program) all() []Command {
	return append([]Command{{About: p.About, Flags: p.Flags}}, p.Commands...)
}

// briefly is what there is room for beside a flag in a list: its first clause.
func briefly(about string) string {
	for _, end := range []string{"; ", ": ", " ("} {
		about, _, _ = strings.Cut(about, end)
	}
	const room = 72
	if len(about) <= room {
		return about
	}
	if at := strings.LastIndexAny(about[:room], " ,"); at > 0 {
		about = about[:at]
	}
	return strings.TrimRight(about, " ,") + " ..."
}
