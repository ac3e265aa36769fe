package credentials_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

const tokenPrefix = "terraform-credentials-"

// printToken runs a token helper. The helper's output depends on the host and the
// additional arguments.
func printToken(args []string) int {
	if len(args) < 2 || args[len(args)-2] != "get" {
		fmt.Fprintln(os.Stderr, "not the protocol of credentials helpers:", args)
		return 2
	}
	switch host := args[len(args)-1]; host {
	case "args.example":
		fmt.Printf("{\"token\": %q}", strings.Join(args, "|"))
	case "program.example":
		fmt.Printf("{\"token\": %q}", os.Args[0])
	case "none.example":
		fmt.Print("{}")
	case "number.example":
		fmt.Print(`{"token": 5, "Token": "` + canary + `"}`)
	case "cut.example":
		fmt.Print(`{"token": "` + canary)
	case "silent.example":
	default:
		fmt.Print(`{"token": "` + canary + `"}`)
		fmt.Fprintln(os.Stderr, "the vault is locked")
		return 1
	}
	return 0
}

// tokenHelper installs the test program at the given path.
func tokenHelper(t *testing.T, path ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(path...)
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := link(self, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTokenHelper(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokenHelper(t, dir, tokenPrefix+"it's mine")
	helper, ok := credentials.FindTokenHelperWith(patience.Limit, "it's mine", []string{"--mount", "a b", "", "{x}", "$HOME"}, []string{dir})
	if !ok {
		t.Fatal("it is not found")
	}
	for host, want := range map[string]string{
		"args.example": "--mount|a b||{x}|$HOME|get|args.example",
		"none.example": "", "number.example": "",
	} {
		if got, err := helper.Token(t.Context(), host); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", host, got, err, want)
		}
	}
	if _, err := helper.Token(t.Context(), "locked.example"); !extprog.IsFailure(err, extprog.Exited) || !strings.Contains(err.Error(), "the vault is locked") || strings.Contains(err.Error(), canary) {
		t.Errorf("a helper that fails: %v", err)
	}
	for _, host := range []string{"cut.example", "silent.example"} {
		if _, err := helper.Token(t.Context(), host); !extprog.IsFailure(err, extprog.WrongOutput) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if text := fmt.Sprintf("%v", helper); strings.Contains(text, canary) {
		t.Errorf("%s contains the token", text)
	}
}

func TestFindTokenHelper(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files []string // below the directories first and second
		name  string
		want  string // "" means no token
	}{
		"plain":                {[]string{"first/" + tokenPrefix + "x"}, "x", "first/" + tokenPrefix + "x"},
		"first directory":      {[]string{"second/" + tokenPrefix + "x", "first/" + tokenPrefix + "x"}, "x", "first/" + tokenPrefix + "x"},
		"newest":               {[]string{"first/" + tokenPrefix + "x_v1.9.0", "first/" + tokenPrefix + "x", "second/" + tokenPrefix + "x_v1.10.0"}, "x", "second/" + tokenPrefix + "x_v1.10.0"},
		"with a protocol":      {[]string{"first/" + tokenPrefix + "x_v1.0.0_x4"}, "x", "first/" + tokenPrefix + "x_v1.0.0_x4"},
		"upper case":           {[]string{"first/" + tokenPrefix + "X_V1.0.0"}, "x", "first/" + tokenPrefix + "X_V1.0.0"},
		"upper case wanted":    {[]string{"first/" + tokenPrefix + "X"}, "X", ""},
		"another":              {[]string{"first/" + tokenPrefix + "xy", "first/docker-credential-x", "first/Terraform-credentials-x"}, "x", ""},
		"a version that's bad": {[]string{"first/" + tokenPrefix + "x_vlatest"}, "x", ""},
		"a directory":          {[]string{"first/" + tokenPrefix + "x/file"}, "x", ""},
		"none":                 {nil, "x", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, file := range test.files {
				tokenHelper(t, w.path(file))
			}
			helper, ok := credentials.FindTokenHelperWith(patience.Limit, test.name, nil, []string{w.path("first"), w.path("second"), w.path("third")})
			if ok != (test.want != "") {
				t.Fatalf("found: %t", ok)
			}
			if !ok {
				return
			}
			got, err := helper.Token(t.Context(), "program.example")
			if err != nil || strings.TrimSuffix(got, ".exe") != w.path(test.want) {
				t.Errorf("%s, %v, want %s", got, err, test.want)
			}
		})
	}
}
