package source

import (
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// choosePlatforms gives the wanted platforms, all when none is named, sorted.
func choosePlatforms(a provider.Address, v provider.Version, have, only []provider.Platform) ([]provider.Platform, error) {
	if len(have) == 0 {
		none := &provider.PlatformError{Address: a, Version: v}
		if len(only) > 0 {
			none.Wanted = only[0]
		}
		return nil, none
	}
	if len(only) == 0 {
		return have, nil
	}
	wanted := provider.SortPlatforms(only)
	for _, p := range wanted {
		if !slices.Contains(have, p) {
			return nil, &provider.PlatformError{Address: a, Version: v, Wanted: p, Have: slices.Clone(have)}
		}
	}
	return wanted, nil
}

// notOurs is the error of a source that is asked to open a package of another.
func notOurs(p provider.Package) error {
	return fmt.Errorf("opening %s: the package is not of this source", p.Filename)
}
