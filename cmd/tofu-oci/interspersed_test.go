package main_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
)

func TestInterspersed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, args, want string }{
		{"nothing", "", ""},
		{"no command", "--version", "--version"},
		{"unknown command", "mirorr a/b --to X", "mirorr a/b --to X"},
		{"flags first", "mirror --to X a/b", "mirror --to X -- a/b"},
		{"flags last", "mirror a/b c/d --to X", "mirror --to X -- a/b c/d"},
		{"flags between", "mirror a/b --to X c/d --all", "mirror --to X --all -- a/b c/d"},
		{"value after =", "mirror a/b --to=X c/d", "mirror --to=X -- a/b c/d"},
		{"one dash", "mirror a/b -to X", "mirror -to X -- a/b"},
		{"short flag", "mirror a/b -q c/d", "mirror -q -- a/b c/d"},
		{"switch takes no value", "mirror --dry-run a/b", "mirror --dry-run -- a/b"},
		{"switch with =", "mirror a/b --dry-run=false", "mirror --dry-run=false -- a/b"},
		{"repeated", "mirror a/b --platform x_y --platform z_y", "mirror --platform x_y --platform z_y -- a/b"},
		{"value that starts with a dash", "pull a/b --dir -d --from X", "pull --dir -d --from X -- a/b"},
		{"value --", "pull a/b --dir -- --from X", "pull --dir -- --from X -- a/b"},
		{"after --", "mirror --to X -- -a/b --all", "mirror --to X -- -a/b --all"},
		{"a dash alone", "mirror - --to X", "mirror --to X -- -"},
		{"help after all", "mirror a/b --to X --help", "mirror --help"},
		{"short help", "list a/b -h", "list --help"},
		{"help as a value", "pull a/b --dir --help --from X", "pull --dir --help --from X -- a/b"},
		{"help for a command", "help mirror", "mirror --help"},
		{"help before a command", "--help mirror", "mirror --help"},
		{"help alone", "help", "--help"},
		{"a command of a command", "cache info --output json", "cache info --output json --"},
		{"its flags last", "cache prune x --dry-run --cache D", "cache prune --dry-run --cache D -- x"},
		{"none of its commands", "cache", "cache --help"},
		{"its help", "cache info --cache D -h", "cache info --help"},
		{"help for it", "help cache info", "cache info --help"},
		{"a command to run", "exec --from X -- tofu init --help -- x", "exec --from X -- tofu init --help -- x"},
		{"a command to run without --", "exec --from X tofu -chdir=a init --help -- x", "exec --from X -- tofu -chdir=a init --help -- x"},
		{"help for it before", "exec --help -- tofu", "exec --help"},
		{"no such command of a command", "cache clear x", "cache -- clear x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := main.Interspersed(main.NewApp(io.Discard, io.Discard), fields("tofu-oci "+test.args))
			if diff := cmp.Diff(fields("tofu-oci "+test.want), got); diff != "" || err != nil {
				t.Errorf("error %v, (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestInterspersedRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"mirror a/b --nonsense X", "mirror has no flag --nonsense; see tofu-oci mirror --help"},
		{"mirror a/b --nonsense=X", "mirror has no flag --nonsense=X; see tofu-oci mirror --help"},
		{"list a/b --concurrency 2", "list has no flag --concurrency; see tofu-oci list --help"},
		{"cache info --layout x", "cache info has no flag --layout; see tofu-oci cache info --help"},
		{"cache prune --max-size", "--max-size is missing its value; see tofu-oci cache prune --help"},
		{"mirror a/b --to", "--to is missing its value; see tofu-oci mirror --help"},
	} {
		_, err := main.Interspersed(main.NewApp(io.Discard, io.Discard), fields("tofu-oci "+test.args))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, want %s", test.args, err, test.want)
		}
	}
}

func fields(s string) []string { return strings.Fields(s) }
