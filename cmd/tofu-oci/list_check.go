package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/verify"
)

// checkedVersion says how much of a version is there.
type checkedVersion struct {
	Version string `json:"version"`
	Tag     string `json:"tag"`
	Status  string `json:"status"`
	// Findings say why it is not complete, and what heals it.
	Findings []releaseFinding `json:"findings,omitempty"`
	// Error is why that is not known.
	Error *errorItem `json:"error,omitempty"`
}

// listChecked shows versions, each with how much of it is there.
func listChecked(c *cli.Context, out *output, conn *connection, r provider.Requirement) error {
	check, err := publish.ParseCheck(c.String("check"))
	if err != nil || check == publish.CheckTags {
		return usagef("--check %s: must be index, manifests, blobs or deep", c.String("check"))
	}
	repo, from, err := conn.audited(c, r.Address)
	if err != nil {
		return err
	}
	tags, err := repo.Tags(c.Context)
	if err != nil {
		return err
	}
	versions := artifact.Versions(tags)
	if !r.Constraint.IsZero() {
		if versions, err = r.Select(versions, 0); err != nil {
			return err
		}
	}
	done := out.step("looking at %s of %s", counted(len(versions), "version"), r.Address)
	found, err := verify.Standings(c.Context, repo, r.Address, versions, verify.StandingOptions{
		Depth: check.Depth(), Aliases: conn.aliases, Template: from,
	})
	done()
	if err != nil {
		return err
	}
	return out.listStandings(r.Address, found)
}

// listStandings prints versions, and what is wrong with them.
func (o *output) listStandings(a provider.Address, found []verify.Standing) error {
	list := versionList{Provider: a.String(), Versions: []string{}, Checked: []checkedVersion{}}
	var failed []error
	unsound := false
	for _, s := range found {
		v := checkedVersion{Version: s.Version.String(), Tag: artifact.Tag(s.Version), Status: string(s.Status), Findings: describeFindings(s.Findings)}
		if s.Err != nil {
			v.Error = describeError(s.Err)
			failed = append(failed, s.Err)
		}
		unsound = unsound || len(s.Findings) > 0
		list.Versions, list.Checked = append(list.Versions, v.Version), append(list.Checked, v)
	}
	o.endProgress()
	if err := o.printChecked(list); err != nil {
		return err
	}
	if unsound {
		return &explain.Exit{Code: explain.ExitUnverified}
	}
	return explain.Items(len(found)-len(failed), failed)
}

func (o *output) printChecked(list versionList) error {
	if o.json {
		return o.printDocument(documentVersions, list)
	}
	lines := &strings.Builder{}
	for _, v := range list.Checked {
		_, _ = fmt.Fprintln(lines, v.line())
		if len(v.Findings) > 0 {
			lines.WriteString(indented(v.Findings[0].Remedy))
		}
	}
	_, err := io.WriteString(o.stdout, printable(lines.String()))
	return err
}

// line is for people. The first finding is told, and how many more there are.
func (v checkedVersion) line() string {
	text := v.Version + "  " + v.Status
	switch more := len(v.Findings) - 1; {
	case v.Error != nil:
		text += ": " + v.Error.Message
	case more >= 0:
		f := v.Findings[0]
		text += ": " + strings.TrimSuffix(f.Message, ".")
		if more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return oneLine(text)
}
