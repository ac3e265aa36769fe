package main_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// answers FILE runs the calls in a transcript (lines that start with "$ tofu-oci") and writes the
// output to `answered` for cmp. Words are split like in a shell, with single quotes and
// variables. The working directory and the addresses of the servers are replaced with
// variables, and the names of denials, which depend on the time, with HEX.
func cmdAnswers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: answers FILE")
	}
	var answered bytes.Buffer
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		call, isCall := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ tofu-oci")
		if !isCall {
			continue
		}
		if answered.Len() > 0 {
			answered.WriteString("\n")
		}
		code := runAny(ts, program, words(ts, call))
		fmt.Fprintf(&answered, "$ tofu-oci%s\n%s%s[%d]\n", call, ts.ReadFile("stdout"), ts.ReadFile("stderr"), code)
	}
	text := answered.String()
	for _, name := range []string{"REGISTRY", "ORIGIN", "PROXY", "PLAIN", "WORK"} {
		if value := ts.Getenv(name); value != "" {
			text = strings.ReplaceAll(text, value, "$"+name)
		}
	}
	text = regexp.MustCompile(`deny-[0-9a-f]{12}`).ReplaceAllString(text, "deny-HEX") // it contains the time
	ts.Check(os.WriteFile(ts.MkAbs("answered"), []byte(text), 0o600))
}

// words splits a call into arguments.
func words(ts *testscript.TestScript, call string) []string {
	var all []string
	for i, part := range strings.Split(call, "'") {
		if i%2 == 1 { // quoted
			all = append(all, part)
			continue
		}
		for word := range strings.FieldsSeq(part) {
			all = append(all, os.Expand(word, ts.Getenv))
		}
	}
	return all
}
