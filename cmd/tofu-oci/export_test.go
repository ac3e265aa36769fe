package main

import (
	"runtime/debug"

	"github.com/tofu-oci/tofu-oci/internal/report"
)

// Exports for external tests.
var (
	Main   = main
	NewApp = newApp
	Run    = run
	// CompleteProviders is the command completion with a time limit.
	CompleteProviders = completeProviders
	BuildOf           = func(info *debug.BuildInfo, version, commit, date string) report.Build {
		return buildOf(info, linkerValues{version, commit, date})
	}
)
