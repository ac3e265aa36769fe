package sync_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestTemplate checks that generated declarations are valid, even if all examples are active.
func TestTemplate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wanted     []string
		repository string
		lockFiles  []string
		want       []string
		template   string
	}{
		"nothing": {nil, "", nil, nil, "ghcr.io/acme/providers/{namespace}/{type}"},
		"providers": {
			[]string{"registry.terraform.io/hashicorp/aws@~> 5.0", "hashicorp/random", "hashicorp/random", "acme/rocket@1.0.0", "acme/rocket@2.0.0"}, "ghcr.io/x/${namespace}/${type}", nil,
			[]string{"registry.opentofu.org/acme/rocket", "registry.opentofu.org/hashicorp/random", "registry.terraform.io/hashicorp/aws@~> 5.0"}, "ghcr.io/x/{namespace}/{type}",
		},
		"lock files": {nil, "oci-layout:mirror/{namespace}/{type}", []string{"live/**/.terraform.lock.hcl", `a\"b`}, nil, "oci-layout:mirror/{namespace}/{type}"},
	} {
		var wanted []provider.Requirement
		for _, text := range test.wanted {
			r, err := provider.ParseRequirement(text)
			if err != nil {
				t.Fatal(err)
			}
			wanted = append(wanted, r)
		}
		text := string(sync.Template(sync.TemplateOptions{Wanted: wanted, Repository: test.repository, LockFiles: test.lockFiles}))
		if diff := cmp.Diff(string(hclwrite.Format([]byte(text))), text); diff != "" {
			t.Errorf("%s: the format differs from tofu fmt (-want +got):\n%s", name, diff)
		}
		d, err := parse(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		if got := d.Targets[0].Template.String(); got != test.template || len(d.Targets) != 1 || len(d.LockFiles) != len(test.lockFiles) || d.Prune != nil {
			t.Errorf("%s: got %s, %+v", name, got, d)
		}
		var got []string
		d.LockFiles = nil
		all, _ := d.Wanted(t.Context(), nil)
		for _, w := range all {
			for _, r := range w.Requirements {
				got = append(got, r.String())
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if d, err = parse(withExamples(text)); err != nil {
			t.Errorf("%s with all examples: %v", name, err)
		} else if len(d.Targets) != 2 || len(d.Denials) != 1 || d.Prune == nil || d.Notify == nil || d.Trust == "" || len(d.Sources) != 1 || len(d.LockFiles) == 0 {
			t.Errorf("%s with all examples: got %+v", name, d)
		}
	}
}

// example matches a line that is an example.
var example = regexp.MustCompile(`(?m)^# (  )?([a-z_]+( "[^"]*")? +[={].*|\})$`)

// withExamples activates the examples in a declaration.
func withExamples(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if example.MatchString(line) {
			lines[i] = strings.TrimPrefix(line, "# ")
		}
	}
	return strings.Join(slices.Clip(lines), "\n")
}
