package main_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// expand FILE... replaces REGISTRY and ORIGIN with the host and port of the OCI registry
// and of the origin registry, and AUTHOR with the fingerprint of the key of secret-key
// author.
func cmdExpand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := strings.NewReplacer("REGISTRY", ts.Getenv("REGISTRY"), "ORIGIN", ts.Getenv("ORIGIN"), "AUTHOR", ts.Getenv("AUTHOR")).Replace(ts.ReadFile(name))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// retag REPOSITORY TAG NEW adds a tag to the content of an existing tag in the OCI registry.
func cmdRetag(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: retag REPOSITORY TAG NEW")
	}
	registry := worldOf(ts).registry.Load()
	path := "/v2/" + args[0] + "/manifests/"
	got := httptest.NewRecorder()
	registry.ServeHTTP(got, httptest.NewRequest(http.MethodGet, path+args[1], nil))
	put := httptest.NewRequest(http.MethodPut, path+args[2], got.Body)
	put.Header.Set("Content-Type", got.Header().Get("Content-Type"))
	done := httptest.NewRecorder()
	registry.ServeHTTP(done, put)
	if done.Code != http.StatusCreated {
		ts.Fatalf("registry responded with %d", done.Code)
	}
}

// normalize FILE writes the output of the last run to FILE. It replaces the address of the
// OCI registry with REGISTRY, digests with DIGEST, and the names of probes with ID.
func cmdNormalize(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: normalize FILE")
	}
	text := strings.ReplaceAll(ts.ReadFile("stdout"), ts.Getenv("REGISTRY"), "REGISTRY")
	text = regexp.MustCompile(`\b[0-9a-f]{64}\b`).ReplaceAllString(text, "DIGEST")
	text = regexp.MustCompile(`(tofu-oci-probe-)[0-9a-f]{12}`).ReplaceAllString(text, "${1}ID")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// remedy CODE [PLACEHOLDER=VALUE...] [FILE] applies the remedy of a finding from the
// last run. It runs commands, or writes lines to a file. The lines replace the text
// between the comments "# begin" and "# end". If the file has no such comments, the
// lines are appended.
func cmdRemedy(ts *testscript.TestScript, _ bool, args []string) {
	remedy := remedyOf(ts, args[0])
	if args, remedy = filled(args, remedy); len(args) > 1 {
		var before, after string
		if text, err := os.ReadFile(ts.MkAbs(args[1])); err == nil {
			var found bool
			if before, after, found = strings.Cut(string(text), "# begin\n"); found {
				_, after, _ = strings.Cut(after, "# end\n")
			}
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(before+remedy+after), 0o600))
		return
	}
	ran := false
	for line := range strings.Lines(remedy) {
		words := strings.Fields(strings.ReplaceAll(line, "'", ""))
		switch words[0] {
		case "tofu-oci":
			if words[1] == "login" {
				continue // login requires a terminal; scripts with credentials contain the login command
			}
			runProgram(ts, 0, words[1:])
			ran = true
		case "mkdir":
			ts.Check(os.MkdirAll(ts.MkAbs(words[2]), 0o750))
			ran = true
		case "export":
			name, value, _ := strings.Cut(words[1], "=")
			ts.Setenv(name, value)
			ran = true
		}
	}
	if !ran {
		ts.Fatalf("no command to run: %s", remedy)
	}
}

// remedyOf returns the lines below a finding.
func remedyOf(ts *testscript.TestScript, code string) string {
	_, after, found := strings.Cut(ts.ReadFile("stdout"), "["+code+"]\n")
	if !found {
		ts.Fatalf("no finding %s", code)
	}
	var remedy strings.Builder
	for line := range strings.Lines(after) {
		text, indented := strings.CutPrefix(line, "  ")
		if !indented && remedy.Len() == 0 && strings.HasSuffix(line, "]\n") {
			continue // findings with the same remedy share it
		}
		if !indented {
			break
		}
		if !strings.HasSuffix(text, ":\n") { // skip text that introduces the lines to write
			remedy.WriteString(text)
		}
	}
	return remedy.String()
}
