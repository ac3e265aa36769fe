package commandline

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

const (
	// defaultWidth is the width of help texts if the output is not a terminal.
	defaultWidth = 80
	// minWidth and maxWidth limit the width if the output is a terminal. Paragraphs are
	// narrower, because long lines are hard to read.
	minWidth, maxWidth, maxParagraph = 60, 200, 100
	// flagColumn and commandColumn are the columns where descriptions start.
	flagColumn, commandColumn = 29, 14
)

// Groups of flags. They are the headings of help texts, in this order, and the
// categories of flags in urfave/cli.
const (
	GroupSelection = "Selection" // providers, versions, platforms, and repositories
	GroupOperation = "Operation" // how the command works
	GroupContent   = "Content"   // written content
	GroupTrust     = "Trust"     // signatures and keys
	GroupAccess    = "Access"    // access to a server
	GroupServer    = "Server"    // a server's addresses, TLS, and limits
	GroupTransfer  = "Transfer"  // caching and concurrency
	GroupNetwork   = "Network"   // configuration and connections
	GroupOutput    = "Output"
	flagsHeading   = "Flags" // flags of the program itself
)

// Groups lists the groups of flags in the order in which help texts list them.
var Groups = []string{
	GroupSelection, GroupOperation, GroupContent, GroupTrust, GroupAccess, GroupServer, GroupTransfer, GroupNetwork, GroupOutput,
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

// help returns the program's help text.
func (p Program) help(width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s COMMAND [ARGUMENT...] [FLAG...]\n\n%s\nCommands:\n", p.Name, wrapText(sentence(p.Summary)+" "+p.Text, width))
	p.writeCommands(&b, nil, width)
	writeFlags(&b, p.Flags, width)
	return b.String()
}

// commandHelp returns a command's help text.
func (p Program) commandHelp(c Command, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s %s %s\n\n%s", p.Name, c.Name(), c.Usage, wrapText(sentence(c.Summary)+" "+c.Text, width))
	if len(p.subcommands(c.Path)) > 0 {
		b.WriteString("\nCommands:\n")
		p.writeCommands(&b, c.Path, width)
	}
	writeFlags(&b, c.Flags, width)
	return b.String()
}

func (p Program) writeCommands(b *strings.Builder, parent []string, width int) {
	for _, c := range p.subcommands(parent) {
		writeEntry(b, commandColumn, width, c.Path[len(c.Path)-1], c.Summary)
	}
}

// writeFlags writes the flags, group by group.
func writeFlags(b *strings.Builder, flags []Flag, width int) {
	for _, group := range append(slices.Clone(Groups), flagsHeading) {
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
	for _, line := range wrap(description, width-column) {
		fmt.Fprintf(b, "  %-*s%s\n", column-2, left, line)
		left = ""
	}
}

// wrapText wraps the paragraphs of text. It keeps indented lines unchanged.
func wrapText(text string, width int) string {
	var b strings.Builder
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			b.WriteString(strings.Join(wrap(strings.Join(paragraph, " "), min(width, maxParagraph)), "\n") + "\n")
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
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

// wrap splits text between words into lines of at most width characters.
func wrap(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		switch {
		case lines[last] == "":
			lines[last] = word
		case len(lines[last])+1+len(word) <= width:
			lines[last] += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
