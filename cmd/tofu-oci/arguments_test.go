package main_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

func TestFlagOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, args, want string }{
		{"nothing", "", ""},
		{"no command", "--version", "version --"},
		{"version for programs", "--output json --version", "version --output json --"},
		{"version for programs, the other way", "-v --output=json", "version --output=json --"},
		{"version after a flag that it does not have", "--quiet --version", "version --"},
		{"flags before the command", "--quiet --config F list a/b", "list --quiet --config F -- a/b"},
		{"flags on both sides", "--output=json pull a/b --dir D", "pull --output=json --dir D -- a/b"},
		{"flags before a command of a command", "--cache D cache --output json info", "cache info --cache D --output json --"},
		{"flags before a command to run", "-q exec tofu init -q", "exec -q -- tofu init -q"},
		{"a command's name as a value", "--config list list a/b", "list --config list -- a/b"}, //nolint:dupword // the repeated word is intended
		{"version before all", "--version mirror a/b --to X", "version --"},
		{"help of version", "--version --help", "version --help"},
		{"flags first", "mirror --to X a/b", "mirror --to X -- a/b"},
		{"flags last", "mirror a/b c/d --to X", "mirror --to X -- a/b c/d"},
		{"flags between", "mirror a/b --to X c/d --all", "mirror --to X --all -- a/b c/d"},
		{"value after =", "mirror a/b --to=X c/d", "mirror --to=X -- a/b c/d"},
		{"one dash", "mirror a/b -to X", "mirror -to X -- a/b"},
		{"short flag", "mirror a/b -q c/d", "mirror -q -- a/b c/d"},
		{"short flag with a value", "-o json list a/b", "list -o json -- a/b"},
		{"switch before the command that has it", "--check lock --root D", "lock --check --root D --"},
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
		{"its flags last", "trust init x --all --from D", "trust init --all --from D -- x"},
		{"none of its commands", "cache", "cache --help"},
		{"its help", "cache info --cache D -h", "cache info --help"},
		{"help for it", "help cache info", "cache info --help"},
		{"a command to run", "exec --from X -- tofu init --help -- x", "exec --from X -- tofu init --help -- x"},
		{"a command to run without --", "exec --from X tofu -chdir=a init --help -- x", "exec --from X -- tofu -chdir=a init --help -- x"},
		{"help for it before", "exec --help -- tofu", "exec --help"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := commandline.Read(main.NewApp(io.Discard, io.Discard), fields("tofu-oci "+test.args), noVariables)
			if diff := cmp.Diff(fields("tofu-oci "+test.want), got); diff != "" || err != nil {
				t.Errorf("error %v, (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestFlagOrderErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"mirorr a/b --to X", `unknown command "mirorr"; did you mean tofu-oci mirror?`},
		{"nonsense", `unknown command "nonsense"; see tofu-oci --help`},
		{"help mirorr", `unknown command "mirorr"; did you mean tofu-oci mirror?`},
		{"cache prun", `unknown command "cache prun"; did you mean tofu-oci cache prune?`},
		{"cache clear x", `unknown command "cache clear": want info or prune; see tofu-oci cache --help`},
		{"mirror a/b --nonsense X", "mirror: unknown flag --nonsense; see tofu-oci mirror --help"},
		{"mirror a/b --nonsense=X", "mirror: unknown flag --nonsense; see tofu-oci mirror --help"},
		{"mirror a/b --platfrom X", "mirror: unknown flag --platfrom; did you mean --platform?"}, //nolint:misspell // the misspelling is intended
		{"--nonsense", "unknown flag --nonsense; see tofu-oci --help"},
		{"--quite list a/b", "unknown flag --quite; did you mean --quiet?"},
		{"--to X list a/b", "list: unknown flag --to; see tofu-oci list --help"},
		{"--quiet", "--quiet requires a command; see tofu-oci --help"},
		{"list a/b --concurrency 2", "list: unknown flag --concurrency; see tofu-oci list --help"},
		{"cache info --layout x", "cache info: unknown flag --layout; see tofu-oci cache info --help"},
		{"cache prune --max-size", "--max-size requires a value; see tofu-oci cache prune --help"},
		{"mirror a/b --to", "--to requires a value; see tofu-oci mirror --help"},
		{"mirror a/b --concurrency many", `invalid --concurrency "many": want an integer, such as 4`},
		{"mirror a/b --dry-run=maybe", `invalid --dry-run "maybe": want true or false`},
		{"list a/b --timeout 5", `invalid --timeout "5": want a duration, such as 30s or 2m`},
		{"list a/b --timeout long", `invalid --timeout "long": want a duration, such as 30s or 2m`},
		{"cache info x", `unexpected argument "x"; see tofu-oci cache info --help`},
		{"version x", `unexpected argument "x"; see tofu-oci version --help`},
		{"sync plan a b", "got 2 arguments: want one DECLARATION; see tofu-oci sync plan --help"},
	} {
		_, _, err := commandline.Read(main.NewApp(io.Discard, io.Discard), fields("tofu-oci "+test.args), noVariables)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v, want %s", test.args, err, test.want)
		}
	}
}

func fields(s string) []string { return strings.Fields(s) }

func noVariables(string) string { return "" }
