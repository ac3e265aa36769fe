package publish

import (
	"fmt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// CheckTargets refuses a template that puts two providers into one repository:
// their versions would overwrite each other.
func CheckTargets(t template.Template, addresses []provider.Address) error {
	taken := map[template.Reference]provider.Address{}
	for _, a := range addresses {
		ref, err := t.Repository(a)
		if err != nil {
			return err
		}
		if other, twice := taken[ref]; twice && other != a {
			return fmt.Errorf("%s and %s would both go to %s: use more of {hostname}, {namespace} and {type} in the template", other, a, ref)
		}
		taken[ref] = a
	}
	return nil
}
