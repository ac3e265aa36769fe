package provider

import (
	"regexp"
	"slices"
)

// ChoosePlatforms returns the requested platforms of a release in sorted order. If
// wanted is empty, it returns all platforms. If a requested platform is missing, or the
// release has no platforms, the error is a *[PlatformError].
func ChoosePlatforms(a Address, v Version, have, wanted []Platform) ([]Platform, error) {
	if len(have) == 0 {
		none := &PlatformError{Address: a, Version: v}
		if len(wanted) > 0 {
			none.Wanted = wanted[0]
		}
		return nil, none
	}
	if len(wanted) == 0 {
		return SortPlatforms(have), nil
	}
	chosen := SortPlatforms(wanted)
	for _, p := range chosen {
		if !slices.Contains(have, p) {
			return nil, &PlatformError{Address: a, Version: v, Wanted: p, Have: slices.Clone(have)}
		}
	}
	return chosen, nil
}

// SortProtocols returns plugin protocol versions, such as "5.0", sorted and without
// duplicates. It omits values that OpenTofu can't parse as versions, because OpenTofu
// would reject the release.
func SortProtocols(protocols []string) []string {
	var clean []string
	for _, p := range protocols {
		if isProtocol(p) {
			clean = append(clean, p)
		}
	}
	slices.Sort(clean)
	return slices.Compact(clean)
}

// protocol matches one to three numbers without leading zeros. [ParseVersion] also
// accepts other versions.
var protocol = regexp.MustCompile(`^(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){0,2}$`)

func isProtocol(s string) bool {
	_, err := ParseVersion(s)
	return err == nil && protocol.MatchString(s)
}
