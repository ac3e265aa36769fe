package commandline

import (
	"fmt"
	"strings"
)

// PowerShell is a script that completes the program in PowerShell 5.1 and later. It
// does not start the program. Where it knows nothing, PowerShell offers files.
func (p Program) PowerShell() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Completion of %s for PowerShell. Written by: %[1]s completion powershell\n", p.Name)
	fmt.Fprintf(&b, "Register-ArgumentCompleter -Native -CommandName '%s', '%[1]s.exe' -ScriptBlock {\n", p.Name)
	b.WriteString("    param($wordToComplete, $commandAst, $cursorPosition)\n\n    # Commands of a command, with what they do.\n    $commands = @{\n")
	for _, name := range p.parents() {
		fmt.Fprintf(&b, "        %s = [ordered]@{\n", powershellQuoted(name))
		for _, c := range p.below(strings.Fields(name)) {
			fmt.Fprintf(&b, "            %s = %s\n", powershellQuoted(c.Words[len(c.Words)-1]), powershellQuoted(briefly(c.About)))
		}
		b.WriteString("        }\n")
	}
	b.WriteString("    }\n    # Flags of a command, with what they do.\n    $flags = @{\n")
	for _, c := range p.all() {
		fmt.Fprintf(&b, "        %s = [ordered]@{\n", powershellQuoted(c.Name()))
		for _, f := range c.Flags {
			for _, spelling := range f.Spellings() {
				fmt.Fprintf(&b, "            %s = %s\n", powershellQuoted(spelling), powershellQuoted(briefly(f.About)))
			}
		}
		b.WriteString("        }\n")
	}
	b.WriteString("    }\n    # What a flag of a command takes, or behind the bare name the command itself: words, or none that are known.\n    $values = @{\n")
	for _, c := range p.all() {
		b.WriteString(powershellValues(c))
	}
	b.WriteString("    }\n" + powershellLogic)
	return b.String()
}

func powershellValues(c Command) string {
	var b strings.Builder
	line := func(spelling string, v Values) {
		var words []string
		for _, word := range v.Words {
			words = append(words, powershellQuoted(word))
		}
		fmt.Fprintf(&b, "        %s = @(%s)\n", powershellQuoted(strings.TrimSpace(c.Name()+" "+spelling)), strings.Join(words, ", "))
	}
	for _, f := range c.Flags {
		if f.Word != "" {
			for _, spelling := range f.Spellings() {
				line(spelling, f.Values)
			}
		}
	}
	if c.Arguments.kind() == OneOf {
		line("", c.Arguments)
	}
	return b.String()
}

// powershellLogic goes through the words before the one to complete.
const powershellLogic = `
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
`

// powershellQuoted is a word of a script, whatever is in it.
func powershellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
