package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// SBOMProgram makes an [Options.SBOM] of a command line such as
//
//	syft scan file:{binary} -o spdx-json
//
// It is run without a shell, once a package: {zip}, {dir} and {binary} stand for
// the package's archive, the directory it is unpacked in, and the executable. Any
// other word in braces is refused.
// On stdin it has a JSON object with provider, version, os, arch, zip, dir and
// binary; on stdout it writes an SPDX or CycloneDX document.
func SBOMProgram(commandLine string) (func(ctx context.Context, p provider.Package, zip string) (provider.Document, error), error) {
	program, err := extprog.ParseWith(commandLine, "zip", "dir", "binary")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p provider.Package, zip string) (provider.Document, error) {
		dir, err := atomicfile.NewScratchDir("")
		if err != nil {
			return provider.Document{}, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		binary, err := unpack(ctx, zip, dir, p.Address.Type)
		if err != nil {
			return provider.Document{}, err
		}
		paths := map[string]string{"zip": zip, "dir": dir, "binary": binary}
		query := map[string]string{
			"provider": p.Address.String(), "version": p.Version.String(), "os": p.Platform.OS, "arch": p.Platform.Arch,
			"zip": zip, "dir": dir, "binary": binary,
		}
		document, err := program.Run(ctx, extprog.Call{Replace: paths, Query: query, MaxOutput: artifact.MaxDocumentSize})
		if err != nil {
			return provider.Document{}, err
		}
		mediaType, err := artifact.SBOMType("the output of "+program.Name(), document)
		if err != nil {
			return provider.Document{}, err
		}
		return artifact.NewDocument(sbomName(p, mediaType), mediaType, document), nil
	}, nil
}

// sbomName is what the OCI registries RFC calls a package's SBOM.
func sbomName(p provider.Package, mediaType string) string {
	ending := ".spdx.json"
	if mediaType == artifact.MediaTypeCycloneDX {
		ending = ".cdx.json"
	}
	return fmt.Sprintf("terraform-provider-%s_%s_%s%s", p.Address.Type, p.Version, p.Platform, ending)
}

// unpack unpacks a zip and finds the executable in it.
func unpack(ctx context.Context, zip, dir, typ string) (binary string, err error) {
	f, err := os.Open(zip)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	archive, err := packagezip.Open(f, info.Size())
	if err != nil {
		return "", err
	}
	name, _ := archive.Executable(typ)
	if name == "" {
		return "", fmt.Errorf("the package holds no executable terraform-provider-%s: %w", typ, fs.ErrNotExist)
	}
	return filepath.Join(dir, filepath.FromSlash(name)), archive.Unpack(ctx, dir)
}

// RepositoryProgram makes an [Options.OnMissingRepository] of a command line. It
// is run without a shell; on stdin it has a JSON object with registry and
// repository, and {registry} and {repository} stand for them in its words, and no other word may stand in braces. What
// it writes to stdout is not used; exit status 0 says that all went well.
func RepositoryProgram(commandLine, registry, repository string) (func(ctx context.Context) error, error) {
	program, err := extprog.ParseWith(commandLine, "registry", "repository")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		values := map[string]string{"registry": registry, "repository": repository}
		_, err := program.Run(ctx, extprog.Call{Replace: values, Query: values, MayBeSilent: true})
		if _, talked := errors.AsType[*extprog.OutputError](err); talked {
			return nil
		}
		return err
	}, nil
}
