package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/verify"
)

// TestRemedies tries all hints and all remedies of findings that contain a command. Each
// script in testdata/remedies provokes a problem, runs the printed command with the
// commands hint and remedy, and checks that the problem is gone. A hint or finding that no
// script tries must be in [untriedHints] or [untriedFindings].
func TestRemedies(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "remedies")
	scripts := scripts(dir)
	testscript.Run(t, scripts)
	tried := triedRemedies(t, dir, filepath.Join("testdata", "script"))
	for _, text := range explain.Hints() {
		isTried := slices.ContainsFunc(tried["hint"], func(part string) bool { return strings.Contains(text, part) })
		reason := reasonFor(untriedHints, text)
		if hasCommand := regexp.MustCompile(`tofu-oci [a-z]`).MatchString(text); hasCommand && isTried == (reason != "") {
			t.Errorf("tried: %v, reason %q, for the hint: %s", isTried, reason, text)
		}
	}
	codes := documentedCodes(t, "doctor")
	for _, rule := range slices.Concat(verify.Rules(), lock.Rules()) {
		codes = append(codes, rule.Code)
	}
	for _, code := range codes {
		if isTried, reason := slices.Contains(tried["remedy"], code), untriedFindings[code]; isTried == (reason != "") {
			t.Errorf("tried: %v, reason %q, for the finding %s", isTried, reason, code)
		}
	}
}

// documentedCodes returns the codes of findings in the table of a section of
// docs/output.md.
func documentedCodes(t *testing.T, section string) (codes []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "output.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## "+section+"\n")
	_, table, _ = strings.Cut(table, "\n| code | |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, code := range regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(names, -1) {
			codes = append(codes, code[1])
		}
	}
	if len(codes) == 0 {
		t.Fatalf("docs/output.md lists no codes of %s", section)
	}
	return codes
}

// triedRemedies returns the first arguments of all commands hint and remedy in scripts.
func triedRemedies(t *testing.T, dirs ...string) map[string][]string {
	t.Helper()
	tried := map[string][]string{}
	line := regexp.MustCompile(`(?m)^(hint|remedy) (?:'([^']+)'|(\S+))`)
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Fatal(err, files)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range line.FindAllStringSubmatch(string(text), -1) {
				tried[match[1]] = append(tried[match[1]], match[2]+match[3])
			}
		}
	}
	return tried
}

func reasonFor(reasons map[string]string, text string) string {
	for part, reason := range reasons {
		if strings.Contains(text, part) {
			return reason
		}
	}
	return ""
}

// untriedHints maps parts of hints with commands to the reasons that no script runs them.
var untriedHints = map[string]string{
	"tofu-oci login":                                     "login asks for a password; the scripts about credentials contain the command",
	"compare both sides with tofu-oci list":              "the command shows both sides; only the user can decide which is right",
	"because tofu-oci changes this tag":                  "only the registry's administrator can change it; case 44",
	"OpenTofu and tofu-oci send no token when":           "only the registry's administrator can change it",
	"which tofu-oci trust init creates":                  "the user reviews the keys; script/trust.txtar contains the command",
	"--artifact-type application/vnd.opentofu.modulepkg": "internal/explain TestMissingFlags; the hint has two commands, and one is of another program",
	"and FILE:archive/zip":                               "internal/explain TestMissingFlags; the hint has two commands, and one is of another program",
	"create the layout with tofu-oci copy":               "the user decides what to copy",
	"to send the missing content, run tofu-oci mirror":   "the command depends on how the release was created",
	"list all versions with tofu-oci list":               "the command shows the versions; the user selects one",
	"as in tofu-oci exec -- tofu init":                   "an example",
	"check the file with tofu-oci doctor":                "the user adds the printed block first",
	"compare the hashes with the checksums":              "the user compares the hashes first",
	"tofu-oci promote PROVIDER@VERSION --gate":           "the user reviews the release first; script/gate.txtar contains the command",
}

// untriedFindings maps codes to the reasons that no script tries their remedies. Most of
// the remedies contain no command, because only the user can decide what is right.
var untriedFindings = map[string]string{
	"index-missing": "internal/verify TestDefects", "manifest-missing": "internal/verify TestDefects", "manifest-damaged": "internal/verify TestDefects",
	"manifest-format": "internal/verify TestDefects", "index-format": "internal/verify TestDefects", "blob-size": "internal/verify TestDefects",
	"annotation-zh": "internal/verify TestDefects", "annotation-h1": "internal/verify TestDefects", "annotation-version": "internal/verify TestDefects",
	"document-unreadable": "internal/verify TestDefects", "sums-missing": "internal/verify TestDefects",
	"zip-refused": "only the author can repair the zip", "executable-mode": "only the author can repair the zip",
	"launch-failed": "only the author can repair the provider", "referrer-unreadable": "the user publishes the document again",
	"release-withdrawn": "the user decides", "platform-withdrawn": "the user decides", "origin-unverified": "only the registry can repair its content",
	"not-launched":      "requires another machine",
	"signature-expired": "requires the author", "signature-untrusted": "requires the author", "signature-revoked": "requires the author",
	"signature-unknown-key": "the user finds the key", "signature-unpinned": "the user finds the key", "signature-bad": "internal/verify TestDefects",
	"tag-per-platform": "the user deletes the tag", "version-zero": "the user publishes another version", "tags-many": "the user finds the tool",
	"dependency-missing": "script/module_dependencies.txtar mirrors the modules",
	"config-syntax":      "the user corrects the line", "config-missing": "the user writes the file", "config-unreadable": "the user changes the file's mode",
	"json-objects": "the user corrects the line", "argument-ignored": "the user deletes the line", "template-ambiguous": "the user selects the variables",
	"dev-override": "the user deletes the line", "login-label": "the user corrects the label", "tokens-shared": "the user has to know the credentials",
	"repository-name": "the user corrects the template", "host-port": "the user selects another method", "plain-http": "requires a registry with TLS",
	"login-broken": "the user repairs the program or file", "login-missing": "login asks for a password", "access-denied": "login asks for a password",
	"login-helper-key": "the user has to know the credentials", "login-unknown-to-opentofu": "the user has to know the credentials",
	"login-stops-opentofu": "the user corrects the file", "registry-failed": "the command shows the registry's response", "layout-failed": "the user restores the layout",
	"client-certificate": "the user decides how to run OpenTofu", "push-denied": "requires another account", "push-failed": "the user repairs the registry or directory",
	"registry-limited": "the user configures the registry or its tools", "probe-incomplete": "the user runs the command again", "probe-left": "the registry's own tools delete it",
	"provider-aliased": "script/alias.txtar; the user decides", "repository-shared": "the user changes the template",
	"lock-version-denied": "script/lock_check.txtar contains the command", "lock-hash-disagrees": "the user compares the checksums",
}

// hint PART [PLACEHOLDER=VALUE...] runs the first command in a hint of the last run that
// contains PART. If the hint has several commands, PART starts with the command to run.
func cmdHint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: hint PART [PLACEHOLDER=VALUE...]")
	}
	text := ""
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if hint, is := strings.CutPrefix(line, "hint: "); is {
			text = strings.TrimSpace(hint)
		}
	}
	part := regexp.QuoteMeta(args[0])
	part = regexp.MustCompile(`PROVIDER(@VERSION)?`).ReplaceAllString(part, `\S+`)
	if !regexp.MustCompile(part).MatchString(text) {
		ts.Fatalf("no %q in the hint %q", args[0], text)
	}
	found := regexp.MustCompile(`tofu-oci [a-z][^;,()]*`).FindString(text)
	if found == "" {
		ts.Fatalf("no command in the hint %q", text)
	}
	_, found = filled(args, found)
	found, _, _ = strings.Cut(found, " or ")
	runProgram(ts, 0, words(ts, strings.TrimPrefix(found, "tofu-oci")))
}

// filled replaces the placeholders in a command with the values in the arguments, and
// returns the other arguments. Only words of the command are placeholders.
func filled(args []string, command string) (rest []string, text string) {
	for _, arg := range args {
		name, value, is := strings.Cut(arg, "=")
		if !is || strings.ToUpper(name) != name {
			rest = append(rest, arg)
			continue
		}
		command = strings.ReplaceAll(command, name, value)
	}
	return rest, command
}
