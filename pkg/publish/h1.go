package publish

import (
	"cmp"
	"context"
	"io"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// localH1 computes the h1 of a zip in a local repository. What the source states
// of it is not signed, so it must agree.
func (p publisher) localH1(ctx context.Context, pkg provider.Package) (string, error) {
	f, err := p.openLocal(pkg)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	return sums.VerifyH1Zip(ctx, f, pkg.Size, pkg.Filename, pkg.H1)
}

// storedH1 gives the h1 of a zip that the repository has, and reads it back
// where nothing else tells: an earlier run sent it before it was cut off.
func (p publisher) storedH1(ctx context.Context, pkg provider.Package, stored string) (string, error) {
	isLocal := p.repo.Traits().BlobPath != nil
	pkg.H1 = cmp.Or(pkg.H1, stored)
	switch isKnown := pkg.H1 != "" && stored == pkg.H1; {
	case p.options.NoH1 || isKnown || pkg.H1 != "" && !isLocal:
		return pkg.H1, nil
	case isLocal:
		return p.localH1(ctx, pkg)
	}
	spool, err := newSpool(p.options.TempDir)
	if err != nil {
		return "", err
	}
	defer spool.Close()
	err = p.retrier().Do(ctx, "reading back "+pkg.Filename, func() error {
		body, err := repository.Verified(ctx, p.repo, artifact.ZipDescriptor(pkg), pkg.Filename)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		if err := spool.Reset(); err != nil {
			return err
		}
		_, err = io.Copy(spool, body)
		return err
	})
	if err != nil {
		return "", err
	}
	return sums.VerifyH1Zip(ctx, spool, pkg.Size, pkg.Filename, pkg.H1)
}
