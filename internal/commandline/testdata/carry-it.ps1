# Completion of carry-it for PowerShell. Written by: carry-it completion powershell
Register-ArgumentCompleter -Native -CommandName 'carry-it', 'carry-it.exe' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    # Commands of a command, with what they do.
    $commands = @{
        '' = [ordered]@{
            'lift' = 'lift what''s [heavy]'
            'run' = 'run something'
            'put' = 'put it'
        }
        'put' = [ordered]@{
            'down' = 'put it down'
        }
    }
    # Flags of a command, with what they do.
    $flags = @{
        '' = [ordered]@{
            '--help' = 'show this help'
            '-h' = 'show this help'
        }
        'lift' = [ordered]@{
            '--how' = 'WAY'
            '-w' = 'WAY'
            '--into' = 'into DIR'
            '--list' = 'from FILE'
            '--name' = 'NAME'
            '--quiet' = 'don''t tell'
            '-q' = 'don''t tell'
            '--help' = 'show this help'
            '-h' = 'show this help'
        }
        'run' = [ordered]@{
            '--help' = 'show this help'
            '-h' = 'show this help'
        }
        'put' = [ordered]@{
            '--help' = 'show this help'
            '-h' = 'show this help'
        }
        'put down' = [ordered]@{
            '--help' = 'show this help'
            '-h' = 'show this help'
        }
    }
    # What a flag of a command takes, or behind the bare name the command itself: words, or none that are known.
    $values = @{
        'lift --how' = @('up', 'down')
        'lift -w' = @('up', 'down')
        'lift --into' = @()
        'lift --list' = @()
        'lift --name' = @()
    }

    $command = ''
    $awaited = ''
    $ended = $false
    foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
        if ($element.Extent.EndOffset -ge $cursorPosition) { break }
        $word = $element.Extent.Text
        if ($awaited) {
            $awaited = ''
        } elseif ($word -eq '--') {
            $ended = $true
        } elseif (-not $ended -and $word.StartsWith('-')) {
            if ($values.ContainsKey("$command $word".Trim())) { $awaited = $word }
        } elseif (-not $ended -and $commands.ContainsKey($command) -and $commands[$command].Contains($word)) {
            $command = "$command $word".Trim()
        }
    }

    $offered = [ordered]@{}
    $before = ''
    $typed = $wordToComplete
    if (-not $awaited -and -not $ended -and $typed -match '^(--[^=]+)=(.*)$') {
        $awaited = $Matches[1]
        $before = "$awaited="
        $typed = $Matches[2]
    }
    if ($awaited) {
        foreach ($word in $values["$command $awaited".Trim()]) { $offered[$word] = $word }
    } elseif ($typed.StartsWith('-') -and -not $ended) {
        $offered = $flags[$command]
    } elseif ($commands.ContainsKey($command) -and -not $ended) {
        $offered = $commands[$command]
    } elseif ($values.ContainsKey($command)) {
        foreach ($word in $values[$command]) { $offered[$word] = $word }
    }
    foreach ($entry in $offered.GetEnumerator()) {
        if ($entry.Key.StartsWith($typed)) {
            [System.Management.Automation.CompletionResult]::new("$before$($entry.Key)", $entry.Key, 'ParameterValue', $entry.Value)
        }
    }
}
