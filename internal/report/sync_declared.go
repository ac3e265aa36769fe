package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/sync"
)

// declaredItem is a provider of a declaration.
type declaredItem struct {
	Provider string `json:"provider"`
	// SelectedBy lists what selects versions of the provider: lines, and lock files.
	SelectedBy []string `json:"selected_by"`
	// Settings are the effective settings, with --explain.
	Settings []settingItem `json:"settings,omitempty"`
}

// settingItem is an effective setting, and the line that it comes from.
type settingItem struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	Position string `json:"position"`
}

// declaredSummary is the summary of sync validate.
type declaredSummary struct {
	Declaration sync.PlannedFile `json:"declaration"`
	Problems    []ErrorItem      `json:"problems,omitempty"`
}

// Declared prints the providers of a declaration or, if explained is not empty, the settings
// of the only one. problems are errors of the files that the declaration names.
func (o *Report) Declared(d *sync.Declaration, wanted []sync.Wanted, explained []sync.Setting, problems []error) error {
	summary := declaredSummary{Declaration: sync.PlannedFile{Path: d.Path, Digest: d.Digest}}
	for _, problem := range problems {
		o.printError(problem)
		summary.Problems = append(summary.Problems, *describeError(problem))
	}
	items := make([]declaredItem, len(wanted))
	text := fmt.Sprintf("%s: %s, %s\n", d.Path, Counted(len(wanted), "provider"), Counted(len(d.Targets), "target"))
	for n, w := range wanted {
		i := declaredItem{Provider: w.Address.String(), SelectedBy: []string{}}
		for _, r := range w.Requirements {
			i.SelectedBy = append(i.SelectedBy, r.From)
		}
		if len(explained) > 0 {
			rows := []string{cells("selected by", cmp.Or(strings.Join(i.SelectedBy, ", "), "nothing"))}
			for _, s := range explained {
				i.Settings = append(i.Settings, settingItem(s))
				rows = append(rows, cells(s.Name, s.Value, s.Position))
			}
			text = i.Provider + "\n" + indented(table(rows))
		}
		items[n] = i
	}
	err := printItems(o, "sync-validate", items, summary, text)
	if err == nil && len(problems) > 0 {
		return &explain.ExitError{Code: explain.ExitPartly}
	}
	return err
}
