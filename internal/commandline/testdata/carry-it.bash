# Completion of carry-it for bash. Written by: carry-it completion bash

# Sets candidates to the commands of a command.
__carry_it_commands() {
	case $1 in
	'') candidates='lift run put' ;;
	'put') candidates='down' ;;
	*) candidates='' ;;
	esac
}

# Sets candidates to the flags of a command.
__carry_it_flags() {
	case $1 in
	'') candidates='--help -h' ;;
	'lift') candidates='--how -w --into --list --name --quiet -q --help -h' ;;
	'run') candidates='--help -h' ;;
	'put') candidates='--help -h' ;;
	'put down') candidates='--help -h' ;;
	esac
}

# Sets kind and candidates to what a flag of a command, or the command itself, takes.
__carry_it_values() {
	kind='' candidates=''
	case "$1 $2" in
	'lift --how' | 'lift -w') kind=words candidates='up down' ;;
	'lift --into') kind=directories ;;
	'lift --list' | 'lift ') kind=files ;;
	'lift --name') kind=free ;;
	'run ') kind=programs ;;
	'put ') kind=free ;;
	'put down ') kind=nothing ;;
	esac
}

_carry_it() {
	local current=${COMP_WORDS[COMP_CWORD]} command='' awaited='' own='' kind='' candidates='' word i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [[ -n $awaited ]]; then
			[[ $word == '=' ]] || awaited=''
		elif [[ $word == '--' ]]; then
			own=${own:-none}
		elif [[ $word == -* && -z $own ]]; then
			__carry_it_values "$command" "$word"
			[[ -z $kind ]] || awaited=$word
		else
			__carry_it_commands "$command"
			if [[ " $candidates " == *" $word "* ]]; then
				command=${command:+$command }$word
			else
				__carry_it_values "$command" ''
				[[ $kind != programs ]] || own=program
			fi
		fi
	done
	[[ $current != '=' ]] || current=''

	if [[ -z $awaited && -z $own && $current == -* ]]; then
		kind=words
		__carry_it_flags "$command"
	else
		__carry_it_values "$command" "$awaited"
		if [[ -z $awaited ]]; then
			local values=$candidates
			__carry_it_commands "$command"
			[[ -z $candidates ]] || kind=words
			candidates=${candidates:-$values}
			[[ $own != program ]] || kind=files
		fi
	fi

	local IFS=$' \t\n'
	case $kind in
	words) COMPREPLY=($(compgen -W "$candidates" -- "$current")) ;;
	nothing)
		__carry_it_flags "$command"
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

complete -F _carry_it carry-it
