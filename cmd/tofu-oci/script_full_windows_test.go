package main_test

import "github.com/rogpeppe/go-internal/testscript"

// onFullDisk needs limits that Windows does not have.
func onFullDisk() {}

func cmdFull(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("not on Windows") }
