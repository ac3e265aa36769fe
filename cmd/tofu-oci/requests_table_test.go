package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// requestRow is a row of the table.
type requestRow struct {
	origin, registry formula
	// example is the sum of both formulas for 200 versions and 10 platforms.
	example int
}

// formula is a number of requests. It consists of a constant, and of numbers per
// version, per platform, and per platform of each version.
type formula struct{ once, version, platform, both int }

func (f formula) at(versions, platforms int) int {
	return f.once + f.version*versions + f.platform*platforms + f.both*versions*platforms
}

// parseFormula parses "2 + 3 V + V P".
func parseFormula(text string) (f formula, err error) {
	for term := range strings.SplitSeq(text, "+") {
		fields := strings.Fields(term)
		n := 1
		if len(fields) > 0 && fields[0] != "V" && fields[0] != "P" {
			if n, err = strconv.Atoi(fields[0]); err != nil {
				return f, err
			}
			fields = fields[1:]
		}
		switch strings.Join(fields, " ") {
		case "":
			f.once += n
		case "V":
			f.version += n
		case "P":
			f.platform += n
		case "V P":
			f.both += n
		default:
			return f, fmt.Errorf("invalid number of requests %q", text)
		}
	}
	return f, nil
}

// requestTable parses the table of the page.
func requestTable(t *testing.T) map[string]requestRow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n## Requests\n")
	if !found {
		t.Fatal("docs/performance.md has no section Requests")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	table := map[string]requestRow{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || strings.HasPrefix(cells[1], "-") || strings.TrimSpace(cells[1]) == "run" {
			continue
		}
		var row requestRow
		var problems [3]error
		row.origin, problems[0] = parseFormula(cells[2])
		row.registry, problems[1] = parseFormula(cells[3])
		row.example, problems[2] = strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(cells[4]), ",", ""))
		for _, err := range problems {
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
		table[strings.TrimSpace(cells[1])] = row
	}
	return table
}
