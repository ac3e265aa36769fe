package provider

import "slices"

// ChoosePlatforms returns those platforms of a release that are wanted, sorted;
// none wanted means all. Errors are *[PlatformError]: one that the release does
// not have, or a release without any.
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

// SortProtocols returns plugin protocol versions, such as "5.0", sorted and each
// once, without what is none.
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

func isProtocol(s string) bool {
	for _, r := range s {
		if r != '.' && (r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
