package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// prepare writes to dir the files that the program needs, and adds their paths to the
// input. replace contains the first platform's paths, which replace the placeholders in
// the command.
func (g Gate) prepare(ctx context.Context, repo repository.Reader, r provider.Release, dir string, in *input) (replace map[string]string, err error) {
	if !slices.ContainsFunc(Files, g.needs) {
		return nil, nil
	}
	platforms, err := g.platforms(r)
	if err != nil {
		return nil, err
	}
	for i, p := range r.Packages {
		if !slices.Contains(platforms, p.Platform) {
			continue
		}
		paths, err := g.files(ctx, repo, p, in.Platforms[i].Attestations, dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Platform, err)
		}
		if in.Platforms[i].Files = paths; p.Platform == platforms[0] {
			replace = paths
		}
	}
	return replace, nil
}

// files writes the files for one package. Their names don't depend on the content of the
// package.
func (g Gate) files(ctx context.Context, repo repository.Reader, p provider.Package, attestations []attestation, dir string) (map[string]string, error) {
	paths := map[string]string{}
	if g.needs(needZip) || g.needs(needBinary) {
		paths[needZip] = filepath.Join(dir, p.Platform.String()+".zip")
		if err := fetch(ctx, repo, p, paths[needZip]); err != nil {
			return nil, err
		}
	}
	if g.needs(needBinary) {
		unpacked := filepath.Join(dir, p.Platform.String())
		if err := os.Mkdir(unpacked, 0o700); err != nil {
			return nil, err
		}
		binary, err := packagezip.UnpackExecutable(ctx, paths[needZip], unpacked, p.Address.Type)
		if err != nil {
			return nil, err
		}
		name := "terraform-provider-" + p.Address.Type
		if p.Platform.OS == "windows" {
			name += ".exe"
		}
		paths[needBinary] = filepath.Join(unpacked, name)
		if err := os.Rename(binary, paths[needBinary]); err != nil {
			return nil, err
		}
	}
	if g.needs(needSBOM) {
		paths[needSBOM] = filepath.Join(dir, p.Platform.String()+".sbom.json")
		if err := writeSBOM(ctx, p, paths[needSBOM]); err != nil {
			return nil, err
		}
	}
	if g.needs(needAttestations) {
		paths[needAttestations] = filepath.Join(dir, p.Platform.String()+".attestations")
		if err := writeAttestations(paths[needAttestations], attestations); err != nil {
			return nil, err
		}
	}
	if !g.needs(needZip) {
		delete(paths, needZip)
	}
	return paths, nil
}

// writeAttestations writes attestations to a new directory.
func writeAttestations(dir string, attestations []attestation) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, a := range attestations {
		if err := write(filepath.Join(dir, a.Digest.Encoded()[:12]+".sigstore.json"), bytes.NewReader(a.content)); err != nil {
			return err
		}
	}
	return nil
}

// fetch writes a zip to a file.
func fetch(ctx context.Context, repo repository.Reader, p provider.Package, path string) error {
	if err := atomicfile.CheckFreeSpace(filepath.Dir(path), p.Size); err != nil {
		return err
	}
	retrier := transfer.Retrier{Backoff: repo.Capabilities().Backoff}
	return retrier.Do(ctx, "reading "+p.Filename, func() error {
		body, err := repository.Verified(ctx, repo, artifact.ZipDescriptor(p), p.Filename)
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }()
		return write(path, body)
	})
}

// writeSBOM writes the first SBOM of a package to a file.
func writeSBOM(ctx context.Context, p provider.Package, path string) error {
	i := slices.IndexFunc(p.Documents, func(d provider.Document) bool { return d.Kind == provider.KindSBOM })
	if i < 0 {
		return errors.New("the package has no SBOM")
	}
	body, err := p.Documents[i].Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	return write(path, io.LimitReader(body, artifact.MaxDocumentSize+1))
}

func write(path string, content io.Reader) error {
	return atomicfile.Write(path, 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	})
}

// platforms returns the platforms for which files are prepared.
func (g Gate) platforms(r provider.Release) ([]provider.Platform, error) {
	have := r.Platforms()
	switch {
	case r.Address.IsModule():
		return have, nil
	case len(g.Platforms) > 0:
		wanted := slices.DeleteFunc(slices.Clone(g.Platforms), func(p provider.Platform) bool { return !slices.Contains(have, p) })
		if len(wanted) == 0 {
			return nil, fmt.Errorf("the gate needs a package for %s, which the release does not have", g.Platforms[0])
		}
		return wanted, nil
	case slices.Contains(have, defaultPlatform):
		return []provider.Platform{defaultPlatform}, nil
	}
	return have[:min(1, len(have))], nil
}
