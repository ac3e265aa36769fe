package main_test

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

// commandsOf returns all commands and subcommands that have an action.
func commandsOf(commands []*cli.Command) []*cli.Command {
	var all []*cli.Command
	for _, c := range commands {
		if len(c.Subcommands) == 0 {
			all = append(all, c)
		}
		all = append(all, commandsOf(c.Subcommands)...)
	}
	return all
}

// TestVariables checks that each flag has an environment variable, and that variables shared by
// multiple commands have the same type.
func TestVariables(t *testing.T) {
	t.Parallel()
	without := maps.Clone(commandline.WithoutVariable)
	delete(without, "help") // urfave/cli defines this flag
	delete(without, "version")
	kinds, flags := map[string]string{}, map[string]bool{}
	app := main.NewApp(io.Discard, io.Discard)
	if _, _, err := commandline.Read(app, []string{"tofu-oci", "--help"}, os.Getenv); err != nil {
		t.Fatal(err)
	}
	for _, c := range commandsOf(app.Commands) {
		for _, flag := range c.Flags {
			name := flag.Names()[0]
			flags[c.HelpName+" "+name], flags[name] = true, true
			variable := commandline.VariableOf(c, flag)
			if variable == "" {
				if commandline.WithoutVariable[name]+commandline.WithoutVariable[c.HelpName+" "+name] == "" {
					t.Errorf("%s --%s has no variable", c.HelpName, name)
				}
				delete(without, name)
				delete(without, c.HelpName+" "+name)
				continue
			}
			if !strings.HasSuffix(variable, "_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))) || !strings.HasPrefix(variable, "TOFU_OCI_") {
				t.Errorf("%s --%s: %s", c.HelpName, name, variable)
			}
			regular := "TOFU_OCI_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
			if variable != regular && !strings.Contains(c.CustomHelpTemplate, "[$"+variable+"]") {
				t.Errorf("the help of %s does not mention %s", c.HelpName, variable)
			}
			kind := fmt.Sprintf("%T", flag)
			if before, known := kinds[variable]; known && before != kind {
				t.Errorf("%s is a %s and, in %s, a %s", variable, before, c.HelpName, kind)
			}
			kinds[variable] = kind
		}
	}
	if len(kinds) < 60 {
		t.Errorf("only %d variables", len(kinds))
	}
	for flag, why := range without {
		t.Errorf("%s, which has no variable since %q, is not a flag", flag, why)
	}
	for _, flag := range commandline.PrefixedVariables {
		if !flags[flag] {
			t.Errorf("%s is not a flag", flag)
		}
	}
	for _, r := range commandline.Rules {
		for _, entry := range slices.Concat(r.Flags, r.Conflicts, r.Requires) {
			name, _, _ := strings.Cut(entry, "=")
			if flag := strings.TrimSpace(r.Command + " " + name); entry != commandline.Argument && entry != commandline.ModuleReference && !flags[flag] {
				t.Errorf("a rule contains the unknown flag %s", flag)
			}
		}
	}
	// Variables with a different purpose must not set flags.
	installer, err := os.ReadFile(filepath.Join("..", "..", "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(regexp.MustCompile(`TOFU_OCI_[A-Z_]+`).FindAllString(string(installer), -1), "TOFU_OCI_SIGN_PASSPHRASE") {
		if kinds[name] != "" {
			t.Errorf("%s stands for a flag, and is there for something else", name)
		}
	}
}

// TestFlagsOfVariables checks the command lines that result from variables.
func TestFlagsOfVariables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, variables, args, want string }{
		{"a flag", "FROM=X", "list a/b", "list --from=X -- a/b"},
		{"the command line comes first", "FROM=X", "list a/b --from Y", "list --from Y -- a/b"},
		{"also by a short name", "QUIET=false", "list -q a/b", "list -q -- a/b"},
		{"an empty one", "FROM=", "list a/b", "list -- a/b"},
		{"of another command", "LAYOUT=packed", "list a/b", "list -- a/b"},
		{"switches", "DRY_RUN=1 STAGE=false", "mirror a/b", "mirror --dry-run=1 --stage=false -- a/b"},
		{"numbers", "CONCURRENCY=2 TIMEOUT=5s", "mirror a/b", "mirror --concurrency=2 --timeout=5s -- a/b"},
		{"several values", "PLATFORM=a_b,,c_d", "mirror a/b", "mirror --platform=a_b --platform=c_d -- a/b"},
		{"one value that has a comma", "ANNOTATION=k=a,b;", "mirror a/b", "mirror --annotation=k=a,b -- a/b"},
		{"a value a line", "ANNOTATION=k=a,b;l=c", "mirror a/b", "mirror --annotation=k=a,b --annotation=l=c -- a/b"},
		{"a value that looks like a flag", "FROM=--to", "list a/b", "list --from=--to -- a/b"},
		{"a command of a command", "CACHE=D MAX_AGE=3d", "cache prune", "cache prune --cache=D --max-age=3d --"},
		{"each its own", "DIR=W PULL_DIR=X MAN_DIR=Y", "pull a/b", "pull --dir=X -- a/b"},
		{"help", "FROM=X", "list --help", "list --help"},
		{"none for dangerous flags", "FORCE=1", "mirror a/b", "mirror -- a/b"},
		{"none for another command", "CHECK_LEVEL=index", "lock", "lock --"},
		{"with a conflicting flag", "LATEST=3", "mirror a/b --all", "mirror --all -- a/b"},
		{"with the flag that it configures", "TRUST=T PULL_THROUGH=*/*", "serve --from X", "serve --from X --pull-through=*/* --trust=T --"},
		{"without the flag that it configures", "KEYRING=K MIN_AGE=3d", "serve --from X", "serve --from X --"},
		{"not of an argument", "SOURCES=P", "list a/b", "list -- a/b"},
		{"with a false switch", "LATEST=3", "mirror a/b --all=false", "mirror --all=false --latest=3 -- a/b"},
		{"one for one command before one for many", "ROOT=D LOCK_FILE=F", "lock", "lock --root=D --"},
		{"alternatives", "FROM=X TO=Y PUSH=1", "doctor a/b", "doctor -- a/b"},
		{"without the argument that it is about", "ALIAS=A DOCTOR_PLATFORM=a_b", "doctor --to Y", "doctor --to Y --"},
		{"one value instead of many", "PLATFORM=a_b,c_d LOCK_FILE=F,G", "doctor a/b", "doctor -- a/b"},
		{"a value of another command's", "CHECK_LEVEL=tags OUTPUT=sarif", "publish D", "publish -- D"},
		{"a value that asks for another flag", "OUTPUT=github", "lock", "lock --"},
		{"a value with its flag", "OUTPUT=github", "lock --check", "lock --output=github --check --"},
		{"a value that contradicts", "LAYOUT=unpacked", "pull a/b --with-documents", "pull --with-documents -- a/b"},
		{"a wrong value that does not count", "ALL=yes", "mirror a/b --latest 2", "mirror --latest 2 -- a/b"},
		{"of a run", "QUIET=1", "exec tofu init", "exec --quiet=1 -- tofu init"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := commandline.Read(main.NewApp(io.Discard, io.Discard), fields("tofu-oci "+test.args), variables(test.variables))
			if err != nil {
				t.Fatal(err)
			}
			want := fields("tofu-oci " + test.want)
			slices.Sort(got) // flags have the order of the help text
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestInvalidVariables(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"DRY_RUN=maybe":    `invalid TOFU_OCI_DRY_RUN "maybe": want true or false`,
		"CONCURRENCY=many": `invalid TOFU_OCI_CONCURRENCY "many": want an integer, such as 4`,
		"TIMEOUT=5":        `invalid TOFU_OCI_TIMEOUT "5": want a duration, such as 30s or 2m`,
	} {
		_, _, err := commandline.Read(main.NewApp(io.Discard, io.Discard), fields("tofu-oci mirror a/b"), variables(set))
		if err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", set, err, want)
		}
	}
}

// variables returns a getenv function for a list of short names. A ";" separates the
// lines of a value.
func variables(text string) func(string) string {
	set := map[string]string{}
	for _, variable := range fields(text) {
		name, value, _ := strings.Cut(variable, "=")
		set["TOFU_OCI_"+name] = strings.ReplaceAll(value, ";", "\n")
	}
	return func(name string) string { return set[name] }
}
