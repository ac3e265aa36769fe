package report

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
)

// Doctor prints a report. If any finding is an error, Doctor returns an
// [explain.ExitError] to set the exit code without printing a message.
func (o *Report) Doctor(r doctor.Report) error {
	text := reportText(r)
	if r.Probe != nil {
		text += o.probeText(*r.Probe)
	}
	return printChecked(o, "doctor", []doctor.Report{r}, r.Findings, text)
}

// checkResults contains the texts of the results of checks.
var checkResults = map[doctor.CheckResult]string{
	doctor.CheckWorks: "works", doctor.CheckFallback: "works with a fallback", doctor.CheckFails: "doesn't work", doctor.CheckUnknown: "not determined",
}

// probeText returns a table of the results of a probe.
func (o *Report) probeText(p doctor.Probe) string {
	rows := []string{}
	for _, c := range p.Checks {
		details := c.Details
		if len(c.Affects) > 0 { // the finding contains the details
			details = "affects " + strings.Join(c.Affects, ", ")
		}
		rows = append(rows, cells(c.Name, checkResults[c.Result], details))
	}
	return fields(11, []string{"probe", p.Repository + ":" + p.Tag}) + indented(o.table(rows))
}

func reportText(r doctor.Report) string {
	rows := [][]string{{"source", r.Source}, {"template", r.Template}}
	for _, f := range r.Files {
		state := "not read"
		switch {
		case f.Read:
			state = "read"
		case f.Missing:
			state = "not read: does not exist"
		}
		rows = append(rows, []string{"file", fmt.Sprintf("%s: %s (%s)", f.Path, state, f.Reason)})
	}
	for _, m := range r.Methods {
		state := "not used"
		if m.Used {
			state = "used"
		}
		rows = append(rows, []string{"method", fmt.Sprintf("%s: %s (%s)", m.Method, state, m.Reason)})
	}
	login, referrers := "", ""
	if l := r.Login; l != nil {
		login = l.Source
		switch {
		case l.Found && l.OpenTofu:
			login += ", which OpenTofu also finds"
		case l.Found:
			login += ", which OpenTofu doesn't find"
		}
	}
	if r.Referrers != nil {
		referrers = map[bool]string{true: "the registry supports the referrers API", false: "the registry does not support the referrers API; a tag is used instead"}[*r.Referrers]
	}
	return fields(11, append(rows, [][]string{
		{"platform", r.Platform}, {"registry", r.Registry}, {"repository", r.Repository}, {"login", login}, {"response", r.Response},
		{"version", r.Version}, {"tag", r.Tag}, {"digest", r.Digest}, {"zip", r.Zip}, {"push", r.Push}, {"referrers", referrers},
	}...)...)
}
