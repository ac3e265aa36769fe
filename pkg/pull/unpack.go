package pull

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// checkContents returns an error if the contents of a zip don't match the package's h1:
// hash, which is not signed.
func checkContents(p provider.Package, contents packagezip.Contents, err error) error {
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", p.Filename, err)
	}
	return contents.VerifyH1(p.Filename+" h1", p.H1)
}

// startable returns an error if the executable of an unpacked package lacks the
// executable bit, which the h1: hash doesn't cover. The executable is the file that
// OpenTofu would start.
func startable(dir, typ string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows has no executable bit
	}
	name, err := packagezip.ExecutableIn(dir, typ)
	if err != nil || name == "" {
		return err
	}
	path := filepath.Join(dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && info.Mode()&0o111 == 0 {
		return exists(path, "is not executable")
	}
	return nil
}
