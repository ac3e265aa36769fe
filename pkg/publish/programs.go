package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

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

// SBOMProgram returns a function for [Options] SBOM that runs a command line such as
//
//	syft scan file:{binary} -o spdx-json
//
// The program runs once per package, without a shell. SBOMProgram replaces {zip},
// {dir}, and {binary} with the paths of the zip, the directory to which it is unpacked,
// and the executable. Other words in braces are invalid. On stdin, the program receives
// a JSON object with provider, version, os, arch, zip, dir, and binary. It must write
// an SPDX or CycloneDX document to stdout.
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
		binary, err := packagezip.UnpackExecutable(ctx, zip, dir, p.Address.Type)
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

// sbomName returns the file name of a package's SBOM according to OpenTofu's RFC for OCI
// registries.
func sbomName(p provider.Package, mediaType string) string {
	ending := ".spdx.json"
	if mediaType == artifact.MediaTypeCycloneDX {
		ending = ".cdx.json"
	}
	return fmt.Sprintf("terraform-provider-%s_%s_%s%s", p.Address.Type, p.Version, p.Platform, ending)
}

// CreateMissing returns a repository that calls create when a push fails because the
// repository doesn't exist. It calls create only once, even if create fails.
func CreateMissing(repo repository.Repository, create func(ctx context.Context) error) repository.Repository {
	return &creating{Repository: repo, create: create}
}

type creating struct {
	repository.Repository
	create  func(ctx context.Context) error
	created memo.Memo[struct{}, error]
}

// PushBlob pushes a blob. If the repository is missing, PushBlob creates it and tries
// again. The second attempt can send the same content, because registries reject the
// upload before they read any content. ECR sometimes closes the connection instead of
// responding, so io.EOF is handled like a missing repository.
func (c *creating) PushBlob(ctx context.Context, d ocispec.Descriptor, content io.Reader) error {
	read := transfer.NewRecorder(content)
	err := c.Repository.PushBlob(ctx, d, read)
	if err == nil || read.N() > 0 || !errors.Is(err, repository.ErrNoRepository) && !errors.Is(err, io.EOF) {
		return err
	}
	failure, err := c.created.Get(ctx, struct{}{}, func(ctx context.Context) (error, error) {
		err := c.create(ctx)
		if ctx.Err() != nil {
			return nil, err
		}
		return err, nil
	})
	if err := cmp.Or(err, failure); err != nil {
		return fmt.Errorf("creating the missing repository: %w", err)
	}
	return c.Repository.PushBlob(ctx, d, read)
}

// RepositoryProgram returns a function for [CreateMissing] that runs a command line
// without a shell. It replaces {registry} and {repository} in the arguments. Other
// words in braces are invalid. On stdin, the program receives a JSON object with
// registry and repository. The program's output is ignored, and exit status 0 means
// success.
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
