package report

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
)

// found is what a command found, in any format.
type found struct {
	rules    []finding.Rule
	findings []finding.Finding
	// more counts the findings that are left out.
	more   int
	failed []failure
}

// failure is something that could not be looked at.
type failure struct {
	finding.Subject
	message string
}

// printFindings prints what was found: the document in JSON, and the summary in text.
func (o *Report) printFindings(name string, document any, f found, summary string) error {
	o.EndProgress()
	switch o.Format {
	case SARIF:
		return o.printJSON("{", f.sarif(o.Version))
	case GitHub:
		_, err := io.WriteString(o.stdout, f.annotations())
		return err
	}
	return o.Print(name, document, f.text()+summary)
}

// ConfigurationFindings prints what is wrong with a CLI configuration.
func (o *Report) ConfigurationFindings(findings []finding.Finding) error {
	err := o.printFindings("findings", configurationFindings{findings}, found{findings: findings}, none(findings))
	return cmp.Or(err, findingsResult(findings))
}

// configurationFindings are what is wrong with a CLI configuration.
type configurationFindings struct {
	Findings []finding.Finding `json:"findings"`
}

// findingsResult ends a run in an error, which says nothing more, when a finding is one.
func findingsResult(findings []finding.Finding) error {
	if doctor.Failed(findings) {
		return &explain.ExitError{Code: explain.ExitFailed}
	}
	return nil
}

func none(findings []finding.Finding) string {
	if len(findings) == 0 {
		return "no findings\n"
	}
	return ""
}

// text has a line for each finding, with its remedy indented below.
func (f found) text() string {
	var b strings.Builder
	for _, one := range f.findings {
		about := words(one.Subject.Provider, one.Subject.Version, one.Subject.Platform)
		if one.Subject.File != "" {
			about = fmt.Sprintf("%s:%d", one.Subject.File, one.Subject.Line)
		}
		if about != "" {
			about += ": "
		}
		fmt.Fprintf(&b, "%s: %s [%s]\n%s", one.Severity, Continued(about+one.Message), one.Code, indented(one.Remedy))
	}
	if f.more > 0 {
		fmt.Fprintf(&b, "%d more findings\n", f.more)
	}
	return b.String()
}

// indented sets the lines of a remedy apart.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// words joins those that are not empty.
func words(all ...string) string { return strings.Join(strings.Fields(strings.Join(all, " ")), " ") }

// object is one of JSON.
type object map[string]any

// sarif returns findings as SARIF 2.1.0, for code-scanning pages. They want a file; a finding
// in a repository names what it is about as one.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
func (f found) sarif(version string) object {
	rules, results, notifications := []object{}, []object{}, []object{}
	for _, r := range f.rules {
		rules = append(rules, object{"id": r.Code, "shortDescription": object{"text": r.Means}})
	}
	for _, one := range f.findings {
		s := one.Subject
		about := strings.TrimRight(strings.Join([]string{s.Provider, s.Version, s.Platform}, "/"), "/")
		at := object{"artifactLocation": object{"uri": (&url.URL{Path: cmp.Or(filepath.ToSlash(s.File), about)}).String()}}
		if s.Line > 0 {
			at["region"] = object{"startLine": s.Line}
		}
		results = append(results, object{
			"ruleId": one.Code, "level": one.Severity, "message": object{"text": one.Message + "\n\n" + one.Remedy},
			"locations": []object{{"physicalLocation": at, "logicalLocations": []object{{"fullyQualifiedName": about}}}},
			// A page recognizes a finding of an earlier run by it.
			"partialFingerprints": object{"tofu-oci/v1": one.Code + " " + about},
		})
	}
	if f.more > 0 {
		notifications = append(notifications, object{"level": "warning", "message": object{"text": fmt.Sprintf("%d more findings are left out", f.more)}})
	}
	for _, one := range f.failed {
		text := words(one.File, one.Provider, one.Version) + ": " + one.message
		notifications = append(notifications, object{"level": "error", "message": object{"text": text}})
	}
	invocation := object{"executionSuccessful": len(f.failed) == 0}
	if len(notifications) > 0 {
		invocation["toolExecutionNotifications"] = notifications
	}
	tool := object{"driver": object{"name": "tofu-oci", "version": version, "informationUri": "https://github.com/tofu-oci/tofu-oci", "rules": rules}}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": tool, "invocations": []object{invocation}, "results": results}},
	}
}

// annotations are the commands by which a job on GitHub shows findings at the lines
// of a change.
// https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
func (f found) annotations() string {
	var b strings.Builder
	for _, one := range f.findings {
		fmt.Fprintf(&b, "::error file=%s,line=%d,title=%s::%s\n", forGitHub(filepath.ToSlash(one.Subject.File), true), one.Subject.Line, one.Code, forGitHub(one.Message+"\n"+one.Remedy, false))
	}
	for _, one := range f.failed {
		about := words(one.Provider, one.Version)
		if about != "" {
			about += ": "
		}
		fmt.Fprintf(&b, "::error file=%s::%s\n", forGitHub(filepath.ToSlash(one.File), true), forGitHub(about+one.message, false))
	}
	return b.String()
}

// forGitHub escapes the text of a command, or of one of its properties, so that it
// ends neither of them, and begins no other.
func forGitHub(text string, property bool) string {
	text = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(Printable(text))
	if property {
		text = strings.NewReplacer(":", "%3A", ",", "%2C").Replace(text)
	}
	return text
}
