package publish

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Targets finds the repository of each provider, and refuses to put two into
// one: their versions would overwrite each other.
func Targets(addresses []provider.Address, find func(provider.Address) (template.Reference, error)) (map[provider.Address]template.Reference, error) {
	targets := map[provider.Address]template.Reference{}
	taken := map[template.Reference]provider.Address{}
	for _, a := range addresses {
		if _, known := targets[a]; known {
			continue
		}
		ref, err := find(a)
		if err != nil {
			return nil, err
		}
		if other, twice := taken[ref]; twice {
			return nil, fmt.Errorf("%s and %s would both go to %s: use more of {hostname}, {namespace} and {type} in the template", other, a, ref)
		}
		targets[a], taken[ref] = ref, a
	}
	return targets, nil
}
