package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// perPlatform is a tag for one platform, as people write them by hand.
var perPlatform = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+-[a-z0-9]+_[a-z0-9]+$`)

// maxTagFindings bounds what is said about the tags of a repository: a person reads
// some, and corrects the habit that made them all.
const maxTagFindings = 20

// CheckTags finds tags that mislead OpenTofu: it takes all for versions that
// parse as such, and looks for the canonical form then. Of many such tags the first
// are told, with those that keep the wanted version from being found before others.
func CheckTags(tags []string, wanted provider.Requirement, to template.Template) []finding.Finding {
	tagged := make(map[string]bool, len(tags))
	var newest provider.Version
	for _, tag := range tags {
		tagged[tag] = true
		if v, ok := artifact.ParseTag(tag); ok && wanted.Constraint.Allows(v) && v.Compare(newest) > 0 {
			newest = v
		}
	}
	var findings []finding.Finding
	for _, tag := range slices.Sorted(maps.Keys(tagged)) {
		if f, found := checkTag(tag, tagged, newest, wanted, to); found {
			findings = append(findings, f)
		}
	}
	slices.SortStableFunc(findings, func(a, b finding.Finding) int { return cmp.Compare(a.Severity, b.Severity) }) // errors first
	return limitTagFindings(findings)
}

// most returns the first findings about tags, and says how many more there are.
func limitTagFindings(findings []finding.Finding) []finding.Finding {
	if more := len(findings) - maxTagFindings; more > 0 {
		findings = append(findings[:maxTagFindings:maxTagFindings],
			finding.New(finding.Warning, "tags-many", fmt.Sprintf("There are %d more tags of these kinds.", more), finding.Remedy{Hint: "see which tool writes them"}))
	}
	return findings
}

// checkTag judges one tag. newest is the newest version that is wanted and under its
// own tag.
func checkTag(tag string, tagged map[string]bool, newest provider.Version, wanted provider.Requirement, to template.Template) (finding.Finding, bool) {
	v, err := provider.ParseVersion(strings.ReplaceAll(tag, "_", "+"))
	if err != nil {
		bare, isV := strings.CutPrefix(tag, "v")
		if v, known := artifact.ParseTag(bare); isV && known && !tagged[bare] {
			return finding.New(finding.Warning, "tag-ignored", fmt.Sprintf("OpenTofu does not take the tag %s for a version, because of its v.", tag),
				finding.Remedy{Command: MirrorCommand(wanted.Address, to, v.String())}), true
		}
		return finding.Finding{}, false
	}
	canonical := artifact.Tag(v)
	switch {
	case v == provider.Version{}:
		return finding.New(finding.Warning, "version-zero", fmt.Sprintf("OpenTofu never chooses the tag %s: to it, 0.0.0 is no version.", tag),
			finding.Remedy{Hint: "publish the release under its version, and delete the tag " + tag}), true
	case canonical != tag && !tagged[canonical]:
		f := finding.New(finding.Warning, "tag-without-version", fmt.Sprintf("OpenTofu takes the tag %s for version %s, looks for the tag %s, and finds nothing.", tag, v, canonical),
			finding.Remedy{Command: MirrorCommand(wanted.Address, to, v.String())})
		if wanted.Constraint.Allows(v) && v.Compare(newest) > 0 {
			f.Severity = finding.Error
		}
		return f, true
	case perPlatform.MatchString(tag):
		return finding.New(finding.Warning, "tag-per-platform", fmt.Sprintf("OpenTofu takes the tag %s for a version of its own, a pre-release.", tag),
			finding.Remedy{Hint: "delete the tag " + tag + "; the platforms of a version are in the index under its tag"}), true
	}
	return finding.Finding{}, false
}
