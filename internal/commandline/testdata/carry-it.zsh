#compdef carry-it
# Completion of carry-it for zsh. Written by: carry-it completion zsh

_carry-it() {
	local curcontext=$curcontext state line ret=1
	local -a names
	typeset -A opt_args
	_arguments -C -S \
		'(- *)'{--help,-h}'[show this help]' \
		'1:command:->command' \
		'*::argument:->argument' && ret=0
	case $state in
	command)
		names=(
			'lift:lift what'\''s [heavy]'
			'run:run something'
			'put:put it'
		)
		_describe -t commands command names && ret=0
		;;
	argument)
		case $line[1] in
		lift) __carry-it-lift && ret=0 ;;
		run) __carry-it-run && ret=0 ;;
		put) __carry-it-put && ret=0 ;;
		esac
		;;
	esac
	return ret
}

__carry-it-put() {
	local curcontext=$curcontext state line ret=1
	local -a names
	typeset -A opt_args
	_arguments -C -S \
		'(- *)'{--help,-h}'[show this help]' \
		'1:command:->command' \
		'*::argument:->argument' && ret=0
	case $state in
	command)
		names=(
			'down:put it down'
		)
		_describe -t commands command names && ret=0
		;;
	argument)
		case $line[1] in
		down) __carry-it-put-down && ret=0 ;;
		esac
		;;
	esac
	return ret
}

__carry-it-lift() {
	_arguments -S \
		'*'{--how=,-w}'[WAY]:WAY\:X:(up down)' \
		'--into=[into DIR]:DIR:_files -/' \
		'--list=[from FILE]:FILE:_files' \
		'--name=[NAME]:NAME: ' \
		'(--quiet -q)'{--quiet,-q}'[don'\''t tell]' \
		'(- *)'{--help,-h}'[show this help]' \
		'*:PATH:_files'
}

__carry-it-run() {
	_arguments -S \
		'(- *)'{--help,-h}'[show this help]' \
		'*:::program:_normal'
}

__carry-it-put-down() {
	_arguments -S \
		'(- *)'{--help,-h}'[show this help]'
}

if [[ ${funcstack[1]} == _carry-it ]]; then
	_carry-it "$@"
else
	compdef _carry-it carry-it
fi
