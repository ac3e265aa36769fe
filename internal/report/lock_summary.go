package report

import (
	"fmt"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/explain"
)

// markdown is the summary of a job in which lock --check ran.
func (r lockCheck) markdown(code int) markdown {
	m := markdown{
		heading: "tofu-oci lock --check: " + r.line(),
		columns: "| lock file | provider | version | platform | finding |\n|---|---|---|---|---|\n",
	}
	if code != explain.ExitDone {
		m.heading += fmt.Sprintf(" · exit code %d", code)
	}
	for _, f := range r.Failed {
		m.failures = append(m.failures, fmt.Sprintf("- %s: %s\n", asCode(filepath.ToSlash(f.File)+" "+f.Provider+" "+f.Version), asCode(f.Error.Message)))
	}
	for _, f := range r.Findings {
		m.rows = append(m.rows, fmt.Sprintf("| %s | %s | %s | %s | %s |\n",
			asCode(fmt.Sprintf("%s:%d", filepath.ToSlash(f.File), f.Line)), asCode(f.Provider), asCode(f.Version), asCode(f.Platform), asCode(f.Code)))
	}
	return m
}
