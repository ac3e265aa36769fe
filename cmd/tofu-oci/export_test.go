package main

import "runtime/debug"

// What the external tests see of the program.
var (
	Main         = main
	NewApp       = newApp
	Described    = described
	Interspersed = interspersed
	ExitCode     = exitCode
	ParseSize    = parseSize
	ParseAge     = parseAge
	BuildOf      = func(info *debug.BuildInfo, version, commit, date string) build {
		return buildOf(info, stamps{version, commit, date})
	}
)
