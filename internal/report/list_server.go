package report

import (
	"cmp"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// servedVersions are the versions that a server has, newest first.
type servedVersions struct {
	Provider string           `json:"provider"`
	Versions []string         `json:"versions"`
	Details  []api.VersionRef `json:"details"`
}

// ListServedVersions prints the versions that a server has.
func (o *Report) ListServedVersions(a provider.Address, versions []api.VersionRef) error {
	list := servedVersions{a.String(), []string{}, versions}
	var lines []string
	for _, v := range versions {
		list.Versions = append(list.Versions, v.Version)
		line := v.Version
		if v.Status != api.StatusComplete {
			line += "  " + v.Status + ": " + v.Problem
		}
		lines = append(lines, line)
	}
	return o.Print("server-versions", list, oneEach(lines))
}

// ListServed prints what a version holds as a server describes it.
func (o *Report) ListServed(r api.Version) error {
	lines := []string{r.Provider.Address + " " + r.Version}
	if len(r.Protocols) > 0 {
		lines = append(lines, "protocols "+strings.Join(r.Protocols, ", "))
	}
	if r.Status != api.StatusComplete {
		lines = append(lines, r.Status+": "+r.Problem)
	}
	switch {
	case r.Verdict == nil:
		lines = append(lines, "not judged: "+r.Unverified)
	case r.Verdict.Refused != "":
		lines = append(lines, r.Verdict.Text+"; refused: "+r.Verdict.Refused)
	default:
		lines = append(lines, r.Verdict.Text)
	}
	var rows []string
	documents := func(kind string, all []api.Document) {
		for _, d := range all {
			rows = append(rows, cells(kind, d.Name, Size(d.Size), d.MediaType, d.Platform))
		}
	}
	for _, p := range r.Packages {
		rows = append(rows, cells(p.Platform, p.Filename, Size(p.Size), p.Digest, cmp.Or(p.H1, p.Problem)))
		documents("evidence", p.Documents)
	}
	documents("evidence", r.Evidence)
	documents("referrer", r.Referrers)
	for _, f := range r.Findings {
		rows = append(rows, cells(f.Severity, f.Code, "", f.Problem, f.Platform))
	}
	return o.Print("server-release", r, oneEach(lines)+table(rows))
}
