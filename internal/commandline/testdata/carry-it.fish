# Completion of carry-it for fish. Written by: carry-it completion fish

function __carry_it_at --description 'Tell whether the command line is at a command of carry-it'
    set -l command ''
    set -l words (commandline -opc)
    for word in $words[2..]
        test "$word" = -- && break
        set -l longer (string trim -- "$command $word")
        contains -- "$longer" 'lift' 'run' 'put' 'put down' && set command $longer
    end
    test "$command" = "$argv[1]"
end

complete -c carry-it -f
complete -c carry-it -n '__carry_it_at \'\'' -a lift -d 'lift what\'s [heavy]'
complete -c carry-it -n '__carry_it_at \'\'' -a run -d 'run something'
complete -c carry-it -n '__carry_it_at \'\'' -a put -d 'put it'
complete -c carry-it -n '__carry_it_at \'\'' -l help -s h -d 'show this help'
complete -c carry-it -n '__carry_it_at \'lift\'' -F
complete -c carry-it -n '__carry_it_at \'lift\'' -l how -s w -r -f -a 'up down' -d 'WAY'
complete -c carry-it -n '__carry_it_at \'lift\'' -l into -r -f -a '(__fish_complete_directories)' -d 'into DIR'
complete -c carry-it -n '__carry_it_at \'lift\'' -l list -r -F -d 'from FILE'
complete -c carry-it -n '__carry_it_at \'lift\'' -l name -r -f -d 'NAME'
complete -c carry-it -n '__carry_it_at \'lift\'' -l quiet -s q -d 'don\'t tell'
complete -c carry-it -n '__carry_it_at \'lift\'' -l help -s h -d 'show this help'
complete -c carry-it -n '__carry_it_at \'run\'' -f -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c carry-it -n '__carry_it_at \'run\'' -l help -s h -d 'show this help'
complete -c carry-it -n '__carry_it_at \'put\'' -a down -d 'put it down'
complete -c carry-it -n '__carry_it_at \'put\'' -l help -s h -d 'show this help'
complete -c carry-it -n '__carry_it_at \'put down\'' -l help -s h -d 'show this help'
