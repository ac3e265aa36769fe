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

// TestFlagValues checks flags that have a fixed set of values. The completions must
// be exactly the values that the command accepts.
func TestFlagValues(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, c := range commandline.Describe(main.NewApp(io.Discard, io.Discard), time.Time{}).Commands {
		for _, f := range c.Flags {
			if f.Values.Kind == commandline.OneOf && len(f.Values.Choices) < 10 { // skips platforms, because the flag accepts other values, too
				got[c.Name()+" --"+f.Names[0]] = strings.Join(f.Values.Choices, " ")
			}
		}
	}
	if len(got) < 20 {
		t.Errorf("only %d flags have choices", len(got))
	}
	for flag, choices := range got {
		want := "text json"
		switch name := strings.Fields(flag); {
		case flag == "publish --check-level":
			want = "index manifests blobs deep"
		case flag == "copy --check-level", flag == "bundle import --check-level":
			want = "tags index blobs deep"
		case flag == "verify --check-level":
			want = "blobs deep"
		case flag == "mirror --check-level":
			want = "tags index manifests blobs deep"
		case flag == "mirror --h1":
			want = "auto skip"
		case flag == "lock --h1":
			want = "auto verify"
		case flag == "pull --layout":
			want = "zip packed unpacked network"
		case flag == "sync plan --check-level", flag == "sync apply --check-level":
			want = "tags index manifests blobs deep"
		case flag == "sync plan --output", flag == "sync apply --output", flag == "sync report --output":
			want = "text json markdown"
		case flag == "verify --output":
			want = "text json markdown sarif"
		case flag == "lock --output":
			want = "text json sarif github"
		case slices.Contains(name, "--color"):
			want = "auto always never"
		case slices.Contains(name, "--attestations"):
			want = "fetch require"
		case slices.Contains(name, "--signatures"):
			want = "require warn off"
		}
		if choices != want {
			t.Errorf("%s: got %q, want %q", flag, choices, want)
		}
	}
}

// TestFlagTypes checks that flags with the same name are Boolean in all commands or in none,
// because a flag can precede the command.
func TestFlagTypes(t *testing.T) {
	t.Parallel()
	boolean := map[string]bool{}
	for _, c := range commandline.Describe(main.NewApp(io.Discard, io.Discard), time.Time{}).Commands {
		for _, f := range c.Flags {
			for _, name := range f.Names {
				before, known := boolean[name]
				if boolean[name] = f.Placeholder == ""; known && before != boolean[name] {
					t.Errorf("%s --%s is Boolean in some commands only", c.Name(), name)
				}
			}
		}
	}
}

// TestArguments checks which commands have arguments that a shell can complete.
func TestArguments(t *testing.T) {
	t.Parallel()
	got := map[commandline.Kind][]string{}
	for _, c := range commandline.Describe(main.NewApp(io.Discard, io.Discard), time.Time{}).Commands {
		if c.Arguments.Kind != commandline.Free {
			got[c.Arguments.Kind] = append(got[c.Arguments.Kind], c.Name())
		}
	}
	want := map[commandline.Kind][]string{
		commandline.Files:       {"publish", "sync validate", "sync plan", "sync apply", "sync init", "sync report", "bundle inspect", "bundle verify", "bundle import"},
		commandline.Directories: {"module push"},
		commandline.OneOf:       {"completion"},
		commandline.Nothing:     {"serve", "cache info", "cache prune", "version"},
		commandline.Programs:    {"exec"},
		commandline.Providers: {
			"mirror", "copy", "module pull", "module list", "pull", "lock", "list", "verify", "promote", "deny", "gate run", "trust init", "bundle create", "bundle inventory",
			"doctor",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
