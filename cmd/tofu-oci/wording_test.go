package main_test

import (
	"regexp"
	"strings"
)

// internalWords are those of the Go libraries and of their functions: no message
// has them, whatever goes wrong.
var internalWords = regexp.MustCompile(`parse error|flag provided but not defined|strconv\.|invalid syntax|\bEOF\b|dial tcp|proxyconnect|lookup \S+ on |` +
	`context deadline exceeded|context canceled|i/o timeout|net/http|\bhttp: |\btls: |x509: |runtime error|%!|<nil>|missing port in address|executable file not found|goroutine `)

// saidTwice finds what a message says twice in one line: three words in a row, or
// a name with slashes, unless it is told from another by "not". It is empty for a
// good message.
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
