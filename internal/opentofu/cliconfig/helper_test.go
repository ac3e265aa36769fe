package cliconfig_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

func TestCredentialsHelper(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*cliconfig.CredentialsHelper{
		"":                                  nil,
		"credentials_helper \"vault\" {}\n": {Name: "vault"},
		"credentials_helper \"vault\" {\n  args = [\"--mount\", \"\"]\n}\n": {Name: "vault", Args: []string{"--mount", ""}},
		`{"credentials_helper": {"vault": {"args": ["--mount"]}}}`:          {Name: "vault", Args: []string{"--mount"}},
	} {
		got := parse(t, text).CredentialsHelper
		if got != nil && got.Position.Line != 1 {
			t.Errorf("%s: is at %s", text, got.Position)
		}
		if got != nil {
			got.Position = stricthcl.Position{}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", text, diff)
		}
	}
	_, err := cliconfig.Parse("rc", []byte("credentials_helper \"vault\" {}\ncredentials_helper \"pass\" {}\n"))
	var syntax *stricthcl.Error
	if !errors.As(err, &syntax) || syntax.Position.Line != 2 || !strings.Contains(syntax.Problem, "duplicate credentials_helper block") {
		t.Errorf("two blocks: got %v", err)
	}
}

// TestBlocksWithoutToken checks that the helper is not used for hosts that have a
// credentials block, even if the block contains no token.
func TestBlocksWithoutToken(t *testing.T) {
	t.Parallel()
	tokens := parse(t, "credentials \"a.example\" {\n  username = \"u\"\n}\n").Tokens
	if _, known := tokens["a.example"]; !known || len(tokens) != 1 {
		t.Errorf("got tokens for %v", tokens)
	}
}

func TestHelperDirs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		system    string
		variables map[string]string
		want      []string
	}{
		{"linux", nil, []string{"~/.terraform.d/plugins"}},
		{"darwin", map[string]string{"XDG_DATA_HOME": "~/data"}, []string{"~/.terraform.d/plugins", "~/data/opentofu/plugins"}},
		{"windows", map[string]string{"APPDATA": "~/Roaming", "XDG_DATA_HOME": "~/data"}, []string{"~/Roaming/terraform.d/plugins"}},
		{"windows", nil, nil},
	} {
		m := newMachine(t, test.system, test.variables)
		var want []string
		for _, dir := range test.want {
			want = append(want, dir, dir+"/"+test.system+"_"+runtime.GOARCH)
		}
		if diff := cmp.Diff(want, m.short(m.env.HelperDirs()...)); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.system, diff)
		}
	}
}
