package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/explain"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/source"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "show which providers or versions there are, or what one version holds",
		ArgsUsage: "[PROVIDER...] [FLAG...]",
		Description: strings.TrimSpace(`
Lists versions, newest first; a constraint keeps the list to those that match.
With one exact version: its date, platforms, digests, hashes and evidence, what its
signature proves, and whether pull would refuse it for that. Without
--from it looks where OpenTofu would: its CLI configuration decides, and says
nothing else than the origin registry by default.

Without PROVIDER: the providers that lie in the repositories of --from, one a line.
Image layouts are found by their directories. A registry is asked for the list of
its repositories, which not all have, and few show to everybody; --providers names
them where it has none. Each repository is asked whose it is, unless its name says
it with {hostname}: most templates leave the host out.

With --server it asks a server of tofu-oci serve for the same, with the token that
TF_TOKEN_… or the CLI configuration has for its host.

--check LEVEL looks at each version, and marks those that are not complete, with why and
the command that heals them; exit code 4 tells that there are some. Levels are those
of tofu-oci mirror:
   index      the tag names an index of this provider
   manifests  the manifests of its platforms are there
   blobs      so are zips, sums and signatures, in their size
   deep       they are read, and have their digests
An incomplete version lacks something that some platform needs; a broken one can't be
installed at all. What evidence is worth, tofu-oci verify says.

--pending lists what mirror --stage has put aside, which nobody installs: each
version with its state, pending or denied, and why. With one exact version, it is
what that holds, for whoever is to promote it. It takes several PROVIDERs, or
--sources; without any it looks at all that lie in the repositories of --from.

Examples:
   tofu-oci list hashicorp/aws
   tofu-oci list 'hashicorp/aws@~> 5.0' --from ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci list hashicorp/aws --check blobs --from ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci list hashicorp/null@3.2.4 --from oci-layout:mirror/{namespace}/{type} --output json
   tofu-oci list --from oci-layout:mirror/{namespace}/{type}
   tofu-oci list hashicorp/aws --server https://tofu.example.com
   tofu-oci list hashicorp/null --pending --from ghcr.io/acme/providers/{namespace}/{type}
   tofu-oci list --pending --from ghcr.io/acme/providers/{namespace}/{type}`),
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "from", Usage: "repository template `REPO` to look in (default: where the CLI configuration says that OpenTofu installs from)"},
			&cli.StringFlag{Name: "check", Usage: "mark versions that are incomplete or broken, looking as hard as `LEVEL` index, manifests, blobs or deep, see above"},
			&cli.BoolFlag{Name: "pending", Usage: "what waits for approval since mirror --stage, and what was denied"},
			sourcesFlag(),
			&cli.StringFlag{Name: "server", Usage: "`URL` of a server of tofu-oci serve to ask instead"},
			providersFlag(),
			aliasFlag(),
		}, trustFlags(), networkFlags(), outputFlags()),
		Action: printing(func(c *cli.Context, out *output) error {
			err := list(c, out)
			if errors.Is(err, provider.ErrVersionNotFound) {
				return explain.WithHint(err, "") // which would be to list
			}
			return err
		}),
	}
}

func list(c *cli.Context, out *output) error {
	switch {
	case c.IsSet("server"):
		return listServer(c, out)
	case c.Bool("pending") && (c.NArg() != 1 || c.IsSet("sources")):
		return listAllPending(c, out)
	case !c.Args().Present():
		return listProviders(c, out)
	}
	wanted, err := requirements(c, out)
	if err != nil {
		return err
	}
	if len(wanted) > 1 {
		return usagef("list takes one PROVIDER, not %d", len(wanted))
	}
	judging, err := policy(c)
	if err != nil {
		return err
	}
	conn, err := connect(c, out)
	if err != nil {
		return err
	}
	r := wanted[0]
	if c.Bool("pending") {
		return listPending(c, out, conn, r, judging)
	}
	if c.IsSet("check") {
		return listChecked(c, out, conn, r)
	}
	src, err := conn.from(c)
	if err != nil {
		return err
	}
	if v, exact := r.Constraint.Exact(); exact {
		return out.listOne(c.Context, src, judging, r.Address, v)
	}
	versions, err := listed(c.Context, src, r)
	if err != nil {
		return err
	}
	out.warnDenied(c.Context, src, r, 0)
	return out.listVersions(r.Address, versions)
}

// listOne prints what one version holds.
func (o *output) listOne(ctx context.Context, src provider.Source, judging trust.Policy, a provider.Address, v provider.Version) error {
	release, err := src.Release(ctx, a, v)
	if err != nil {
		return err
	}
	verdict, err := judging.Judge(ctx, release)
	refused, isRefused := errors.AsType[*trust.RefusedError](err)
	if err != nil && !isRefused {
		return err
	}
	var referrers []provider.Document
	if about := provider.CapabilitiesOf(src).Documents; about != nil {
		if referrers, err = about(ctx, release); err != nil {
			return err
		}
	}
	approvals, err := approvalsAmong(ctx, referrers)
	if err != nil {
		return err
	}
	return o.listRelease(release, referrers, approvals, verdict, refused)
}

// approvalsAmong reads the approvals in the documents that refer to a release.
func approvalsAmong(ctx context.Context, referrers []provider.Document) ([]approvalItem, error) {
	var approvals []approvalItem
	for _, d := range referrers {
		if d.MediaType != artifact.TypeApproval || d.Size > artifact.MaxDenialSize {
			continue
		}
		data, err := d.Read(ctx)
		if err != nil {
			return nil, err
		}
		if a, err := artifact.ParseApproval(data); err == nil { // anything else is still listed as a document
			approvals = append(approvals, *describeApproval(&a))
		}
	}
	return approvals, nil
}

// listed gives the versions that meet a constraint, and without one all of them,
// pre-releases too.
func listed(ctx context.Context, src provider.Source, r provider.Requirement) ([]provider.Version, error) {
	if r.Constraint.IsZero() {
		return src.Versions(ctx, r.Address)
	}
	return source.Resolve(ctx, src, r, 0)
}

// versionList are the versions that there are, newest first.
type versionList struct {
	Provider string   `json:"provider"`
	Versions []string `json:"versions"`
	// Checked says of each how much of it is there, with --check.
	Checked []checkedVersion `json:"checked,omitempty"`
}

// listVersions prints versions, newest first.
func (o *output) listVersions(a provider.Address, versions []provider.Version) error {
	names := []string{}
	for _, v := range versions {
		names = append(names, v.String())
	}
	if o.json {
		return o.printDocument(documentVersions, versionList{Provider: a.String(), Versions: names})
	}
	for _, name := range names {
		_, _ = fmt.Fprintln(o.stdout, name)
	}
	return nil
}

// releaseDescription is what a version holds.
type releaseDescription struct {
	Provider   string         `json:"provider"`
	Version    string         `json:"version"`
	Repository string         `json:"repository,omitempty"`
	Tag        string         `json:"tag"`
	Digest     string         `json:"digest,omitempty"`
	Published  string         `json:"published,omitempty"`
	Protocols  []string       `json:"protocols,omitempty"`
	Packages   []packageItem  `json:"packages"`
	Evidence   []evidenceItem `json:"evidence"`
	Signature  *signatureItem `json:"signature,omitempty"`
	// Approvals are the approvals that promote recorded.
	Approvals []approvalItem `json:"approvals,omitempty"`
}

// listRelease prints what a version holds. Refused is why its signature would not
// do, nil when it does.
func (o *output) listRelease(r provider.Release, referrers []provider.Document, approvals []approvalItem, v provider.Verdict, refused *trust.RefusedError) error {
	tag := cmp.Or(r.Stored.Tag, artifact.Tag(r.Version))
	signature := describeVerdict(v)
	if refused != nil && signature != nil {
		signature.Refused = refused.Problem
	}
	var packages []packageItem
	evidence := []evidenceItem{}
	for _, d := range r.Documents {
		evidence = append(evidence, asEvidence(d))
	}
	for _, p := range r.Packages {
		packages = append(packages, describe(p, ""))
		for _, d := range p.Documents {
			evidence = append(evidence, asEvidenceOf(p, d))
		}
	}
	for _, d := range referrers {
		e := asEvidence(d)
		e.Referrer = true
		evidence = append(evidence, e)
	}
	if o.json {
		return o.printDocument(documentRelease, releaseDescription{r.Address.String(), r.Version.String(), r.Stored.Repository, tag, r.Stored.Digest.String(), dateText(r.Published), r.Protocols, packages, evidence, signature, approvals})
	}
	lines := &strings.Builder{}
	_, _ = fmt.Fprintf(lines, "%s %s\n", r.Address, r.Version)
	if !r.Published.IsZero() {
		_, _ = fmt.Fprintf(lines, "published %s\n", dateText(r.Published))
	}
	if _, waits := artifact.ParsePending(tag); waits {
		_, _ = fmt.Fprintf(lines, "waits for approval under the tag %s\n", tag)
	}
	if len(r.Protocols) > 0 {
		_, _ = fmt.Fprintf(lines, "protocols %s\n", oneLine(strings.Join(r.Protocols, ", ")))
	}
	_, _ = fmt.Fprintf(lines, "%s\n", oneLine(v.String()))
	if refused != nil {
		_, _ = fmt.Fprintf(lines, "refused: %s\n", oneLine(refused.Problem))
	}
	for _, a := range approvals {
		_, _ = fmt.Fprintf(lines, "approved: %s\n", oneLine(artifact.Approval{Reason: a.Reason, By: a.By}.String()))
	}
	table := tabwriter.NewWriter(lines, 0, 0, 2, ' ', 0)
	for _, p := range packages {
		_, _ = fmt.Fprintln(table, cells(p.Platform, p.Filename, p.size(), p.Digest, p.H1))
	}
	for _, e := range evidence {
		kind := "evidence"
		if e.Referrer {
			kind = "referrer"
		}
		_, _ = fmt.Fprintln(table, cells(kind, e.Name, size(e.Size), e.MediaType, e.Platform))
	}
	_ = table.Flush()
	_, err := io.WriteString(o.stdout, printable(lines.String()))
	return err
}
