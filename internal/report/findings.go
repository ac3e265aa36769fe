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
	"github.com/tofu-oci/tofu-oci/internal/finding"
)

// found is the result of a command that reports findings. It does not depend on the
// output format.
type found struct {
	rules    []finding.Rule
	findings []finding.Finding
	// more is the number of omitted findings.
	more int
	// failed contains the subjects and messages of failed checks.
	failed []finding.Finding
}

// printFindings prints findings in the report's format. JSON also contains items and
// summary. In text format, text follows the findings.
func printFindings[I, S any](o *Report, schema string, items []I, summary S, f found, text string) error {
	o.EndProgress()
	switch o.Format {
	case SARIF:
		return o.printJSON(f.sarif(o.Version))
	case GitHub:
		_, err := io.WriteString(o.stdout, f.annotations())
		return err
	}
	return printItems(o, schema, items, summary, f.text(o.columns)+fit(text, o.columns))
}

// printChecked prints a text, followed by the findings of a check or, if there are no
// findings, by "no findings". If any finding has the severity error, it returns an
// [explain.ExitError].
func printChecked[I any](o *Report, schema string, items []I, findings []finding.Finding, text string) error {
	o.EndProgress()
	if text += (found{findings: findings}).text(0); len(findings) == 0 {
		text += "no findings\n"
	}
	if err := printItems(o, schema, items, countFindings(findings), text); err != nil {
		return err
	}
	if doctor.Failed(findings) {
		return &explain.ExitError{Code: explain.ExitFailed}
	}
	return nil
}

// findingCounts contains the number of findings for each severity.
type findingCounts struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// count adds n findings with the given severity.
func (c *findingCounts) count(severity finding.Severity, n int) {
	switch severity {
	case finding.Error:
		c.Errors += n
	case finding.Warning:
		c.Warnings += n
	case finding.Note:
		c.Notes += n
	}
}

func countFindings(findings []finding.Finding) (c findingCounts) {
	for _, f := range findings {
		c.count(f.Severity, 1)
	}
	return c
}

// text returns a line for each finding, followed by the finding's indented remedy.
// Consecutive findings about a release with the same remedy share the remedy. The lines
// fit on a terminal with the given number of columns, except remedies, because they
// contain commands to copy.
func (f found) text(columns int) string {
	var b strings.Builder
	for i, one := range f.findings {
		about := joinWords(one.Subject.Provider, one.Subject.Version, one.Subject.Platform)
		if one.Subject.File != "" {
			about = fmt.Sprintf("%s:%d", one.Subject.File, one.Subject.Line)
		}
		if about != "" {
			about += ": "
		}
		b.WriteString(fit(fmt.Sprintf("%s: %s [%s]\n", one.Severity, Continued(about+one.Message), one.Code), columns))
		if i+1 < len(f.findings) && one.Version != "" && sharesRemedy(one, f.findings[i+1]) {
			continue
		}
		b.WriteString(indented(remedyText(one.Remedy)))
	}
	if f.more > 0 {
		fmt.Fprintf(&b, "%d more findings\n", f.more)
	}
	return b.String()
}

// sharesRemedy reports whether two findings are about the same release and have the same
// remedy.
func sharesRemedy(a, b finding.Finding) bool {
	return a.Provider == b.Provider && a.Version == b.Version && a.Remedy == b.Remedy
}

// remedyText returns a remedy's hint and command, each on a separate line.
func remedyText(r finding.Remedy) string {
	if r.Hint == "" || r.Command == "" {
		return r.Hint + r.Command
	}
	return r.Hint + "\n" + r.Command
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// joinWords joins the words in all values with spaces.
func joinWords(all ...string) string {
	return strings.Join(strings.Fields(strings.Join(all, " ")), " ")
}

// object is a JSON object.
type object map[string]any

// sarif returns findings as SARIF 2.1.0 for code-scanning pages. These pages require a
// file, so a finding about a repository uses its subject as the location. See
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
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
			"ruleId": one.Code, "level": one.Severity, "message": object{"text": one.Message + "\n\n" + remedyText(one.Remedy)},
			"locations": []object{{"physicalLocation": at, "logicalLocations": []object{{"fullyQualifiedName": about}}}},
			// Code-scanning pages use fingerprints to match findings from different
			// runs.
			"partialFingerprints": object{"tofu-oci/v1": one.Code + " " + about},
		})
	}
	if f.more > 0 {
		notifications = append(notifications, object{"level": "warning", "message": object{"text": fmt.Sprintf("%d more findings are omitted", f.more)}})
	}
	for _, one := range f.failed {
		text := joinWords(one.File, one.Provider, one.Version) + ": " + one.Message
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

// annotations returns workflow commands, so that a GitHub job shows findings in the
// changed files. See
// https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions.
func (f found) annotations() string {
	var b strings.Builder
	for _, one := range f.findings {
		fmt.Fprintf(&b, "::error file=%s,line=%d,title=%s::%s\n", forGitHub(filepath.ToSlash(one.Subject.File), true), one.Subject.Line, one.Code, forGitHub(one.Message+"\n"+remedyText(one.Remedy), false))
	}
	for _, one := range f.failed {
		about := joinWords(one.Provider, one.Version)
		if about != "" {
			about += ": "
		}
		fmt.Fprintf(&b, "::error file=%s::%s\n", forGitHub(filepath.ToSlash(one.File), true), forGitHub(about+one.Message, false))
	}
	return b.String()
}

// forGitHub escapes a workflow command's message or property. Escaped text can
// neither end the command nor start a new one.
func forGitHub(text string, property bool) string {
	text = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(Printable(text))
	if property {
		text = strings.NewReplacer(":", "%3A", ",", "%2C").Replace(text)
	}
	return text
}
