package report

import (
	"fmt"
	"strings"
)

// Build is what a program was built of. What the build does not tell is left out.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Modified tells that the sources were not those of the commit.
	Modified bool `json:"modified,omitempty"`
	// Date is when the commit was made.
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// String is the build for people.
func (b Build) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "tofu-oci version %s\n", b.Version)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&s, "%-9s %s\n", name, value)
		}
	}
	revision := b.Commit
	if b.Modified {
		revision += ", modified"
	}
	line("commit", revision)
	line("date", b.Date)
	line("go", b.Go)
	line("platform", b.Platform)
	return s.String()
}

// Build prints what the program was built of.
func (o *Report) Build(b Build) error { return o.Print("version", b, b.String()) }
