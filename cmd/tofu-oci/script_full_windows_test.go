package main_test

import "github.com/rogpeppe/go-internal/testscript"

// onFullDisk requires limits that Windows does not have.
func onFullDisk() {}

func cmdFull(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("not on Windows") }
