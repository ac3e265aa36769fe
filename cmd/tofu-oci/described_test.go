package main_test

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

// TestWordsOfFlags: where a flag takes one of a few words, all of those are offered that
// the command accepts.
func TestWordsOfFlags(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, c := range commandline.Describe(main.NewApp(io.Discard, io.Discard), time.Time{}).Commands {
		for _, f := range c.Flags {
			if f.Values.Kind == commandline.OneOf && len(f.Values.Words) < 10 { // not platforms
				got[c.Name()+" --"+f.Names[0]] = strings.Join(f.Values.Words, " ")
			}
		}
	}
	if len(got) < 20 {
		t.Errorf("only %d flags have words", len(got))
	}
	for flag, words := range got {
		want := "text json"
		switch name := strings.Fields(flag); {
		case flag == "publish --check-level", flag == "list --check-level":
			want = "index manifests blobs deep"
		case flag == "copy --check-level":
			want = "tags index blobs deep"
		case flag == "mirror --check-level":
			want = "tags index manifests blobs deep"
		case flag == "pull --layout":
			want = "zip packed unpacked network"
		case flag == "verify --output":
			want = "text json sarif"
		case flag == "lock --output":
			want = "text json sarif github"
		case slices.Contains(name, "--signatures"):
			want = "require warn off"
		}
		if words != want {
			t.Errorf("%s: got %q, want %q", flag, words, want)
		}
	}
}

// TestFlagsMeanTheSame: a flag of one name is Boolean in all commands or in none, because it
// may come before the command.
func TestFlagsMeanTheSame(t *testing.T) {
	t.Parallel()
	boolean := map[string]bool{}
	for _, c := range commandline.Describe(main.NewApp(io.Discard, io.Discard), time.Time{}).Commands {
		for _, f := range c.Flags {
			for _, name := range f.Names {
				before, known := boolean[name]
				if boolean[name] = f.Word == ""; known && before != boolean[name] {
					t.Errorf("%s --%s: Boolean here or in another command", c.Name(), name)
				}
			}
		}
	}
}

// TestArgumentsOfCommands: commands whose arguments a shell can list; all others take
// what only the user knows.
func TestArgumentsOfCommands(t *testing.T) {
	t.Parallel()
	got := map[commandline.Kind][]string{}
	for _, c := range commandline.Describe(main.NewApp(io.Discard, io.Discard), time.Time{}).Commands {
		if c.Arguments.Kind != commandline.Free {
			got[c.Arguments.Kind] = append(got[c.Arguments.Kind], c.Name())
		}
	}
	want := map[commandline.Kind][]string{
		commandline.Files:    {"publish"},
		commandline.OneOf:    {"trust", "completion"},
		commandline.Nothing:  {"serve", "cache info", "cache prune", "version"},
		commandline.Programs: {"exec"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
