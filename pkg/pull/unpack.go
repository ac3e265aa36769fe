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

// checkContents holds what was read against what is stated, which nobody signs.
func checkContents(p provider.Package, contents packagezip.Contents, err error) error {
	if err != nil {
		return fmt.Errorf("unpacking %s: %w", p.Filename, err)
	}
	return contents.VerifyH1(p.Filename+" h1", p.H1)
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
			return exists(filepath.Join(dir, entry.Name()), "is there, and has lost its permission to be executed")
		}
		return nil
	}
	return nil
}
