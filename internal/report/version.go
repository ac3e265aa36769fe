package report

import (
	"fmt"
)

// Build describes how the program was built. Unknown values are omitted.
type Build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Modified reports whether the sources differed from the commit.
	Modified bool `json:"modified,omitempty"`
	// Date is the commit's date.
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Build prints the build information.
func (o *Report) Build(b Build) error {
	return printItems(o, "version", []Build{b}, none{}, b.String())
}

// String formats the build information for users.
func (b Build) String() string {
	revision := b.Commit
	if b.Modified {
		revision += ", modified"
	}
	rows := fields(9, []string{"commit", revision}, []string{"date", b.Date}, []string{"go", b.Go}, []string{"platform", b.Platform})
	return fmt.Sprintf("tofu-oci version %s\n", b.Version) + rows
}
