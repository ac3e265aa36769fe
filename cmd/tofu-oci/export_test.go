package main

import (
	"runtime/debug"
	"slices"
	"strings"
)

// What the external tests see of the program.
var (
	Main         = main
	NewApp       = newApp
	Described    = described
	Interspersed = interspersed
	VariableOf   = variableOf
	NoVariable   = noVariable
	OwnVariables = ownVariables
	ExitCode     = exitCode
	ParseSize    = parseSize
	ParseAge     = parseAge
	// FlagsOfConditions are the flags that conditions of variables name, behind their command.
	FlagsOfConditions = func() []string {
		var named []string
		for _, c := range conditions {
			for _, flag := range slices.Concat(c.variables, c.unless, []string{c.with}) {
				if flag != argument {
					named = append(named, strings.TrimSpace(c.command+" "+flag))
				}
			}
		}
		return named
	}
	BuildOf = func(info *debug.BuildInfo, version, commit, date string) build {
		return buildOf(info, stamps{version, commit, date})
	}
)
