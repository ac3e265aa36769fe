package pull

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/ctxio"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// stages are two ways to read a zip, with equal results: while it arrives, and
// from a file.
type stages struct {
	stream func(zip io.Reader) (packagezip.Contents, error)
	again  func(archive *packagezip.Reader) (packagezip.Contents, error)
}

// read reads a zip while it arrives. The few that can't be read like that are
// opened again and kept in a temporary file in dir, which has room for packages.
func read(ctx context.Context, open Opener, dir string, s stages) (packagezip.Contents, error) {
	zip, err := open(ctx)
	if err != nil {
		return packagezip.Contents{}, err
	}
	contents, err := s.stream(ctxio.Reader(ctx, zip))
	_ = zip.Close()
	if _, again := errors.AsType[*packagezip.NotStreamableError](err); !again {
		return contents, err
	}
	if zip, err = open(ctx); err != nil {
		return packagezip.Contents{}, err
	}
	defer func() { _ = zip.Close() }()
	atomicfile.Sweep(dir)
	spool, err := atomicfile.Create(filepath.Join(dir, "package.zip"), modeZip)
	if err != nil {
		return packagezip.Contents{}, err
	}
	defer spool.Discard() // it never gets its name
	size, err := io.Copy(spool, ctxio.Reader(ctx, zip))
	if err != nil {
		return packagezip.Contents{}, err
	}
	archive, err := packagezip.Open(spool, size)
	if err != nil {
		return packagezip.Contents{}, err
	}
	return s.again(archive)
}

// checkContents holds what was read against what is stated, which nobody signs.
func checkContents(p provider.Package, contents packagezip.Contents, err error) error {
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", p.Filename, err)
	}
	return contents.VerifyH1(p.Filename+" h1", p.H1)
}

// empty removes what is in a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// startable refuses a directory of which the executable lost its permission: its
// h1 is right, and yet it is of no use. The executable is the first, in lexical
// order, that OpenTofu would start.
func startable(dir, typ string) error {
	if runtime.GOOS == "windows" {
		return nil // where no file has such a permission
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		rest, named := strings.CutPrefix(entry.Name(), "terraform-provider-"+typ)
		if !named || entry.IsDir() || rest != "" && rest[0] != '_' && rest[0] != '.' {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().IsRegular() && info.Mode()&0o111 == 0 {
			return &ExistsError{Path: filepath.Join(dir, entry.Name()), Problem: "is there, and has lost its permission to be executed"}
		}
		return nil
	}
	return nil
}
