package report

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// dryRunPlan is the amount of work that a dry run found. A real run sends less if a repository
// already has some of the zips, which a dry run doesn't check.
type dryRunPlan struct {
	// Releases is the number of releases, and ToSend the number of those to send.
	Releases int `json:"releases"`
	ToSend   int `json:"to_send"`
	// Packages is the number of packages to send, Size their total size in bytes, and
	// SizeUnknown the number of packages that are not included in Size.
	Packages    int   `json:"packages"`
	Size        int64 `json:"size"`
	SizeUnknown int   `json:"size_unknown,omitempty"`
}

// add counts a release.
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

// Counted returns a number with its noun: "1 release", "2 releases".
func Counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
