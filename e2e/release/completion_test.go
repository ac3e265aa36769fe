//go:build release

package release_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// completed lists command lines with the cursor at the end, and their expected
// completions.
var completed = []struct {
	line string
	// all lists all expected completions. some lists only a subset. If both are empty,
	// no completion is expected.
	all, some []string
}{
	{line: "tofu-oci ", some: []string{"mirror", "publish", "cache", "completion"}},
	{line: "tofu-oci mi", all: []string{"mirror"}},
	{line: "tofu-oci --he", all: []string{"--help"}},
	{line: "tofu-oci mirror --ou", all: []string{"--output"}},
	{line: "tofu-oci mirror --output ", all: []string{"json", "text"}},
	{line: "tofu-oci mirror --output=js", all: []string{"json"}},
	{line: "tofu-oci mirror hashicorp/null --to x/{type} --check-level ma", all: []string{"manifests"}},
	{line: "tofu-oci mirror "}, // PROVIDER, but no repository
	{line: "tofu-oci pull --from 'oci-layout:mirror/{namespace}/{type}' acme/", all: []string{"acme/widget", "acme/window"}},
	{line: "tofu-oci pull acme/widget --from 'oci-layout:mirror/{namespace}/{type}' acme/wid", all: []string{"acme/widget"}},
	{line: "tofu-oci bundle create --from 'oci-layout:mirror/{namespace}/{type}' acme/window", all: []string{"acme/window"}},
	{line: "tofu-oci list --from 'oci-layout:mirror/{namespace}/{type}' acme/widget@", all: []string{"1.0.0", "1.2.0", "2.0.0"}},
	{line: "tofu-oci deny --to 'oci-layout:mirror/{namespace}/{type}' acme/widget@1", all: []string{"1.0.0", "1.2.0"}},
	{line: "tofu-oci verify oci-layout:mirror/acme/widget@2", all: []string{"2.0.0"}},
	{line: "tofu-oci module pull oci-layout:mirror/acme/widget@1.", all: []string{"1.0.0", "1.2.0"}},
	{line: "tofu-oci mirror --to "}, // REPO
	{line: "tofu-oci mirror --to cache -- --"},
	{line: "tofu-oci lock --check --output ", all: []string{"github", "json", "sarif", "text"}},
	{line: "tofu-oci pull --layout ", all: []string{"network", "packed", "unpacked", "zip"}},
	{line: "tofu-oci pull --platform darwin_", all: []string{"darwin_amd64", "darwin_arm64"}},
	{line: "tofu-oci pull --platform linux_arm64 --platform win", all: []string{"windows_386", "windows_amd64", "windows_arm64"}},
	{line: "tofu-oci pull --dir place", all: []string{"places"}},
	{line: "tofu-oci mirror --digest-file place", all: []string{"places", "placement"}},
	{line: "tofu-oci publish place", all: []string{"places", "placement"}},
	{line: "tofu-oci cache ", all: []string{"info", "prune"}},
	{line: "tofu-oci cache prune --max-", all: []string{"--max-age", "--max-size"}},
	{line: "tofu-oci cache prune --max-age 1d --dry", all: []string{"--dry-run"}},
	{line: "tofu-oci trust ", all: []string{"init"}},
	{line: "tofu-oci completion ", all: []string{"bash", "fish", "powershell", "zsh"}},
	{line: "tofu-oci exec -- ba", some: []string{"bash"}},
	{line: "tofu-oci exec --from x -- cat place", all: []string{"places", "placement"}},
}

// TestCompletion runs the completion scripts in real shells.
func TestCompletion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "places", "in.txt"), "")
	write(t, filepath.Join(dir, "placement"), "")
	writeLayout(t, filepath.Join(dir, "mirror", "acme", "widget"), "1.0.0", "1.2.0", "2.0.0", "pending-3.0.0", "1.1.0", "denied-1.1.0")
	writeLayout(t, filepath.Join(dir, "mirror", "acme", "window"), "1.0.0")
	for name, ask := range map[string]func(script string) *exec.Cmd{"bash": askBash, "zsh": askZsh, "fish": askFish} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), "_tofu-oci")
			write(t, script, output(t, exec.CommandContext(t.Context(), programs.tofuOCI, "completion", name)))
			cmd := ask(script)
			for _, test := range completed {
				cmd.Args = append(cmd.Args, test.line)
			}
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+t.TempDir(), "PATH="+filepath.Dir(programs.tofuOCI)+":/usr/bin:/bin", "LC_ALL=C")
			answers := strings.Split(output(t, cmd), "#END\n")
			if len(answers) != len(completed)+1 {
				t.Fatalf("got %d results for %d lines:\n%s", len(answers)-1, len(completed), answers)
			}
			for i, test := range completed {
				got := offered(answers[i])
				if test.some != nil {
					got = slices.DeleteFunc(got, func(word string) bool { return !slices.Contains(test.some, word) })
				}
				if diff := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(test.all, test.some))), got); diff != "" {
					t.Errorf("%q (-want +got)\n%s", test.line, diff)
				}
			}
		})
	}
}

// writeLayout writes the index of an image layout with the given tags.
func writeLayout(t *testing.T, dir string, tags ...string) {
	t.Helper()
	var manifests []string
	for _, tag := range tags {
		manifests = append(manifests, fmt.Sprintf(`{"mediaType": "application/vnd.oci.image.index.v1+json", "digest": "sha256:%064d", "size": 1, "annotations": {"org.opencontainers.image.ref.name": %q}}`, 0, tag))
	}
	write(t, filepath.Join(dir, "oci-layout"), `{"imageLayoutVersion": "1.0.0"}`)
	write(t, filepath.Join(dir, "index.json"), `{"schemaVersion": 2, "manifests": [`+strings.Join(manifests, ", ")+`]}`)
}

// offered parses the completions that a shell printed, one per line. It removes
// descriptions, the flag before a value, the provider before a version, and the slash
// after a directory. bash completes only the version.
func offered(printed string) []string {
	var words []string
	for line := range strings.Lines(printed) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if _, value, found := strings.Cut(word, "="); found {
			word = value
		}
		word = word[strings.LastIndex(word, "@")+1:]
		words = append(words, strings.TrimSuffix(word, "/"))
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// askBash calls the completion function in the same way as readline. Like readline, it
// also splits words at "=", "@", and ":".
func askBash(script string) *exec.Cmd {
	const ask = `
source "$1"
for line in "${@:2}"; do
	COMP_LINE=$line COMP_POINT=${#line} words=${line//=/ = } words=${words//@/ @ }
	IFS=' ' read -r -a COMP_WORDS <<<"${words//:/ : }"
	[[ $line != *' ' ]] || COMP_WORDS+=('')
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_tofu_oci
	((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
	echo '#END'
done`
	return exec.Command("bash", "--norc", "-c", ask, "bash", script)
}

func askFish(script string) *exec.Cmd {
	const ask = `
source $argv[1]
for line in $argv[2..]
	complete -C "$line"
	echo '#END'
end`
	return exec.Command("fish", "--no-config", "-c", ask, script)
}

// askZsh types a line into an interactive zsh in a pseudoterminal, because zsh's
// completion system requires a terminal. When a key requests completion, a modified
// compadd prints its arguments between markers.
func askZsh(script string) *exec.Cmd {
	//nolint:dupword // nested loops end with repeated words
	const ask = `
zmodload zsh/zpty
zpty inner 'TERM=dumb zsh -f -i'
tell() { zpty -w inner "$1" }
tell 'stty -echo; PS1= PS2='
tell "autoload -Uz compinit; compinit -D -u; source ${(q)1}"
tell 'compadd() {
	case "${@[1,(i)(-|--)]}" in *-(O|A|D)\ *) builtin compadd "$@"; return ;; esac
	local -a hits
	builtin compadd -O hits "$@"
	(($#hits)) && print -rl -- "<"${^hits}">"
	builtin compadd "$@"
}'
tell 'report() { zle ask; zle kill-whole-line; print; print "<#END>" }'
tell 'zle -N report; zle -C ask complete-word _main_complete; bindkey "^X" report; print READY'
while zpty -r inner said; do [[ $said == *READY* ]] && break; done
for line in "${@[2,-1]}"; do
	zpty -w -n inner "$line"$'\C-x'
	while zpty -r inner said; do
		said=${said//$'\r'/}
		[[ $said == *'<'*'>'* ]] || continue
		print -r -- "${${said##*<}%%>*}"
		[[ $said == *'#END'* ]] && break
	done
done
zpty -d inner
`
	return exec.Command("zsh", "-f", "-c", ask, "zsh", script)
}
