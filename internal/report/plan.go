package report

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// dryRunPlan is the amount of work that a dry run determined. A real run sends less if
// the repository already contains some of the zips. A dry run doesn't check for
// existing zips.
type dryRunPlan struct {
	// Releases is the number of releases, and ToSend is the number of releases to send.
	Releases int `json:"releases"`
	ToSend   int `json:"to_send"`
	// Packages is the number of packages to send, and Size is their total size in
	// bytes. SizeUnknown is the number of packages that Size doesn't include.
	Packages    int   `json:"packages"`
	Size        int64 `json:"size"`
	SizeUnknown int   `json:"size_unknown,omitempty"`
}

// add adds a release to the plan.
func (t *dryRunPlan) add(r publish.Result) {
	t.Releases++
	if r.Status == publish.Unchanged {
		return
	}
	t.ToSend++
	for _, p := range r.Packages {
		if t.Packages++; p.Package.Size < 0 {
			t.SizeUnknown++
			continue
		}
		t.Size += p.Package.Size
	}
}

// String returns one line of text.
func (t *dryRunPlan) String() string {
	text := fmt.Sprintf("plan: %s, %d to send", Counted(t.Releases, "release"), t.ToSend)
	if t.ToSend > 0 {
		text += fmt.Sprintf(" with at most %s, %s", Counted(t.Packages, "package"), Size(t.Size))
	}
	if t.SizeUnknown > 0 {
		text += fmt.Sprintf(" and %d of unknown size", t.SizeUnknown)
	}
	return text
}

// Counted returns a number and a noun, such as "1 release" or "2 releases".
func Counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
