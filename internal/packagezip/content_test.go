package packagezip_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

func TestH1(t *testing.T) {
	t.Parallel()
	files := []entry{{name: "b/file", content: "one"}, {name: "a", content: "two"}, {name: "b-file", content: "three"}}
	tests := []struct {
		test    string
		entries []entry
		same    bool // the hashes of the archive and the directory are equal
	}{
		{"only files", files, true},
		{"directories listed", append([]entry{{name: "b/"}, {name: "empty/"}}, files...), false},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			r := mustOpen(t, deflated(t, test.entries...))
			dir := t.TempDir()
			if err := r.Unpack(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			c, err := r.Contents(t.Context())
			checkH1Dir(t, dir, c.H1Unpacked, err)
			if same := c.H1 == c.H1Unpacked; same != test.same {
				t.Errorf("H1 is %s, H1Unpacked %s; want them to be equal: %v", c.H1, c.H1Unpacked, test.same)
			}
		})
	}
}

// checkH1Dir compares H1Unpacked with the directory's hash.
func checkH1Dir(t *testing.T, dir, foretold string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("H1Unpacked: %v", err)
		return
	}
	got, err := sums.H1Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got != foretold {
		t.Errorf("the directory has the hash %s, want %s of H1Unpacked", got, foretold)
	}
}

func TestExecutable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		test   string
		names  []string
		want   string
		others []string
	}{
		{"plain name", []string{"LICENSE", "terraform-provider-x"}, "terraform-provider-x", []string{}},
		{"version", []string{"terraform-provider-x_v1.0.0_x5"}, "terraform-provider-x_v1.0.0_x5", []string{}},
		{"Windows", []string{"terraform-provider-x.exe"}, "terraform-provider-x.exe", []string{}},
		{
			"several, in lexical order whatever the archive's",
			[]string{"terraform-provider-x_v2", "terraform-provider-x_v10", "terraform-provider-x.sig"},
			"terraform-provider-x.sig", []string{"terraform-provider-x_v10", "terraform-provider-x_v2"},
		},
		{"another type", []string{"terraform-provider-xy", "terraform-provider-x-y", "terraform-provider-y"}, "", nil},
		{"not at the top", []string{"bin/terraform-provider-x", "terraform-provider-x_/bin"}, "", nil},
		{"a directory", []string{"terraform-provider-x/"}, "", nil},
		{"another case", []string{"Terraform-Provider-x"}, "", nil},
	}
	for _, test := range tests {
		t.Run(test.test, func(t *testing.T) {
			t.Parallel()
			var entries []entry
			for _, name := range test.names {
				entries = append(entries, entry{name: name})
			}
			got, others := mustOpen(t, archive(t, entries...)).Executable("x")
			if got != test.want {
				t.Errorf("executable %q, want %q", got, test.want)
			}
			if diff := cmp.Diff(test.others, others); diff != "" {
				t.Errorf("others (-want +got):\n%s", diff)
			}
		})
	}
}
