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
	Run          = run
	Described    = described
	Interspersed = interspersed
	VariableOf   = variableOf
	NoVariable   = noVariable
	OwnVariables = ownVariables
	ParseSize    = parseSize
	UnifiedDiff  = unifiedDiff
	ParseAge     = parseAge
	// FlagsOfRules are the flags that rules name, behind their command.
	FlagsOfRules = func() []string {
		var named []string
		for _, r := range rules {
			for _, name := range slices.Concat(r.refused, r.beside, r.without) {
				if flag, _, _ := strings.Cut(name, "="); flag != argument {
					named = append(named, strings.TrimSpace(r.command+" "+flag))
				}
			}
		}
		return named
	}
	BuildOf = func(info *debug.BuildInfo, version, commit, date string) build {
		return buildOf(info, stamps{version, commit, date})
	}
)
