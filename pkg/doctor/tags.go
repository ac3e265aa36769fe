package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// perPlatform is a tag for one platform, as people write them by hand.
var perPlatform = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+-[a-z0-9]+_[a-z0-9]+$`)

// CheckTags finds tags that mislead OpenTofu: it takes all for versions that
// parse as such, and looks for the canonical form then.
func CheckTags(tags []string, wanted provider.Requirement, to template.Template) []Finding {
	var findings []Finding
	var newest provider.Version
	for _, tag := range tags {
		if v, ok := artifact.ParseTag(tag); ok && wanted.Constraint.Allows(v) && v.Compare(newest) > 0 {
			newest = v
		}
	}
	tags = slices.Clone(tags)
	slices.Sort(tags)
	for _, tag := range tags {
		v, err := provider.ParseVersion(strings.ReplaceAll(tag, "_", "+"))
		if err != nil {
			bare, isV := strings.CutPrefix(tag, "v")
			if v, known := artifact.ParseTag(bare); isV && known && !slices.Contains(tags, bare) {
				findings = append(findings, Finding{Warning, "tag-ignored", fmt.Sprintf("OpenTofu does not take the tag %s for a version, because of its v.", tag),
					mirrorCommand(wanted.Address, v.String(), to)})
			}
			continue
		}
		canonical := artifact.Tag(v)
		switch {
		case v == provider.Version{}:
			findings = append(findings, Finding{Warning, "version-zero", fmt.Sprintf("OpenTofu never chooses the tag %s: to it, 0.0.0 is no version.", tag),
				"publish the release under its version, and delete the tag " + tag})
		case canonical != tag && !slices.Contains(tags, canonical):
			f := Finding{Warning, "tag-without-version", fmt.Sprintf("OpenTofu takes the tag %s for version %s, looks for the tag %s, and finds nothing.", tag, v, canonical),
				mirrorCommand(wanted.Address, v.String(), to)}
			if wanted.Constraint.Allows(v) && v.Compare(newest) > 0 {
				f.Severity = Error
			}
			findings = append(findings, f)
		case perPlatform.MatchString(tag):
			findings = append(findings, Finding{Warning, "tag-per-platform", fmt.Sprintf("OpenTofu takes the tag %s for a version of its own, a pre-release.", tag),
				"delete the tag " + tag + "; the platforms of a version are in the index under its tag"})
		}
	}
	return findings
}
