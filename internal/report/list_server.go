package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// servedVersions are the versions that a server has, newest first.
type servedVersions struct {
	Provider string           `json:"provider"`
	Versions []string         `json:"versions"`
	Details  []api.VersionRef `json:"details"`
}

// listServedVersions prints versions as a server tells them.
func (o *Report) ListServedVersions(a provider.Address, versions []api.VersionRef) error {
	names := []string{}
	for _, v := range versions {
		names = append(names, v.Version)
	}
	if o.json {
		return o.PrintDocument(documentServedVersions, servedVersions{a.String(), names, versions})
	}
	lines := &strings.Builder{}
	for _, v := range versions {
		line := v.Version
		if v.Status != api.StatusComplete {
			line += "  " + v.Status + ": " + OneLine(v.Problem)
		}
		_, _ = fmt.Fprintln(lines, line)
	}
	_, err := io.WriteString(o.stdout, Printable(lines.String()))
	return err
}

// listServed prints what a version holds as a server tells it.
func (o *Report) ListServed(r api.Version) error {
	if o.json {
		return o.PrintDocument(documentServedRelease, r)
	}
	lines := &strings.Builder{}
	_, _ = fmt.Fprintf(lines, "%s %s\n", OneLine(r.Provider.Address), OneLine(r.Version))
	if len(r.Protocols) > 0 {
		_, _ = fmt.Fprintf(lines, "protocols %s\n", OneLine(strings.Join(r.Protocols, ", ")))
	}
	if r.Status != api.StatusComplete {
		_, _ = fmt.Fprintf(lines, "%s: %s\n", OneLine(r.Status), OneLine(r.Problem))
	}
	_, _ = fmt.Fprintf(lines, "%s\n", OneLine(verdictText(r)))
	table := tabwriter.NewWriter(lines, 0, 0, 2, ' ', 0)
	for _, p := range r.Packages {
		_, _ = fmt.Fprintln(table, cells(p.Platform, p.Filename, Size(p.Size), p.Digest, cmp.Or(p.H1, p.Problem)))
		for _, d := range p.Documents {
			_, _ = fmt.Fprintln(table, cells("evidence", d.Name, Size(d.Size), d.MediaType, d.Platform))
		}
	}
	for _, d := range r.Evidence {
		_, _ = fmt.Fprintln(table, cells("evidence", d.Name, Size(d.Size), d.MediaType, ""))
	}
	for _, d := range r.Referrers {
		_, _ = fmt.Fprintln(table, cells("referrer", d.Name, Size(d.Size), d.MediaType, ""))
	}
	for _, f := range r.Findings {
		_, _ = fmt.Fprintln(table, cells(f.Severity, f.Code, "", OneLine(f.Problem), f.Platform))
	}
	_ = table.Flush()
	_, err := io.WriteString(o.stdout, Printable(lines.String()))
	return err
}

// verdictText says what the server says that a signature proves.
func verdictText(r api.Version) string {
	switch {
	case r.Verdict == nil:
		return "not judged: " + r.Unverified
	case r.Verdict.Refused != "":
		return r.Verdict.Text + "; refused: " + r.Verdict.Refused
	}
	return r.Verdict.Text
}
