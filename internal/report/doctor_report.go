package report

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

// Doctor prints a report. It ends in an error, which says nothing more, when a
// finding is one.
func (o *Report) Doctor(r doctor.Report) error {
	if err := o.Print(documentDoctor, r, reportText(r)+findingsText(r.Findings)); err != nil {
		return err
	}
	return findingsResult(r.Findings)
}

func findingsResult(findings []finding.Finding) error {
	if finding.HasError(findings) {
		return &explain.Exit{Code: explain.ExitFailed}
	}
	return nil
}

func reportText(r doctor.Report) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-11s %s\n", name, Continued(value))
		}
	}
	row("source", r.Source)
	row("template", r.Template)
	for _, f := range r.Files {
		state := "not read"
		if f.Read {
			state = "read"
		}
		row("file", fmt.Sprintf("%s: %s (%s)", f.Path, state, f.Why))
	}
	for _, m := range r.Methods {
		state := "not asked"
		if m.Asked {
			state = "asked"
		}
		row("method", fmt.Sprintf("%s: %s (%s)", m.Method, state, m.Why))
	}
	row("platform", r.Platform)
	row("registry", r.Registry)
	row("repository", r.Repository)
	if l := r.Login; l != nil {
		text := l.Source
		if l.Found && l.OpenTofu {
			text += ", which OpenTofu finds too"
		} else if l.Found {
			text += ", which OpenTofu does not find"
		}
		row("login", text)
	}
	row("answer", r.Answer)
	row("version", r.Version)
	row("tag", r.Tag)
	row("digest", r.Digest)
	row("zip", r.Zip)
	row("push", r.Push)
	if r.Referrers != nil {
		row("referrers", map[bool]string{true: "the registry has the referrers API", false: "the registry has no referrers API; a tag stands for it"}[*r.Referrers])
	}
	return b.String()
}

// configurationFindings are what is wrong with a CLI configuration.
type configurationFindings struct {
	Findings []finding.Finding `json:"findings"`
}

// ConfigurationFindings prints what is wrong with a CLI configuration.
func (o *Report) ConfigurationFindings(findings []finding.Finding) error {
	if err := o.Print(documentFindings, configurationFindings{findings}, findingsText(findings)); err != nil {
		return err
	}
	return findingsResult(findings)
}

// findingsText lists findings with their remedies indented below.
func findingsText(findings []finding.Finding) string {
	if len(findings) == 0 {
		return "no findings\n"
	}
	var b strings.Builder
	for _, f := range findings {
		b.WriteString(findingText(f))
	}
	return b.String()
}

func findingText(f finding.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s [%s]\n", f.Severity, Continued(f.Message), f.Code)
	b.WriteString(indented(f.Remedy))
	return b.String()
}

// indented sets the lines of a remedy apart.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		b.WriteString("  " + line)
	}
	return b.String()
}
