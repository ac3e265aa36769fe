package main_test

import (
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/urfave/cli/v2"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
)

// internalWords matches terms of Go libraries, and names of functions. Messages must
// not contain them.
var internalWords = regexp.MustCompile(`parse error|flag provided but not defined|strconv\.|invalid syntax|\bEOF\b|dial tcp|proxyconnect|lookup \S+ on |` +
	`context deadline exceeded|context canceled|i/o timeout|net/http|\bhttp: |\btls: |x509: |runtime error|%!|<nil>|cannot unmarshal|invalid character|JSON input|Go value|missing port in address|executable file not found|goroutine `)

// TestWrongCalls checks at least 60 recorded outputs of wrong calls. An output must not
// contain terms of Go libraries, repeated text, or an unsuitable hint.
func TestWrongCalls(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "script", "wrong_*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	app, found := main.NewApp(io.Discard, io.Discard), 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range archive.Files {
			for _, answer := range strings.Split("\n"+string(part.Data), "\n$ tofu-oci ")[1:] {
				found++
				call, message, _ := strings.Cut(answer, "\n")
				if strings.HasSuffix(strings.TrimSpace(message), "[0]") {
					t.Errorf("%s: not a wrong call", call)
				}
				if word := internalWords.FindString(message); word != "" {
					t.Errorf("%s: %q is a word of Go", call, word)
				}
				if twice := saidTwice(message); twice != "" {
					t.Errorf("%s: output contains %q twice", call, twice)
				}
				if problem := unfit(app, call, message); problem != "" {
					t.Errorf("%s: %s", call, problem)
				}
			}
		}
	}
	if found < 60 {
		t.Errorf("%d answers are recorded", found)
	}
}

var (
	hintLine    = regexp.MustCompile(`(?m)^hint: (.*)$`)
	hintFlag    = regexp.MustCompile(`--[a-z][a-z-]+`)
	hintCommand = regexp.MustCompile(`tofu-oci ([a-z]+)`)
)

// unfit explains why a hint does not apply to a call. The hint can contain a flag that
// neither the command nor a command in the hint supports, suggest list to a list
// command, or mention a product that is not involved.
func unfit(app *cli.App, call, message string) string {
	found := hintLine.FindStringSubmatch(message)
	if found == nil {
		return ""
	}
	hint := found[1]
	var commands []*cli.Command
	for word := range strings.FieldsSeq(call) {
		if command := app.Command(word); command != nil {
			commands = append(commands, command)
			break
		}
	}
	for _, named := range hintCommand.FindAllStringSubmatch(hint, -1) {
		if command := app.Command(named[1]); command != nil {
			commands = append(commands, command)
		}
		if named[1] == "list" && len(commands) > 0 && commands[0].Name == "list" {
			return "list advises list"
		}
	}
	for _, flag := range hintFlag.FindAllString(hint, -1) {
		if !slices.ContainsFunc(commands, func(c *cli.Command) bool {
			return slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), flag[2:]) })
		}) {
			return "no command that is meant has the hint's flag " + flag
		}
	}
	for _, product := range []string{"ECR", "GHCR", "GitLab", "Harbor", "Quay", "Docker Hub"} {
		if strings.Contains(hint, product) {
			return "the hint speaks of " + product
		}
	}
	return ""
}

// saidTwice returns text that occurs twice in a line of a message. The text consists of
// three consecutive words, or of a name with slashes that does not follow "not". If no
// text occurs twice, saidTwice returns "".
func saidTwice(message string) string {
	for line := range strings.Lines(message) {
		words := strings.Fields(line)
		seen := map[string]bool{}
		for i, word := range words {
			name := strings.Trim(word, `:;,."()`)
			isContrast := i > 0 && (words[i-1] == "not" || words[i-1] == "pins")
			if strings.Count(name, "/") > 1 && seen[name] && !isContrast {
				return name
			}
			seen[name] = true
			if i+3 > len(words) {
				continue
			}
			three := strings.Join(words[i:i+3], " ")
			if seen[three] {
				return three
			}
			seen[three] = true
		}
	}
	return ""
}
