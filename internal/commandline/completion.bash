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
	[[ $current != [=@:] ]] || current=''

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
	providers) # bash also splits words at "@" and ":", so the reply contains only the end of the word
		local line=${COMP_LINE:0:COMP_POINT} words
		read -r -a words <<<"${line//[\"\']/}"
		[[ $line != *' ' ]] || words+=('')
		word=${words[${#words[@]} - 1]}
		for i in $(PROGRAM completion -- providers "$word" "${words[@]:1:${#words[@]} - 2}" 2>/dev/null); do
			COMPREPLY+=("${i#"${word%"$current"}"}")
		done
		compopt -o nosort 2>/dev/null || true # versions are sorted; bash 4.4 and later
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
