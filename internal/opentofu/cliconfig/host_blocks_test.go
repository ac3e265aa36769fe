package cliconfig_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
)

func TestHostBlocks(t *testing.T) {
	t.Parallel()
	got, err := cliconfig.HostBlocks("https://mirror.example.com/base",
		[]string{"registry.opentofu.org", "gitlab.example.com", "acme.example.com=https://acme.example.com/providers"}, []string{"github.com=https://git.example.com/github"})
	want := `# A host block replaces all services of its host, so providers.v1 keeps direct
# installation working.
host "acme.example.com" {
  services = {
    "modules.v1" = "https://mirror.example.com/base/v1/modules/acme.example.com/"
    "providers.v1" = "https://acme.example.com/providers/"
  }
}
host "gitlab.example.com" {
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
# To redirect git repositories at github.com, run:
#   git config --global --add 'url.https://git.example.com/github/.insteadOf' 'https://github.com/'
#   git config --global --add 'url.https://git.example.com/github/.insteadOf' 'ssh://git@github.com/'
#   git config --global --add 'url.https://git.example.com/github/.insteadOf' 'git@github.com:'
`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	config, err := cliconfig.Parse("tofurc", []byte(got))
	if err != nil || len(config.Services) != 3 || config.Services["registry.opentofu.org"]["modules.v1"] != "https://mirror.example.com/base/v1/modules/registry.opentofu.org/" {
		t.Errorf("got %v, %v", config.Services, err)
	}
	if got, err := cliconfig.HostBlocks("", nil, nil); got != "" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, test := range [][3]string{
		{"http://mirror.example.com"}, {"https://u:canary@mirror.example.com"}, {"https://mirror.example.com/?a"}, {"https://mirror.example.com/${a}"}, {"https://a/\"\n"},
		{"https://mirror.example.com", "not a host"}, {"https://mirror.example.com", "a.example.com=ftp://x"},
		{"https://mirror.example.com", "a.example.com", "github.com"}, {"https://mirror.example.com", "a.example.com", "a\nb=https://x"},
	} {
		var mirrors []string
		if test[2] != "" {
			mirrors = []string{test[2]}
		}
		hosts := []string{"a.example.com"}
		if test[1] != "" {
			hosts = []string{test[1]}
		}
		if got, err := cliconfig.HostBlocks(test[0], hosts, mirrors); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: got %q, %v", test, got, err)
		}
	}
}
