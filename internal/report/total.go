package report

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/publish"
)

// total is what a dry run comes to, as --output json shows it. What moves is less
// where a repository has zips of a release already: that is not asked for.
type total struct {
	// Releases is how many there are, ToSend how many would be sent.
	Releases int `json:"releases"`
	ToSend   int `json:"to_send"`
	// Packages, Size and SizeUnknown are about the releases to send: all packages,
	// the bytes of those whose size is known, and how many others there are.
	Packages    int   `json:"packages"`
	Size        int64 `json:"size"`
	SizeUnknown int   `json:"size_unknown,omitempty"`
}

// add counts what would become of a release.
func (t *total) add(r publish.Result) {
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

// String returns the line for people.
func (t *total) String() string {
	text := fmt.Sprintf("plan: %s, %d to send", Counted(t.Releases, "release"), t.ToSend)
	if t.ToSend > 0 {
		text += fmt.Sprintf(" with at most %s, %s", Counted(t.Packages, "package"), Size(t.Size))
	}
	if t.SizeUnknown > 0 {
		text += fmt.Sprintf(" and %d of unknown size", t.SizeUnknown)
	}
	return text
}

// Counted writes a number of things: "1 release", "2 releases".
func Counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
