//go:build prose

// Package prose_test checks that Vale's rules in .vale report the example sentences for
// which they were written. make prose runs the test.
package prose_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRulesReportBeforeSentences checks that the rules report an error or a warning for
// every sentence in testdata.
func TestRulesReportBeforeSentences(t *testing.T) {
	for _, test := range []struct{ file, prefix, skip string }{
		{file: "before.md", skip: "# "},
		{file: "before.go", prefix: "// ", skip: "// Package"},
	} {
		t.Run(test.file, func(t *testing.T) {
			name := filepath.Join("testdata", test.file)
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			alerts := alertsByLine(t, name)
			sentences := 0
			for i, line := range strings.Split(string(text), "\n") {
				sentence, ok := strings.CutPrefix(line, test.prefix)
				if !ok || sentence == "" || strings.HasPrefix(line, test.skip) || strings.HasPrefix(line, "Each paragraph") {
					continue
				}
				sentences++
				if !alerts[i+1] {
					t.Errorf("%s:%d: no rule reports %q", name, i+1, sentence)
				}
			}
			if sentences < 50 {
				t.Errorf("%s has %d sentences, want at least 50", name, sentences)
			}
		})
	}
}

// alertsByLine runs Vale on a file and returns the lines with errors or warnings.
func alertsByLine(t *testing.T, name string) map[int]bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), os.Getenv("VALE"), "--config", "../../.vale.ini", "--minAlertLevel", "warning", "--output", "JSON", "--no-exit", name).Output()
	if err != nil {
		t.Fatalf("running vale: %v", err)
	}
	var files map[string][]struct{ Line int }
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&files); err != nil {
		t.Fatalf("decoding the output of vale: %v\n%s", err, out)
	}
	lines := map[int]bool{}
	for _, alert := range files[name] {
		lines[alert.Line] = true
	}
	return lines
}
