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
	"time"

	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// helperPrefix is the prefix of the file names of helpers for origin registries.
const helperPrefix = "terraform-credentials-"

// TokenHelper is the program that a credentials_helper block specifies. It provides
// tokens for origin registries
// (https://opentofu.org/docs/internals/credentials-helpers/).
type TokenHelper struct {
	path string
	args []string
	// timeout limits the duration of a request.
	timeout time.Duration
}

// FindTokenHelper looks up terraform-credentials-NAME. Like OpenTofu, it searches the
// given directories, but not PATH. Like a plugin's file name, the helper's file name
// can end in _vVERSION. FindTokenHelper selects the newest version in the first
// directory that has a helper. name must be in lower case, but file names are
// case-insensitive. If no helper is found, ok is false. In this case, OpenTofu
// continues without a helper.
func FindTokenHelper(name string, args, dirs []string) (h TokenHelper, ok bool) {
	type candidate struct {
		path    string
		version provider.Version
	}
	var found []candidate
	for _, dir := range dirs {
		// Ignore paths that aren't directories.
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
	return TokenHelper{path: path, args: slices.Clone(args), timeout: defaultTimeouts().get}, err == nil
}

// tokenHelperVersion returns the version in a helper's file name. If the file doesn't
// belong to the helper, ok is false.
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

// Token requests the token for a host, which must be in its comparison form (Punycode).
// If the helper has no token, the result is empty. Errors don't contain the helper's
// stdout.
func (h TokenHelper) Token(ctx context.Context, host string) (string, error) {
	words := slices.Concat([]string{h.path}, h.args, []string{"get", host})
	out, err := extprog.New(words...).Run(ctx, extprog.Call{Private: true, Timeout: h.timeout, MaxOutput: maxResponse})
	if err != nil {
		return "", err
	}
	// Ignore additional members and tokens that are not strings. Both are reserved for
	// future use.
	var known map[string]any
	if err := json.Unmarshal(out, &known); err != nil {
		return "", fmt.Errorf("running %s: output is not a JSON object", filepath.Base(h.path))
	}
	token, _ := known["token"].(string)
	return token, nil
}
