package pull

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// checkContents compares the contents of a zip with the unsigned metadata of the package.
func checkContents(p provider.Package, contents packagezip.Contents, err error) error {
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", p.Filename, err)
	}
	return contents.VerifyH1(p.Filename+" h1", p.H1)
}

// startable returns an error if the executable of an unpacked package lacks the
// executable bit, which the h1: hash doesn't include. The executable is the first file in
// lexical order that OpenTofu would start.
func startable(dir, typ string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows has no executable bit
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
			return exists(filepath.Join(dir, entry.Name()), "is not executable")
		}
		return nil
	}
	return nil
}
