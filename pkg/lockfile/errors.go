package lockfile

import (
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

var (
	// ErrSyntax is returned for a lock file that OpenTofu rejects. The error states the
	// position.
	ErrSyntax = provider.Errorf(provider.Misuse, "invalid lock file")
	// ErrChanged is returned if another process changed a lock file during an update.
	ErrChanged = provider.Errorf(provider.Transient, "another process changed it meanwhile, so nothing was written")
)
