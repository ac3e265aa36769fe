package doctor_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
)

const mirror = `oci_mirror {
  repository_template = "ghcr.io/acme/${type}"
  include = ["hashicorp/*"]
}
`

// codes returns the severities and codes of findings.
func codes(findings []finding.Finding) []string {
	list := []string{}
	for _, f := range findings {
		list = append(list, string(f.Severity)+" "+f.Code)
	}
	return list
}

func TestCheckConfig(t *testing.T) {
	t.Parallel()
	const login = "oci_credentials %q {\n  username = \"u\"\n  password = \"c4nary\"\n}\n"
	tests := map[string]struct {
		config string
		want   []string
		remedy string
	}{
		"no block": {"", []string{"note no-installation-block"}, "tofu-oci tofurc REPO --write FILE"},
		"good":     {block(mirror + "direct { exclude = [\"hashicorp/*\"] }"), []string{}, ""},
		"excluded by a wider pattern": {
			block(mirror + "direct { exclude = [\"*/*/*\"] }"), []string{}, "",
		},
		"only a mirror":    {block(mirror), []string{}, ""},
		"direct elsewhere": {block(mirror + "direct { include = [\"acme/*\"] }"), []string{}, ""},
		"not excluded": {
			block(mirror + "direct {}"), []string{"warning direct-not-excluded"}, "add to the block:\n" + `exclude = ["registry.opentofu.org/hashicorp/*"]`,
		},
		"one excluded": {
			block(mirror + "direct { exclude = [\"hashicorp/aws\"] }"), []string{"warning direct-not-excluded"},
			"add to the block:\n" + `exclude = ["registry.opentofu.org/hashicorp/aws", "registry.opentofu.org/hashicorp/*"]`,
		},
		"included by a narrower pattern": {
			block(mirror + "direct { include = [\"hashicorp/aws\"] }"), []string{"warning direct-not-excluded"},
			"add to the block:\n" + `exclude = ["registry.opentofu.org/hashicorp/aws"]`,
		},
		"excluded by the mirror itself": {
			block("network_mirror {\n  url = \"https://example.com/\"\n  exclude = [\"hashicorp/aws\"]\n}\ndirect { include = [\"hashicorp/aws\"] }"), []string{}, "",
		},
		"draft": {
			block("oci {\n  registry_template = \"ghcr.io/acme/${type}\"\n  include = [\"hashicorp/*\"]\n}"), []string{"error draft-syntax"},
			"write the block in the current syntax:\n  oci_mirror {\n    repository_template = \"ghcr.io/acme/${type}\"\n    include             = [\"registry.opentofu.org/hashicorp/*\"]\n  }\n",
		},
		"ignored": {block("direct {\n  excludes = []\n}"), []string{"warning argument-ignored"}, "correct or delete the line at t.tfrc:3:3"},
		"unknown": {"provider_setup {\n  direct {}\n}\n", []string{"warning argument-ignored", "note no-installation-block"}, "correct or delete the line at t.tfrc:1:1"},
		"ambiguous": {
			block("oci_mirror {\n  repository_template = \"ghcr.io/${namespace}/${type}\"\n  include = [\"hashicorp/*\", \"*/*/*\"]\n}"),
			[]string{"warning template-ambiguous"},
			"use ${hostname}, ${namespace}, and ${type} in repository_template = \"ghcr.io/${namespace}/${type}\", or write an oci_mirror block for each pattern",
		},
		"JSON objects": {`{"provider_installation": {"direct": {}}}`, []string{"error json-objects"}, "write the value as an array:\n" + `"direct": [{ … }]`},
		"override": {
			block("dev_overrides {\n  \"hashicorp/aws\" = \"build\"\n}"), []string{"warning dev-override"}, "delete the line at t.tfrc:3:3",
		},
		"credentials without a registry": {
			block("") + fmt.Sprintf(login, "*.a.com"), []string{"warning login-label"}, "write the registry's name, without wildcards, at t.tfrc:4:17",
		},
		"two credentials": {
			block(mirror) + fmt.Sprintf(login, "ghcr.io/a") + fmt.Sprintf(login, "ghcr.io/b"), []string{"warning tokens-shared"},
			"use OpenTofu 1.13, or write one block whose credentials grant access to all repositories:\noci_credentials \"ghcr.io\" {\n  username = \"…\"\n  password = \"…\"\n}",
		},
		"two registries": {block(mirror) + fmt.Sprintf(login, "ghcr.io") + fmt.Sprintf(login, "quay.io"), []string{}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := cliconfig.Parse("t.tfrc", []byte(test.config))
			if err != nil {
				t.Fatal(err)
			}
			findings := doctor.CheckConfig(config, nil)
			if diff := cmp.Diff(test.want, codes(findings)); diff != "" {
				t.Fatal(diff)
			}
			if len(findings) == 1 && findings[0].Hint+findings[0].Command != test.remedy {
				t.Errorf("the remedy is %s\nwant %s", findings[0].Hint+findings[0].Command, test.remedy)
			}
		})
	}
}

func block(methods string) string { return "provider_installation {\n" + methods + "\n}\n" }

func TestCheckSyntax(t *testing.T) {
	t.Parallel()
	_, err := cliconfig.Parse("t.tfrc", []byte(block("oci_miror {}\nfilesystem_mirror {}")))
	findings, ok := doctor.CheckSyntax(fmt.Errorf("reading: %w", err))
	if want := []string{"error config-syntax", "error config-syntax"}; !ok || !cmp.Equal(want, codes(findings)) {
		t.Errorf("findings %v, want %v", findings, want)
	}
	if _, ok := doctor.CheckSyntax(errors.New("something else")); ok {
		t.Error("got a finding for another error")
	}
}
