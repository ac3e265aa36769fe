package credentials

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// helperPrefix begins the file names of the programs that know the tokens
// of origin registries.
const helperPrefix = "terraform-credentials-"

// TokenHelper is the program of a credentials_helper block, which knows the
// tokens of origin registries
// (https://opentofu.org/docs/internals/credentials-helpers/).
type TokenHelper struct {
	path string
	args []string
}

// FindTokenHelper looks for the program terraform-credentials-NAME as OpenTofu
// does: in the directories alone, and not in PATH. Its file name may end in
// _vVERSION, as those of plugins do; the newest counts, and among equals the one
// in the first directory. NAME is in lower case; in file names that doesn't
// matter. ok is false when there is none; OpenTofu goes on without it then.
func FindTokenHelper(name string, args, dirs []string) (h TokenHelper, ok bool) {
	type candidate struct {
		path    string
		version provider.Version
	}
	var found []candidate
	for _, dir := range dirs {
		// What is no directory holds no helper.
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			version, is := tokenHelperVersion(entry.Name(), name)
			path := filepath.Join(dir, entry.Name())
			if info, err := os.Stat(path); is && err == nil && !info.IsDir() {
				found = append(found, candidate{path, version})
			}
		}
	}
	if len(found) == 0 {
		return TokenHelper{}, false
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return b.version.Compare(a.version) })
	path, err := filepath.Abs(found[0].path)
	return TokenHelper{path: path, args: slices.Clone(args)}, err == nil
}

// tokenHelperVersion reports whether a file is named like a helper, and of which
// version it is then.
func tokenHelperVersion(file, name string) (v provider.Version, ok bool) {
	file, isHelper := strings.CutPrefix(file, helperPrefix)
	file, text, _ := strings.Cut(strings.TrimSuffix(strings.ToLower(file), ".exe"), "_v")
	if !isHelper || file != name {
		return v, false
	}
	text, _, _ = strings.Cut(text, "_x")
	v, err := provider.ParseVersion(cmp.Or(text, "0.0.0"))
	return v, err == nil
}

// Token asks for the token of a host, in the form that is compared (Punycode).
// It is empty when the helper knows none. Errors are those of [extprog.Program],
// and tell nothing of what the helper printed on stdout.
func (h TokenHelper) Token(ctx context.Context, host string) (string, error) {
	words := slices.Concat([]string{h.path}, h.args, []string{"get", host})
	out, err := extprog.New(words...).Run(ctx, extprog.Call{Private: true, Timeout: helperTimeout, MaxOutput: maxResponse})
	if err != nil {
		return "", err
	}
	// Other members, and a token of another type, are for clients to come.
	var known map[string]any
	if err := json.Unmarshal(out, &known); err != nil {
		return "", fmt.Errorf("running %s: its answer is not an object", filepath.Base(h.path))
	}
	token, _ := known["token"].(string)
	return token, nil
}
