package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/memo"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
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
	program, err := extprog.Parse(commandLine, "zip", "dir", "binary")
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
		query, err := json.Marshal(map[string]string{
			"provider": p.Address.String(), "version": p.Version.String(), "os": p.Platform.OS, "arch": p.Platform.Arch,
			"zip": zip, "dir": dir, "binary": binary,
		})
		if err != nil {
			return provider.Document{}, err
		}
		document, err := program.Run(ctx, extprog.Call{Replace: paths, Stdin: query, MaxOutput: artifact.MaxDocumentSize})
		if err != nil {
			return provider.Document{}, err
		}
		mediaType, err := artifact.DocumentType(provider.KindSBOM, "the output of "+program.Name(), document)
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

// CreateMissing returns a repository that is made by create when a push finds it missing.
// create is called once, even if it fails.
func CreateMissing(repo repository.Repository, create func(ctx context.Context) error) repository.Repository {
	return &creating{Repository: repo, create: create}
}

type creating struct {
	repository.Repository
	create func(ctx context.Context) error
	made   memo.Memo[struct{}, error]
}

// PushBlob pushes a blob, and where the repository is missing has it made first.
// Nothing of content is read before a registry says so. ECR sometimes just ends the
// connection.
func (c *creating) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	read := transfer.NewRecorder(content)
	err := c.Repository.PushBlob(ctx, d, read)
	if err == nil || read.N() > 0 || !errors.Is(err, repository.ErrNoRepository) && !errors.Is(err, io.EOF) {
		return err
	}
	failure, err := c.made.Get(ctx, struct{}{}, func(ctx context.Context) (error, error) {
		err := c.create(ctx)
		if ctx.Err() != nil {
			return nil, err
		}
		return err, nil
	})
	if err := cmp.Or(err, failure); err != nil {
		return fmt.Errorf("making the missing repository: %w", err)
	}
	return c.Repository.PushBlob(ctx, d, read)
}

// RepositoryProgram makes a function for [CreateMissing] of a command line. It
// is run without a shell; on stdin it has a JSON object with registry and
// repository, and {registry} and {repository} stand for them in its words, and no other word may stand in braces. What
// it writes to stdout is not used; exit status 0 says that all went well.
func RepositoryProgram(commandLine, registry, name string) (func(ctx context.Context) error, error) {
	program, err := extprog.Parse(commandLine, "registry", "repository")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		values := map[string]string{"registry": registry, "repository": name}
		query, err := json.Marshal(values)
		if err != nil {
			return err
		}
		_, err = program.Run(ctx, extprog.Call{Replace: values, Stdin: query, MayBeSilent: true})
		if extprog.IsFailure(err, extprog.WrongOutput) {
			return nil
		}
		return err
	}, nil
}
