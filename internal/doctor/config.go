package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// CheckConfig returns the problems in a CLI configuration that don't depend on a
// provider. It sends no requests.
func CheckConfig(c cliconfig.Config, files cliconfig.Files) []finding.Finding {
	findings := []finding.Finding{}
	for _, n := range c.Notes {
		findings = append(findings, noteFinding(c, n))
	}
	if c.Installation == nil {
		findings = append(findings, finding.New(finding.Note, "no-installation-block",
			"The CLI configuration has no provider_installation block, so OpenTofu downloads providers from their origin registries unless its plugin directories contain them"+filesRead(files)+".",
			finding.Remedy{Command: "tofu-oci tofurc REPO --write FILE"}))
	} else {
		findings = append(findings, checkDirect(c.Installation)...)
		for _, a := range slices.SortedFunc(maps.Keys(c.Installation.DevOverrides), provider.Address.Compare) {
			override := c.Installation.DevOverrides[a]
			findings = append(findings, finding.New(finding.Warning, "dev-override",
				fmt.Sprintf("OpenTofu uses %s from the directory %s, regardless of the required version.", a, override.Path),
				finding.Remedy{Hint: "delete the line at " + override.Position.String()}))
		}
	}
	return append(findings, sharedTokens(c.Logins)...)
}

// CheckSyntax returns a finding for each *[stricthcl.Error] within an error. If the
// error contains no *[stricthcl.Error], ok is false.
func CheckSyntax(err error) (findings []finding.Finding, ok bool) {
	switch e := err.(type) { //nolint:errorlint // this function traverses the error tree
	case *stricthcl.Error:
		findings = append(findings, finding.New(finding.Error, "config-syntax", e.Error()+".", finding.Remedy{Hint: "correct " + e.Position.String()}))
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			more, _ := CheckSyntax(inner)
			findings = append(findings, more...)
		}
	case interface{ Unwrap() error }:
		return CheckSyntax(e.Unwrap())
	}
	return findings, len(findings) > 0
}

func filesRead(files cliconfig.Files) string {
	var read []string
	for _, p := range files {
		if p.Read() {
			read = append(read, p.Path)
		}
	}
	if len(read) == 0 {
		return ""
	}
	return "; files read: " + strings.Join(read, ", ")
}

// noteFinding converts a note from the parser to a finding with a remedy.
func noteFinding(c cliconfig.Config, n cliconfig.Note) finding.Finding {
	f := finding.New(finding.Warning, string(n.Kind), n.String()+".", finding.Remedy{Hint: "correct " + n.Position.String()})
	switch n.Kind {
	case cliconfig.NoteDraft:
		f.Severity = finding.Error
		if m, found := methodAt(c, n.Position); found {
			f.Hint = "write the block in the current syntax:\n" + cliconfig.MirrorMethod(m)
		}
	case cliconfig.NoteMissing:
		f.Hint = "write the file " + n.File + ", or set the variable to an existing file"
	case cliconfig.NoteUnreadable:
		f.Hint = "make " + n.File + " readable"
	case cliconfig.NoteCacheDir:
		f.Remedy = finding.Remedy{Command: "mkdir -p " + text.Quote(n.File)}
	case cliconfig.NoteIgnored:
		f.Hint = "correct or delete the line at " + n.Position.String()
	case cliconfig.NoteObjects:
		f.Severity = finding.Error
		f.Hint = "write the value as an array:\n" + `"direct": [{ … }]`
	case cliconfig.NoteLabel:
		f.Hint = "write the registry's name, without wildcards, at " + n.Position.String()
	case cliconfig.NoteAmbiguous:
		if m, found := methodAt(c, n.Position); found {
			f.Hint = fmt.Sprintf("use ${hostname}, ${namespace}, and ${type} in repository_template = %q, or write an oci_mirror block for each pattern", m.Template.Redacted())
		}
	}
	return f
}

func methodAt(c cliconfig.Config, at stricthcl.Position) (cliconfig.Method, bool) {
	if c.Installation == nil {
		return cliconfig.Method{}, false
	}
	i := slices.IndexFunc(c.Installation.Methods, func(m cliconfig.Method) bool { return m.Position == at })
	if i < 0 {
		return cliconfig.Method{}, false
	}
	return c.Installation.Methods[i], true
}

func assignment(name string, patterns []provider.Pattern) string {
	var texts []string
	for _, p := range patterns {
		texts = append(texts, fmt.Sprintf("%q", p))
	}
	return fmt.Sprintf("%s = [%s]", name, strings.Join(texts, ", "))
}

// checkDirect finds direct methods that match the same providers as a mirror.
func checkDirect(block *cliconfig.Installation) []finding.Finding {
	var findings []finding.Finding
	for _, direct := range block.Methods {
		if direct.Kind != cliconfig.Direct {
			continue
		}
		mirrors, open := block.Overlap(direct)
		if len(open) > 0 {
			findings = append(findings, finding.New(finding.Warning, "direct-not-excluded",
				fmt.Sprintf("%s also matches providers of %s, so tofu init fails as soon as the origin registry has a version that is missing from the mirror.", direct, strings.Join(text.Strings(mirrors), ", ")),
				finding.Remedy{Hint: "add to the block:\n" + assignment("exclude", slices.Concat(direct.Exclude, open))}))
		}
	}
	return findings
}

// sharedTokens finds registries whose repositories have different credentials. OpenTofu
// before 1.13 uses one token for the whole host (opentofu#3316, #4063).
func sharedTokens(logins []cliconfig.Login) []finding.Finding {
	var findings []finding.Finding
	reported := map[string]bool{}
	for _, l := range logins {
		var prefixes []string
		for _, other := range logins {
			if other.Registry == l.Registry && other.Helper == "" {
				prefixes = append(prefixes, other.Prefix())
			}
		}
		if len(prefixes) < 2 || reported[l.Registry] {
			continue
		}
		reported[l.Registry] = true
		findings = append(findings, finding.New(finding.Warning, "tokens-shared",
			fmt.Sprintf("%s have different credentials, but OpenTofu before 1.13 uses the token of only one of them for all repositories in %s.", strings.Join(prefixes, " and "), l.Registry),
			finding.Remedy{Hint: "use OpenTofu 1.13, or write one block whose credentials grant access to all repositories:\n" + credentialsBlock(l.Registry)}))
	}
	return findings
}

func credentialsBlock(prefix string) string {
	return fmt.Sprintf("oci_credentials %q {\n  username = \"…\"\n  password = \"…\"\n}", prefix)
}
