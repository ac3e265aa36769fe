package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// launch has the package for this machine's platform started, unless anything is
// wrong with the release: what somebody may have exchanged is not run.
func (a *audit) launch(ctx context.Context, r provider.Release) error {
	if a.options.Launch == nil || a.left[finding.Error] > 0 || finding.HasError(a.findings) {
		return nil
	}
	here := provider.CurrentPlatform()
	i := slices.IndexFunc(r.Packages, func(p provider.Package) bool { return p.Platform == here })
	if i < 0 {
		problem := fmt.Sprintf("Nothing was started, as the release has no package for %s.", here)
		a.at(provider.Platform{}).find(finding.Warning, notLaunched, problem, "verify it on a machine of one of its platforms")
		return nil
	}
	problem, err := a.options.Launch(ctx, r.Packages[i])
	if err != nil {
		return err
	}
	if problem != "" {
		a.at(here).bad(launchFailed, fmt.Sprintf("The provider does not work here: %s.", problem), "tell whoever publishes the provider; OpenTofu is likely to meet the same")
	}
	return nil
}
