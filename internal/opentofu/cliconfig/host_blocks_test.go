package cliconfig_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
)

func TestHostBlocks(t *testing.T) {
	t.Parallel()
	blocks, err := cliconfig.HostBlocks([]string{"https://mirror.example.com/base", "gitlab.example.com=https://mirror.example.com/base"})
	got := ""
	for _, b := range blocks {
		got += b.String()
	}
	want := `host "gitlab.example.com" {
  services = {
    "modules.v1" = "https://mirror.example.com/base/v1/modules/gitlab.example.com/"
  }
}
host "registry.opentofu.org" {
  services = {
    "modules.v1" = "https://mirror.example.com/base/v1/modules/registry.opentofu.org/"
    "providers.v1" = "https://registry.opentofu.org/v1/providers/"
  }
}
`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	config, err := cliconfig.Parse("tofurc", []byte(got))
	if err != nil || len(config.Services) != 2 || config.Services["registry.opentofu.org"]["modules.v1"] != "https://mirror.example.com/base/v1/modules/registry.opentofu.org/" {
		t.Errorf("got %v, %v", config.Services, err)
	}
	if got, err := cliconfig.HostBlocks(nil); got != nil || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, test := range []string{
		"http://mirror.example.com", "https://u:canary@mirror.example.com", "https://mirror.example.com/?a", "https://mirror.example.com/?a=b", "https://mirror.example.com/${a}", "https://a/\"\n",
		"not a host=https://mirror.example.com", "a.example.com=ftp://x", "a.example.com",
	} {
		if got, err := cliconfig.HostBlocks([]string{test}); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: got %v, %v", test, got, err)
		}
	}
}

// TestMergeHosts merges a block into files.
func TestMergeHosts(t *testing.T) {
	t.Parallel()
	block := func(server string) string {
		blocks, err := cliconfig.HostBlocks([]string{server})
		if err != nil {
			t.Fatal(err)
		}
		return blocks[0].String()
	}
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	const around, below = "# before\nx = 1 // odd\n\n", "\nhost \"a.example\" {}\n"
	old, now := block("https://old.example.com"), block("https://new.example.com")
	long := strings.Replace(now, "  }\n", "    \"login.v1\" = \"https://login.example.com/\"\n  }\n", 1)
	for name, test := range map[string]struct{ before, want, proposed string }{
		"empty":               {"", now, ""},
		"other text":          {around, around + now, ""},
		"same block":          {around + now + below, around + now + below, ""},
		"more services":       {long, long, ""},
		"old block":           {around + old + below, around + now + below, ""},
		"carriage returns":    {crlf(around + old + below), crlf(around + now + below), ""},
		"other block":         {below, below + "\n" + now, ""},
		"block with comments": {strings.Replace(old, "  services", "  # why\n  services", 1), "", now},
		"other services":      {"host \"registry.opentofu.org\" { services = { \"providers.v1\" = \"https://mine/\" } }\n", "", strings.Replace(now, "https://registry.opentofu.org/v1/providers/", "https://mine/", 1)},
		"mixed line endings":  {"x = 1\r\n" + old, "", now},
		"JSON":                {"{}", "", "\"host\": {\n  \"registry.opentofu.org\": {\n    \"services\": {\n      \"modules.v1\": \"https://new.example.com/v1/modules/registry.opentofu.org/\",\n      \"providers.v1\": \"https://registry.opentofu.org/v1/providers/\"\n    }\n  }\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blocks, err := cliconfig.HostBlocks([]string{"https://new.example.com"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := cliconfig.MergeHosts("tofurc", []byte(test.before), blocks)
			conflict, isConflict := errors.AsType[*cliconfig.MergeError](err)
			if isConflict != (test.proposed != "") || !isConflict && err != nil {
				t.Fatalf("unexpected error: %v", err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if isConflict && conflict.Block != test.proposed {
				t.Errorf("proposed block (-want +got):\n%s", cmp.Diff(test.proposed, conflict.Block))
			}
		})
	}
}
