package template

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// CheckDistinct returns an error if two providers use the same repository, because
// their versions would use the same tags. repositories maps each provider to the string
// form of its reference.
func CheckDistinct(repositories map[provider.Address]string) error {
	taken := map[string]provider.Address{}
	byText := func(a, b provider.Address) int { return cmp.Compare(a.String(), b.String()) }
	for _, a := range slices.SortedFunc(maps.Keys(repositories), byText) {
		ref := repositories[a]
		if other, twice := taken[ref]; twice {
			return provider.Errorf(provider.Misuse, "%s and %s use the same repository %s; use more variables in the template", other, a, ref)
		}
		taken[ref] = a
	}
	return nil
}

// Targets returns the repository for each address. It returns an error if find fails,
// or if two addresses use the same repository. See [CheckDistinct].
func Targets(of []provider.Address, find func(provider.Address) (Reference, error)) (map[provider.Address]Reference, error) {
	refs, repositories := map[provider.Address]Reference{}, map[provider.Address]string{}
	for _, a := range of {
		if _, known := refs[a]; known {
			continue
		}
		ref, err := find(a)
		if err != nil {
			return nil, err
		}
		refs[a], repositories[a] = ref, ref.String()
	}
	return refs, CheckDistinct(repositories)
}
