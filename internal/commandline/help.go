package commandline

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

const (
	// defaultWidth is the width of help texts if the output is not a terminal.
	defaultWidth = 80
	// minWidth and maxWidth limit the width if the output is a terminal. Paragraphs are
	// narrower, because long lines are hard to read.
	minWidth, maxWidth, maxParagraph = 60, 200, 100
	// flagColumn and commandColumn are the columns where descriptions start.
	flagColumn, commandColumn = 31, 14
)

// Groups of flags. They are the headings of help texts, in this order, and the
// categories of flags in urfave/cli.
const (
	GroupSelection = "Selection" // providers, versions, platforms, and repositories
	GroupOperation = "Operation" // how the command works, and what it writes
	GroupTrust     = "Trust"     // signatures and keys
	GroupServer    = "Server"    // a server's addresses, TLS, and access control
	GroupNetwork   = "Network"   // configuration and connections
	GroupOutput    = "Output"
)

// commonFlags contains the flags of almost all commands that connect to registries.
// "help flags" describes them once.
var commonFlags = []string{"config", "ca-file", "client-cert", "client-key", "plain-http", "token-realm", "timeout", "output", "quiet", "color", "debug", "help"}

// fewCommonFlags is a small number of common flags. If a command has no more, its help
// describes them itself.
const fewCommonFlags = 6

// Groups lists the groups of flags in the order in which help texts list them.
var Groups = []string{
	GroupSelection, GroupOperation, GroupTrust, GroupServer, GroupNetwork, GroupOutput,
}

// terminalWidth returns the width of help texts on w: the terminal's width, limited to
// the range from minWidth to maxWidth. If w is not a terminal, it returns defaultWidth.
func terminalWidth(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return defaultWidth
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return defaultWidth
	}
	return min(max(width, minWidth), maxWidth)
}

// help returns the program's help text, with the commands in groups.
func (p Program) help(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s COMMAND [ARGUMENT...] [FLAG...]\n\n%s", p.Name, wrapText(sentence(p.Summary)+" "+p.Text, width))
	group := ""
	for _, c := range p.subcommands(nil) {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n%s:\n", group)
		}
		writeEntry(&b, commandColumn, width, c.Path[0], c.Summary)
	}
	return b.String()
}

// flagsHelp returns the help text for the common flags.
func (p Program) flagsHelp(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s COMMAND [ARGUMENT...] [FLAG...]\n\n%s", p.Name, wrapText(p.FlagsText, width))
	writeFlags(&b, p.common(), width)
	return b.String()
}

// common returns the common flags.
func (p Program) common() []Flag {
	var flags []Flag
	for _, name := range commonFlags {
		for _, c := range p.Commands {
			if i := slices.IndexFunc(c.Flags, func(f Flag) bool { return f.Names[0] == name }); i >= 0 {
				flags = append(flags, c.Flags[i])
				break
			}
		}
	}
	return flags
}

// withoutCommon returns the flags that "help flags" doesn't describe. If few flags are
// common, it returns all flags.
func (p Program) withoutCommon(flags []Flag) []Flag {
	common := p.common()
	own := slices.DeleteFunc(slices.Clone(flags), func(f Flag) bool {
		return slices.ContainsFunc(common, func(c Flag) bool { return c.Names[0] == f.Names[0] && c.Description == f.Description })
	})
	if len(flags)-len(own) <= fewCommonFlags {
		return flags
	}
	return own
}

// commandHelp returns a command's help text.
func (p Program) commandHelp(c Command, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s %s %s\n\n%s", p.Name, c.Name(), c.Usage, wrapText(sentence(c.Summary)+" "+c.Text, width))
	if len(p.subcommands(c.Path)) > 0 {
		b.WriteString("\nCommands:\n")
		for _, sub := range p.subcommands(c.Path) {
			writeEntry(&b, commandColumn, width, sub.Path[len(sub.Path)-1], sub.Summary)
		}
	}
	own := p.withoutCommon(c.Flags)
	writeFlags(&b, own, width)
	if len(own) < len(c.Flags) {
		fmt.Fprintf(&b, "\nFor common flags, such as --config and --output, see %s help flags.\n", p.Name)
	}
	return b.String()
}

// writeFlags writes the flags, group by group.
func writeFlags(b *strings.Builder, flags []Flag, width int) {
	for _, group := range Groups {
		heading := "\n" + group + ":\n"
		for _, f := range flags {
			if f.Group != group {
				continue
			}
			b.WriteString(heading)
			heading = ""
			term, description := strings.Join(f.Spellings(), ", "), f.Description
			if f.Placeholder != "" {
				term += " " + f.Placeholder
			}
			if f.Repeatable {
				term += "..."
			}
			if f.Variable != "" && f.Variable != variableFor(f.Names[0]) {
				description += " [$" + f.Variable + "]"
			}
			writeEntry(b, flagColumn, width, term, description)
		}
	}
}

// writeEntry writes a term and its description in two columns.
func writeEntry(b *strings.Builder, column, width int, term, description string) {
	left := term
	if len(left) > column-3 {
		fmt.Fprintf(b, "  %s\n", left)
		left = ""
	}
	for _, line := range text.Wrap(description, width-column, "") {
		fmt.Fprintf(b, "  %-*s%s\n", column-2, left, line)
		left = ""
	}
}

// wrapText wraps the given paragraphs. It keeps indented lines unchanged.
func wrapText(paragraphs string, width int) string {
	var b strings.Builder
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			b.WriteString(strings.Join(text.Wrap(strings.Join(paragraph, " "), min(width, maxParagraph), ""), "\n") + "\n")
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(paragraphs), "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		b.WriteString(line + "\n")
	}
	flush()
	return b.String()
}
