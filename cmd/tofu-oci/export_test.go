package main

// What the external tests see of the program.
var (
	Main         = main
	NewApp       = newApp
	Described    = described
	Interspersed = interspersed
	ExitCode     = exitCode
	ParseSize    = parseSize
	ParseAge     = parseAge
)
