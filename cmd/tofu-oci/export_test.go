package main

import (
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/report"
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
	BuildOf = func(info *debug.BuildInfo, version, commit, date string) report.Build {
		return buildOf(info, stamps{version, commit, date})
	}
)
