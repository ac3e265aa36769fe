package lockfile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestSelectionsForOpenTofu checks which selections of predecessors are replaced.
// e2e/predecessor_test.go compares the cases with the real tofu.
func TestSelectionsForOpenTofu(t *testing.T) {
	t.Parallel()
	const tofu, terraform = "registry.opentofu.org/hashicorp/time", "registry.terraform.io/hashicorp/time"
	for name, test := range map[string]struct {
		// locked and want contain "ADDRESS VERSION". A selection in want that isn't locked
		// is followed by its predecessor.
		locked   []string
		required []string
		want     []string
	}{
		"only the predecessor":               {[]string{terraform + " 0.12.0"}, []string{tofu}, []string{tofu + " 0.12.0 " + terraform}},
		"nothing is required":                {[]string{terraform + " 0.12.0"}, nil, []string{tofu + " 0.12.0 " + terraform}},
		"the predecessor is required":        {[]string{terraform + " 0.12.0"}, []string{terraform}, []string{terraform + " 0.12.0"}},
		"both are required":                  {[]string{terraform + " 0.12.0"}, []string{terraform, tofu}, []string{tofu + " 0.12.0 " + terraform, terraform + " 0.12.0"}},
		"both are locked":                    {[]string{tofu + " 0.14.2", terraform + " 0.12.0"}, []string{tofu}, []string{tofu + " 0.14.2"}},
		"both are locked and required":       {[]string{tofu + " 0.14.2", terraform + " 0.12.0"}, []string{terraform, tofu}, []string{tofu + " 0.14.2", terraform + " 0.12.0"}},
		"only the successor":                 {[]string{tofu + " 0.14.2"}, []string{tofu}, []string{tofu + " 0.14.2"}},
		"another namespace":                  {[]string{"registry.terraform.io/acme/time 0.12.0"}, nil, []string{"registry.terraform.io/acme/time 0.12.0"}},
		"another host":                       {[]string{"example.com/hashicorp/time 0.12.0"}, nil, []string{"example.com/hashicorp/time 0.12.0"}},
		"another port":                       {[]string{"registry.terraform.io:8443/hashicorp/time 0.12.0"}, nil, []string{"registry.terraform.io:8443/hashicorp/time 0.12.0"}},
		"another provider of OpenTofu":       {[]string{"registry.opentofu.org/hashicorp/null 3.2.4", terraform + " 0.12.0"}, nil, []string{"registry.opentofu.org/hashicorp/null 3.2.4", tofu + " 0.12.0 " + terraform}},
		"the order changes":                  {[]string{"registry.opentofu.org/opentofu/a 1.0.0", terraform + " 0.12.0"}, nil, []string{tofu + " 0.12.0 " + terraform, "registry.opentofu.org/opentofu/a 1.0.0"}},
		"a pre-release with a different one": {[]string{terraform + " 0.12.0-rc1", "registry.terraform.io/hashicorp/x 1.0.0"}, nil, []string{tofu + " 0.12.0-rc1 " + terraform, "registry.opentofu.org/hashicorp/x 1.0.0 registry.terraform.io/hashicorp/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := ""
			for _, entry := range test.locked {
				address, version, _ := strings.Cut(entry, " ")
				text += fmt.Sprintf("provider %q {\n  version     = %q\n  constraints = \"> 0.1.0\"\n  hashes = [\n    \"h1:%s\",\n  ]\n}\n", address, version, address)
			}
			f, err := lockfile.Parse("f", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range f.SelectionsForOpenTofu(func(a provider.Address) bool { return slices.Contains(test.required, a.String()) }) {
				line, hashes := fmt.Sprint(s.Address, " ", s.Version), []lockfile.Hash{lockfile.Hash("h1:" + s.Address.String())}
				if s.Predecessor != (provider.Address{}) {
					line, hashes = line+" "+s.Predecessor.String(), nil
				}
				if !slices.Equal(s.Hashes, hashes) || s.Constraints.String() != "> 0.1.0" || s.Line == 0 {
					t.Errorf("got %+v", s)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if string(f.Bytes()) != text {
				t.Error("the file was changed")
			}
		})
	}
}
