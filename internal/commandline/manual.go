package commandline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Manual returns the pages of section 1, in mdoc(7), by file name: one of the program,
// and one of each command, as "tofu-oci-cache-prune.1".
func (p Program) Manual() map[string]string {
	pages := map[string]string{p.Name + ".1": p.mainPage()}
	for _, c := range p.Commands {
		pages[p.pageName(c.Words)+".1"] = p.commandPage(c)
	}
	return pages
}

// Page is the page of a command, or of the program; none is false.
func (p Program) Page(words ...string) (string, bool) {
	page, found := p.Manual()[p.pageName(words)+".1"]
	return page, found
}

func (p Program) pageName(words []string) string {
	return strings.Join(append([]string{p.Name}, words...), "-")
}

func (p Program) mainPage() string {
	b := p.pageHead(nil, p.About)
	macro(b, "Nm %s", p.Name)
	macro(b, "Ar command")
	macro(b, "Op Ar argument ...")
	macro(b, "Op Ar flag ...")
	b.WriteString(".Sh DESCRIPTION\n")
	writeText(b, sentence(p.About)+"\n\n"+p.Text)
	b.WriteString(".Sh COMMANDS\n.Bl -tag -width Ds\n")
	for _, c := range p.Commands {
		if len(p.below(c.Words)) > 0 {
			continue // the commands of it are listed
		}
		macro(b, "It Xr %s 1", p.pageName(c.Words))
		writeParagraph(b, sentence(c.About))
	}
	b.WriteString(".El\n")
	p.pageFoot(b, Command{Flags: p.Flags}, "")
	return b.String()
}

func (p Program) commandPage(c Command) string {
	b := p.pageHead(c.Words, c.About)
	macro(b, "Nm %s", p.Name)
	macro(b, "Cm %s", roff(c.Name()))
	if c.Usage != "" {
		b.WriteString(roff(c.Usage) + "\n")
	}
	text, examples, _ := strings.Cut(c.Text, "Examples:\n")
	if c.Reads != "" {
		text = strings.TrimSpace(text) + "\n\n" + c.Reads
	}
	b.WriteString(".Sh DESCRIPTION\n")
	writeText(b, sentence(c.About)+"\n\n"+text)
	p.pageFoot(b, c, examples)
	return b.String()
}

// pageHead begins a page, up to its synopsis.
func (p Program) pageHead(words []string, about string) *strings.Builder {
	var b strings.Builder
	name := p.pageName(words)
	b.WriteString(`.\" Written by: ` + strings.Join(append([]string{p.Name, "man"}, words...), " ") + "\n")
	if p.Date.IsZero() {
		b.WriteString(".Dd\n")
	} else {
		macro(&b, "Dd %s", p.Date.UTC().Format("January 2, 2006"))
	}
	macro(&b, "Dt %s 1", strings.ToUpper(name))
	b.WriteString(".Os\n.Sh NAME\n")
	macro(&b, "Nm %s", name)
	macro(&b, "Nd %s", roff(about))
	b.WriteString(".Sh SYNOPSIS\n")
	return &b
}

// pageFoot ends a page: flags, environment, examples, and pages that go with it.
func (p Program) pageFoot(b *strings.Builder, c Command, examples string) {
	if len(c.Flags) > 0 {
		b.WriteString(".Sh OPTIONS\n.Bl -tag -width Ds\n")
		variables := map[string]string{}
		for _, f := range c.Flags {
			macro(b, "It %s", manualFlag(f))
			writeParagraph(b, sentence(f.About))
			for _, variable := range f.Environment {
				variables[variable] = f.Spellings()[0]
			}
		}
		b.WriteString(".El\n")
		if len(variables) > 0 {
			b.WriteString(".Sh ENVIRONMENT\n.Bl -tag -width Ds\n")
			for _, variable := range slices.Sorted(maps.Keys(variables)) {
				macro(b, "It Ev %s", variable)
				b.WriteString("Stands for\n")
				macro(b, "Fl %s .", roff(strings.TrimPrefix(variables[variable], "-")))
			}
			b.WriteString(".El\n")
		}
	}
	if examples != "" {
		b.WriteString(".Sh EXAMPLES\n")
		writeText(b, examples)
	}
	if also := p.related(c.Words); len(also) > 0 {
		b.WriteString(".Sh SEE ALSO\n")
		for i, name := range also {
			comma := map[bool]string{true: " ,"}[i < len(also)-1]
			macro(b, "Xr %s 1%s", name, comma)
		}
	}
}

// related are the pages of the program and of the commands around a command.
func (p Program) related(words []string) []string {
	if len(words) == 0 {
		return nil // COMMANDS has them
	}
	names := []string{p.Name}
	for _, c := range p.Commands {
		near := slices.Equal(c.Words[:1], words[:1])
		if near && !slices.Equal(c.Words, words) {
			names = append(names, p.pageName(c.Words))
		}
	}
	slices.Sort(names)
	return names
}

// manualFlag is a flag's names and value as macros.
func manualFlag(f Flag) string {
	var names []string
	for _, spelling := range f.Spellings() {
		names = append(names, "Fl "+roff(strings.TrimPrefix(spelling, "-")))
	}
	text := strings.Join(names, " , ")
	if f.Word != "" {
		text += " Ar " + roff(f.Word)
	}
	return text
}

// writeText writes paragraphs, and as they are those lines that begin with a blank.
func writeText(b *strings.Builder, text string) {
	for i, block := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString(".Pp\n")
		}
		lines := strings.Split(block, "\n")
		for len(lines) > 0 {
			indented := strings.HasPrefix(lines[0], " ")
			end := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, " ") != indented })
			if end < 0 {
				end = len(lines)
			}
			if indented {
				writeLiteral(b, lines[:end])
			} else {
				writeParagraph(b, strings.Join(lines[:end], " "))
			}
			lines = lines[end:]
		}
	}
}

// writeLiteral writes lines as they are, but for what they are indented by.
func writeLiteral(b *strings.Builder, lines []string) {
	b.WriteString(".Bd -literal -offset indent -compact\n")
	for _, literal := range lines {
		b.WriteString(roff(strings.TrimPrefix(strings.TrimPrefix(literal, "  "), " ")) + "\n")
	}
	b.WriteString(".Ed\n")
}

// writeParagraph writes sentences, each on lines of its own: how far apart they stand
// is for the formatter to say.
func writeParagraph(b *strings.Builder, text string) {
	const width = 78
	at := 0
	for word := range strings.FieldsSeq(text) {
		escaped := roff(word)
		switch {
		case at == 0:
		case at+1+len(escaped) > width:
			b.WriteString("\n")
			at = 0
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(escaped)
		at += len(escaped)
		if endsSentence(word) {
			b.WriteString("\n")
			at = 0
		}
	}
	if at > 0 {
		b.WriteString("\n")
	}
}

func endsSentence(word string) bool {
	bare := strings.TrimRight(word, `)]"'`)
	return strings.HasSuffix(bare, ".") || strings.HasSuffix(bare, "?") || strings.HasSuffix(bare, "!")
}

// macro writes a line that is a macro, with words that need no escaping: names of
// pages have their hyphens plain, since they are looked up by them.
func macro(b *strings.Builder, format string, words ...any) {
	fmt.Fprintf(b, "."+format+"\n", words...)
}

// roff escapes a text so that each character stands for itself: a hyphen is one that
// can be copied, and nothing at the beginning of a line is a macro.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "~", `\(ti`, "^", `\(ha`, `"`, `\(dq`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

// sentence is a clause with a capital and a full stop.
func sentence(about string) string {
	return strings.ToUpper(about[:1]) + strings.TrimSuffix(about[1:], ".") + "."
}
