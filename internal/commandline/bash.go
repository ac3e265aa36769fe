package commandline

import (
	"fmt"
	"strings"
)

// Bash is a script that completes the program in bash 3.2 and later: macOS has that
// one. It needs nothing beside bash, and does not start the program.
func (p Program) Bash() string {
	var b strings.Builder
	function := "_" + strings.ReplaceAll(p.Name, "-", "_")
	fmt.Fprintf(&b, "# Completion of %s for bash. Written by: %[1]s completion bash\n", p.Name)
	fmt.Fprintf(&b, "\n# Sets candidates to the commands of a command.\n_%s_commands() {\n\tcase $1 in\n", function)
	for _, name := range p.parents() {
		var words []string
		for _, c := range p.below(strings.Fields(name)) {
			words = append(words, c.Words[len(c.Words)-1])
		}
		fmt.Fprintf(&b, "\t'%s') candidates='%s' ;;\n", name, strings.Join(words, " "))
	}
	fmt.Fprintf(&b, "\t*) candidates='' ;;\n\tesac\n}\n\n# Sets candidates to the flags of a command.\n_%s_flags() {\n\tcase $1 in\n", function)
	for _, c := range p.all() {
		fmt.Fprintf(&b, "\t'%s') candidates='%s' ;;\n", c.Name(), strings.Join(spellings(c.Flags), " "))
	}
	fmt.Fprintf(&b, "\tesac\n}\n\n# Sets kind and candidates to what a flag of a command, or the command itself, takes.\n_%s_values() {\n\tkind='' candidates=''\n\tcase \"$1 $2\" in\n", function)
	for _, c := range p.all() {
		b.WriteString(bashValues(c))
	}
	b.WriteString("\tesac\n}\n")
	b.WriteString(strings.NewReplacer("FUNCTION", function, "PROGRAM", p.Name).Replace(bashLogic))
	return b.String()
}

// bashValues are the lines for what takes a value, those with equal values together.
func bashValues(c Command) string {
	var order []string
	patterns := map[string][]string{}
	add := func(spelling string, v Values) {
		action := fmt.Sprintf("kind=%s", v.kind())
		if v.kind() == OneOf {
			action += fmt.Sprintf(" candidates='%s'", strings.Join(v.Words, " "))
		}
		if patterns[action] == nil {
			order = append(order, action)
		}
		patterns[action] = append(patterns[action], fmt.Sprintf("'%s %s'", c.Name(), spelling))
	}
	for _, f := range c.Flags {
		if f.Word != "" {
			for _, spelling := range f.Spellings() {
				add(spelling, f.Values)
			}
		}
	}
	if len(c.Words) > 0 {
		add("", c.Arguments)
	}
	var b strings.Builder
	for _, action := range order {
		fmt.Fprintf(&b, "\t%s) %s ;;\n", strings.Join(patterns[action], " | "), action)
	}
	return b.String()
}

func spellings(flags []Flag) []string {
	var all []string
	for _, f := range flags {
		all = append(all, f.Spellings()...)
	}
	return all
}

// bashLogic goes through the words before the one to complete. Bash has split them at
// "=" and ":" too, as COMP_WORDBREAKS says.
//
//nolint:dupword // the language ends nested conditions so
const bashLogic = `
FUNCTION() {
	local current=${COMP_WORDS[COMP_CWORD]} command='' awaited='' own='' kind='' candidates='' word i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ -n $awaited ]]; then
			[[ $word == '=' ]] || awaited=''
		elif [[ $word == '--' ]]; then
			own=${own:-none}
		elif [[ $word == -* && -z $own ]]; then
			_FUNCTION_values "$command" "$word"
			[[ -z $kind ]] || awaited=$word
		else
			_FUNCTION_commands "$command"
			if [[ " $candidates " == *" $word "* ]]; then
				command=${command:+$command }$word
			else
				_FUNCTION_values "$command" ''
				[[ $kind != programs ]] || own=program
			fi
		fi
	done
	[[ $current != '=' ]] || current=''

	if [[ -z $awaited && -z $own && $current == -* ]]; then
		kind=words
		_FUNCTION_flags "$command"
	else
		_FUNCTION_values "$command" "$awaited"
		if [[ -z $awaited ]]; then
			local values=$candidates
			_FUNCTION_commands "$command"
			[[ -z $candidates ]] || kind=words
			candidates=${candidates:-$values}
			[[ $own != program ]] || kind=files
		fi
	fi

	local IFS=$' \t\n'
	case $kind in
	words) COMPREPLY=($(compgen -W "$candidates" -- "$current")) ;;
	nothing)
		_FUNCTION_flags "$command"
		COMPREPLY=($(compgen -W "$candidates" -- "$current"))
		;;
	files | directories | programs)
		IFS=$'\n'
		case $kind in
		files) COMPREPLY=($(compgen -f -- "$current")) ;;
		directories) COMPREPLY=($(compgen -d -- "$current")) ;;
		programs) COMPREPLY=($(compgen -c -- "$current")) ;;
		esac
		compopt -o filenames 2>/dev/null || true # bash 3.2 has no compopt
		;;
	esac
}

complete -F FUNCTION PROGRAM
`
