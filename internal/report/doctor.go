package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
)

// Doctor prints a report. It ends in an error, which says nothing more, when a
// finding is one.
func (o *Report) Doctor(r doctor.Report) error {
	f := found{findings: r.Findings}
	err := o.Print("doctor", r, reportText(r)+f.text()+none(r.Findings))
	return cmp.Or(err, findingsResult(r.Findings))
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
