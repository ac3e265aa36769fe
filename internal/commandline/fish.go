package commandline

import (
	"fmt"
	"strings"
)

// Fish is a script that completes the program in fish 3 and later. It does not start
// the program.
func (p Program) Fish() string {
	var b strings.Builder
	at := "__" + strings.ReplaceAll(p.Name, "-", "_") + "_at"
	var names []string
	for _, c := range p.Commands {
		names = append(names, fishQuoted(c.Name()))
	}
	fmt.Fprintf(&b, `# Completion of %[1]s for fish. Written by: %[1]s completion fish

function %[2]s --description 'Tell whether the command line is at a command of %[1]s'
    set -l command ''
    set -l words (commandline -opc)
    for word in $words[2..]
        test "$word" = -- && break
        set -l longer (string trim -- "$command $word")
        contains -- "$longer" %[3]s && set command $longer
    end
    test "$command" = "$argv[1]"
end

complete -c %[1]s -f
`, p.Name, at, strings.Join(names, " "))
	for _, c := range p.all() {
		line := fmt.Sprintf("complete -c %s -n %s", p.Name, fishQuoted(at+" "+fishQuoted(c.Name())))
		for _, sub := range p.below(c.Words) {
			fmt.Fprintf(&b, "%s -a %s -d %s\n", line, sub.Words[len(sub.Words)-1], fishQuoted(briefly(sub.About)))
		}
		if arguments := fishArguments(c); arguments != "" {
			fmt.Fprintf(&b, "%s %s\n", line, arguments)
		}
		for _, f := range c.Flags {
			fmt.Fprintf(&b, "%s %s\n", line, fishFlag(f))
		}
	}
	return b.String()
}

// fishFlag is a flag as the options of complete.
func fishFlag(f Flag) string {
	var options []string
	for _, name := range f.Names {
		options = append(options, map[bool]string{true: "-s ", false: "-l "}[len(name) == 1]+name)
	}
	if f.Word != "" {
		options = append(options, "-r", fishValues(f.Values))
	}
	return strings.Join(append(options, "-d "+fishQuoted(briefly(f.About))), " ")
}

func fishValues(v Values) string {
	switch v.kind() {
	case OneOf:
		return "-f -a " + fishQuoted(strings.Join(v.Words, " "))
	case Files:
		return "-F"
	case Directories:
		return "-f -a '(__fish_complete_directories)'"
	}
	return "-f"
}

// fishArguments is what is no flag, empty where fish has nothing to say.
func fishArguments(c Command) string {
	switch c.Arguments.kind() {
	case Free, Nothing:
		return ""
	case Programs:
		skip := []string{fmt.Sprintf("--fcs-skip=%d", 1+len(c.Words))}
		for _, f := range c.Flags {
			if f.Word != "" {
				skip = append(skip, f.Spellings()...)
			}
		}
		return "-f -a " + fishQuoted("(__fish_complete_subcommand "+strings.Join(skip, " ")+")")
	}
	return fishValues(c.Arguments)
}

// fishQuoted is a word of a script, whatever is in it.
func fishQuoted(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
