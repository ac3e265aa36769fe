package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/opencontainers/go-digest"
	"github.com/zclconf/go-cty/cty"

	"github.com/tofu-oci/tofu-oci/internal/boundedfile"
	"github.com/tofu-oci/tofu-oci/internal/nesting"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// maxLock bounds a lock file, in bytes: a provider takes some two kilobytes. HCL's
// parser takes up to three hundred times as much memory.
const maxLock = 512 << 10

// Lock is what a dependency lock file says about one provider.
type Lock struct {
	// Locked is false when it says nothing.
	Locked  bool
	Version provider.Version
	Hashes  []string
}

// ReadLock reads a provider's block of a .terraform.lock.hcl.
func ReadLock(path string, a provider.Address) (Lock, error) {
	data, err := boundedfile.ReadAny(path, maxLock)
	if err != nil {
		return Lock{}, fmt.Errorf("reading the lock file: %w", err)
	}
	return ParseLock(path, data, a)
}

// ParseLock reads a provider's block from the text of a lock file; file is its
// name for error texts.
func ParseLock(file string, data []byte, a provider.Address) (Lock, error) {
	if e := nesting.HCL2(data); e != nil {
		return Lock{}, fmt.Errorf("reading the lock file: %s:%w", file, e)
	}
	parsed, diags := hclsyntax.ParseConfig(data, file, hcl.InitialPos)
	if diags.HasErrors() {
		return Lock{}, fmt.Errorf("reading the lock file: %w", diags)
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok {
		return Lock{}, fmt.Errorf("reading the lock file: %s has no body", file)
	}
	for _, block := range body.Blocks {
		if block.Type != "provider" || len(block.Labels) != 1 {
			continue
		}
		if locked, err := provider.ParseAddress(block.Labels[0]); err != nil || locked != a {
			continue
		}
		return parseLocked(block.Body)
	}
	return Lock{}, nil
}

func parseLocked(body *hclsyntax.Body) (Lock, error) {
	l := Lock{Locked: true}
	attribute, found := body.Attributes["version"]
	if !found {
		return l, fmt.Errorf("reading the lock file: %s: version is missing", body.SrcRange)
	}
	value, diags := attribute.Expr.Value(nil)
	if diags.HasErrors() || value.IsNull() || value.Type() != cty.String {
		return l, fmt.Errorf("reading the lock file: %s: version must be a string", attribute.SrcRange)
	}
	var err error
	if l.Version, err = provider.ParseVersion(value.AsString()); err != nil {
		return l, fmt.Errorf("reading the lock file: %w", err)
	}
	attribute, found = body.Attributes["hashes"]
	if !found {
		return l, nil
	}
	value, diags = attribute.Expr.Value(nil)
	if diags.HasErrors() || value.IsNull() || !value.CanIterateElements() {
		return l, fmt.Errorf("reading the lock file: %s: hashes must be a list of strings", attribute.SrcRange)
	}
	for _, hash := range value.AsValueSlice() {
		if hash.IsNull() || hash.Type() != cty.String {
			return l, fmt.Errorf("reading the lock file: %s: hashes must be a list of strings", attribute.SrcRange)
		}
		l.Hashes = append(l.Hashes, hash.AsString())
	}
	return l, nil
}

// CheckLock compares a lock with the zip that is to be installed. From an OCI
// registry OpenTofu goes by zh: hashes only.
func CheckLock(l Lock, a provider.Address, p provider.Platform, zip digest.Digest) []Finding {
	if !l.Locked || len(l.Hashes) == 0 || zip == "" {
		return nil
	}
	zh := sums.ZH(zip)
	line := fmt.Sprintf("%q,", zh)
	switch {
	case slices.Contains(l.Hashes, zh):
		return nil
	case !slices.ContainsFunc(l.Hashes, func(h string) bool { return strings.HasPrefix(h, "zh:") }):
		return []Finding{{Error, "lock-h1-only",
			fmt.Sprintf("The lock file has only h1: hashes of %s %s, and from an OCI registry OpenTofu demands the zh: hash of the zip.", a, l.Version), "add to hashes:\n" + line}}
	}
	return []Finding{{Error, "lock-hash-missing",
		fmt.Sprintf("The lock file has zh: hashes of %s %s, but not that of the zip for %s in the repository.", a, l.Version, p),
		fmt.Sprintf("compare with the origin's checksums, and only if the zip is right, add to hashes:\n%s", line)}}
}
