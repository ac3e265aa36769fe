package template

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// CheckDistinct refuses to put two providers into one repository: their versions would
// overwrite each other. repositories has the text of each reference.
func CheckDistinct(repositories map[provider.Address]string) error {
	taken := map[string]provider.Address{}
	byText := func(a, b provider.Address) int { return cmp.Compare(a.String(), b.String()) }
	for _, a := range slices.SortedFunc(maps.Keys(repositories), byText) {
		ref := repositories[a]
		if other, twice := taken[ref]; twice {
			return provider.Errorf(provider.Misuse, "%s and %s would both go to %s: use more of {hostname}, {namespace} and {type} in the template", other, a, ref)
		}
		taken[ref] = a
	}
	return nil
}
