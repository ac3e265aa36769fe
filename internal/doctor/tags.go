package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// perPlatform matches tags for a single platform, which some tools write.
var perPlatform = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+-[a-z0-9]+_[a-z0-9]+$`)

// maxTagFindings limits the number of findings about tags. A few findings are enough to
// identify the tool that wrote the tags.
const maxTagFindings = 20

// CheckTags finds tags that mislead OpenTofu. OpenTofu parses tags as versions, but
// then looks for the canonical tag of the selected version. Findings about tags that
// hide the wanted version come first. The number of findings is limited.
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

// limitTagFindings limits the number of findings and reports how many it omitted.
func limitTagFindings(findings []finding.Finding) []finding.Finding {
	if more := len(findings) - maxTagFindings; more > 0 {
		findings = append(findings[:maxTagFindings:maxTagFindings],
			finding.New(finding.Warning, "tags-many", fmt.Sprintf("More tags with similar problems are not listed: %d.", more), finding.Remedy{Hint: "find out which tool writes these tags"}))
	}
	return findings
}

// checkTag checks a single tag. newest is the newest allowed version that has a
// canonical tag.
func checkTag(tag string, tagged map[string]bool, newest provider.Version, wanted provider.Requirement, to template.Template) (finding.Finding, bool) {
	v, err := provider.ParseVersion(strings.ReplaceAll(tag, "_", "+"))
	if err != nil {
		bare, isV := strings.CutPrefix(tag, "v")
		if v, known := artifact.ParseTag(bare); isV && known && !tagged[bare] {
			return finding.New(finding.Warning, "tag-ignored", fmt.Sprintf("OpenTofu does not treat the tag %s as a version, because it starts with v.", tag),
				finding.Remedy{Command: MirrorCommand(wanted.Address, to, v.String())}), true
		}
		return finding.Finding{}, false
	}
	canonical := artifact.Tag(v)
	switch {
	case v == provider.Version{}:
		return finding.New(finding.Warning, "version-zero", fmt.Sprintf("OpenTofu never selects the tag %s, because it does not treat 0.0.0 as a version.", tag),
			finding.Remedy{Hint: "publish the release under a version other than 0.0.0, and delete the tag " + tag}), true
	case canonical != tag && !tagged[canonical]:
		f := finding.New(finding.Warning, "tag-without-version", fmt.Sprintf("OpenTofu treats the tag %s as version %s, but then looks for the tag %s, which does not exist.", tag, v, canonical),
			finding.Remedy{Command: MirrorCommand(wanted.Address, to, v.String())})
		if wanted.Constraint.Allows(v) && v.Compare(newest) > 0 {
			f.Severity = finding.Error
		}
		return f, true
	case perPlatform.MatchString(tag):
		return finding.New(finding.Warning, "tag-per-platform", fmt.Sprintf("OpenTofu treats the tag %s as a separate pre-release version.", tag),
			finding.Remedy{Hint: "delete the tag " + tag + ", because the index of a version already contains all platforms"}), true
	}
	return finding.Finding{}, false
}
