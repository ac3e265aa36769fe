package report

import (
	"fmt"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// ModuleItem is the result for a module. docs/output.md documents the fields.
type ModuleItem struct {
	// Provider is the reference to the module's repository.
	Provider   string `json:"provider"`
	Version    string `json:"version"`
	Status     string `json:"status"`
	DryRun     bool   `json:"dry_run,omitempty"`
	Repository string `json:"repository"`
	Tag        string `json:"tag"`
	Digest     string `json:"digest,omitempty"`
	// Latest reports whether the latest tag was written.
	Latest bool `json:"latest,omitempty"`
	// Held explains why a gate keeps the version pending.
	Held string `json:"held,omitempty"`
	// Staged is "pending", or empty if the version is released.
	Staged string `json:"staged,omitempty"`
	// Source is the source address of the version in OpenTofu configurations. It is
	// empty for image layouts.
	Source string `json:"source,omitempty"`
	// Zip is the digest of the zip, Size is its size in bytes, and Files is the number
	// of files that it contains.
	Zip   string `json:"zip"`
	Size  int64  `json:"size"`
	Files int    `json:"files"`
	// Documents contains the documents about the zip.
	Documents []DocumentItem `json:"documents,omitempty"`
}

// NonRegistryCalls warns about module calls that cannot be redirected. Calls that cannot
// be resolved make the run incomplete.
func (o *Report) NonRegistryCalls(calls []module.NonRegistryCall) {
	o.direct = calls
	for _, c := range calls {
		o.Warn("%s", c)
	}
}

// ModulePushed reports a module that was pushed.
func (o *Report) ModulePushed(name string, ref template.Reference, r module.Result) error {
	i := ModuleItem{
		Provider: module.Reference{Repository: ref}.String(), Version: r.Zip.Version.String(), Status: string(r.Status), DryRun: o.DryRun,
		Repository: ref.String(), Tag: r.Tag, Digest: r.Digest.String(), Latest: r.Latest,
		Zip: r.Zip.Digest.String(), Size: r.Zip.Size, Files: r.Files,
	}
	status := i.Status
	if o.DryRun && r.Status != publish.Unchanged {
		status = "would be " + status
	}
	line := fmt.Sprintf("%s %s %s %s", name, i.Version, status, reference(i.Repository, i.Tag, i.Digest))
	if i.Digest != "" {
		o.digests = append(o.digests, i.Digest)
	}
	rows := []string{cells("  zip", Counted(r.Files, "file")+", "+Size(i.Size))}
	if len(r.Zip.Documents) > 0 && r.Status != publish.Unchanged {
		var names []string
		for _, d := range r.Zip.Documents {
			names = append(names, d.Name)
			i.Documents = append(i.Documents, documentItem(d))
		}
		rows = append(rows, cells("  documents", strings.Join(names, ", ")))
	}
	if _, waits := artifact.ParsePending(r.Tag); waits {
		i.Staged = stagedPending
		why := needsApproval
		if r.Held != nil {
			i.Held = r.Held.Error()
			why = i.Held + ", " + needsApproval
		}
		rows = append(rows, cells("  staged", why))
	} else if !ref.IsLayout() {
		i.Source = "oci://" + i.Repository + "?tag=" + i.Tag
		rows = append(rows, cells("  source", i.Source))
	}
	if i.Latest {
		rows = append(rows, cells("  latest", "points to this version"))
	}
	if err := o.writeDigests(); err != nil {
		return err
	}
	return printItems(o, "module", []ModuleItem{i}, none{}, fit(line+"\n"+o.table(rows), o.columns))
}
