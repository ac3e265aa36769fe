    $command = ''
    $awaited = ''
    $ended = $false
    $words = @()
    foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
        if ($element.Extent.EndOffset -ge $cursorPosition) { break }
        $word = $element.Extent.Text
        $words += $word.Trim("'", '"')
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
    } elseif ($providers -contains $command -and -not $ended) {
        foreach ($word in (& PROGRAM completion '--' providers $typed @words 2>$null)) { $offered[$word] = $word }
    } elseif ($values.ContainsKey($command)) {
        foreach ($word in $values[$command]) { $offered[$word] = $word }
    }
    foreach ($entry in $offered.GetEnumerator()) {
        if ($entry.Key.StartsWith($typed)) {
            [System.Management.Automation.CompletionResult]::new("$before$($entry.Key)", $entry.Key, 'ParameterValue', $entry.Value)
        }
    }
}
