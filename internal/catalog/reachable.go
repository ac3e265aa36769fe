package catalog

import (
	"context"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Reachable asks the registries of templates whether they answer.
func Reachable(ctx context.Context, from []template.Template, o repository.Options) error {
	probe := provider.Address{Host: provider.DefaultHost, Namespace: "tofu", Type: "oci"}
	for _, t := range from {
		ref, err := t.Repository(probe)
		if err != nil {
			continue // the template is for other addresses
		}
		if err := repository.Reachable(ctx, ref, o); err != nil {
			return err
		}
	}
	return nil
}
