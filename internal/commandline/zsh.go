package commandline

import (
	"fmt"
	"strings"
)

// Zsh is a script that completes the program in zsh, as a file _PROGRAM of the
// function path or sourced behind compinit. It does not start the program.
func (p Program) Zsh() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n# Completion of %[1]s for zsh. Written by: %[1]s completion zsh\n", p.Name)
	for _, name := range p.parents() {
		p.zshParent(&b, strings.Fields(name))
	}
	for _, c := range p.Commands {
		if len(p.below(c.Words)) == 0 {
			fmt.Fprintf(&b, "\n%s() {\n\t_arguments -S%s\n}\n", p.zshFunction(c.Words), zshSpecs(c.Flags, zshArguments(c)...))
		}
	}
	fmt.Fprintf(&b, `
if [[ ${funcstack[1]} == _%[1]s ]]; then
	_%[1]s "$@"
else
	compdef _%[1]s %[1]s
fi
`, p.Name)
	return b.String()
}

// zshParent writes the function of what has commands: it completes their names, and
// calls their functions for what follows.
func (p Program) zshParent(b *strings.Builder, words []string) {
	flags := p.Flags
	for _, c := range p.Commands {
		if strings.Join(c.Words, " ") == strings.Join(words, " ") {
			flags = c.Flags
		}
	}
	specs := zshSpecs(flags, zshQuoted("1:command:->command"), zshQuoted("*::argument:->argument"))
	fmt.Fprintf(b, "\n%s() {\n\tlocal curcontext=$curcontext state line ret=1\n\tlocal -a names\n\ttypeset -A opt_args\n\t_arguments -C -S%s && ret=0\n", p.zshFunction(words), specs)
	b.WriteString("\tcase $state in\n\tcommand)\n\t\tnames=(\n")
	for _, c := range p.below(words) {
		fmt.Fprintf(b, "\t\t\t%s\n", zshQuoted(c.Words[len(c.Words)-1]+":"+strings.ReplaceAll(briefly(c.About), ":", `\:`)))
	}
	b.WriteString("\t\t)\n\t\t_describe -t commands command names && ret=0\n\t\t;;\n\targument)\n\t\tcase $line[1] in\n")
	for _, c := range p.below(words) {
		fmt.Fprintf(b, "\t\t%s) %s && ret=0 ;;\n", c.Words[len(c.Words)-1], p.zshFunction(c.Words))
	}
	b.WriteString("\t\tesac\n\t\t;;\n\tesac\n\treturn ret\n}\n")
}

// zshFunction is the function of a command, or of the program.
func (p Program) zshFunction(words []string) string {
	if len(words) == 0 {
		return "_" + p.Name
	}
	return "__" + p.Name + "-" + strings.Join(words, "-")
}

// zshSpecs are the arguments of _arguments, a line each.
func zshSpecs(flags []Flag, arguments ...string) string {
	var b strings.Builder
	for _, f := range flags {
		b.WriteString(" \\\n\t\t" + zshFlag(f))
	}
	for _, argument := range arguments {
		b.WriteString(" \\\n\t\t" + argument)
	}
	return b.String()
}

// zshFlag is a flag as _arguments wants it: what it excludes, its names, an explanation,
// and what follows.
func zshFlag(f Flag) string {
	about := "[" + strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(briefly(f.About)) + "]"
	rest := about
	if f.Word != "" {
		rest += zshValue(f.Word, f.Values)
	}
	var names []string
	for _, spelling := range f.Spellings() {
		if f.Word != "" && strings.HasPrefix(spelling, "--") {
			spelling += "=" // its value may follow in the same word
		}
		names = append(names, spelling)
	}
	before := ""
	switch {
	case f.Names[0] == "help" || f.Names[0] == "version":
		before = "(- *)"
	case f.Repeatable:
		before = "*"
	case len(names) > 1:
		before = "(" + strings.Join(f.Spellings(), " ") + ")"
	}
	if len(names) == 1 {
		return zshQuoted(before + names[0] + rest)
	}
	return zshQuoted(before) + "{" + strings.Join(names, ",") + "}" + zshQuoted(rest)
}

// zshValue is the part of a specification that says what a value is, and who completes it.
func zshValue(word string, v Values) string {
	action := " "
	switch v.kind() {
	case OneOf:
		action = "(" + strings.Join(v.Words, " ") + ")"
	case Files:
		action = "_files"
	case Directories:
		action = "_files -/"
	}
	return ":" + strings.ReplaceAll(word, ":", `\:`) + ":" + action
}

// zshArguments are the specifications of what is no flag.
func zshArguments(c Command) []string {
	word, _, _ := strings.Cut(strings.Trim(c.Usage, "["), " ")
	word = strings.TrimRight(strings.ReplaceAll(word, "...", ""), "]")
	switch c.Arguments.kind() {
	case Nothing:
		return nil
	case Programs:
		return []string{zshQuoted("*:::program:_normal")} // as its own line, without what is in front
	}
	return []string{zshQuoted("*" + zshValue(word, c.Arguments))}
}

// zshQuoted is a word of a script, whatever is in it.
func zshQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
