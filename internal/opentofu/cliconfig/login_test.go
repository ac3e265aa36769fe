package cliconfig_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	at := func(line, column int) stricthcl.Position {
		return stricthcl.Position{File: "rc", Line: line, Column: column}
	}
	for _, test := range []struct {
		name, data string
		want       []cliconfig.Login
	}{
		{
			"native syntax",
			"oci_credentials \"ghcr.io\" {\n  username = \"u\"\n  password = \"p\"\n}\noci_credentials \"localhost:5000/a/b\" {\n  access_token = \"a\"\n  refresh_token = \"r\"\n}\noci_credentials \"quay.io\" {\n  docker_credentials_helper = \"pass\"\n}\n",
			[]cliconfig.Login{
				{Position: at(1, 1), Registry: "ghcr.io", Username: "u", Password: text.NewSecret("p")},
				{Position: at(5, 1), Registry: "localhost:5000", Path: "a/b", AccessToken: text.NewSecret("a"), RefreshToken: text.NewSecret("r")},
				{Position: at(9, 1), Registry: "quay.io", Helper: "pass"},
			},
		},
		{
			"JSON", `{"oci_credentials": {
 "ghcr.io": {"username": "u", "password": 1234},
 "quay.io": {"docker_credentials_helper": "pass"}
}}`, []cliconfig.Login{
				{Position: at(1, 19), Registry: "ghcr.io", Username: "u", Password: text.NewSecret("1234")},
				{Position: at(1, 19), Registry: "quay.io", Helper: "pass"},
			},
		},
		{"a list in JSON", `{"oci_credentials": [{"a.io": {"username": "", "password": ""}}]}`, []cliconfig.Login{{Position: at(1, 19), Registry: "a.io"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, parse(t, test.data).Logins, cmpopts.EquateComparable(text.Secret{})); diff != "" {
				t.Errorf("wrong logins (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultCredentials(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(filepath.Join("conf", "auth.json"))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := filepath.Abs("auth.json")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("conf", "rc")
	at := stricthcl.Position{File: file, Line: 1, Column: 1}
	quoted, err := json.Marshal(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, data string
		want       cliconfig.DefaultLogins
	}{
		{"no block", "", cliconfig.DefaultLogins{}},
		{"an empty block", "oci_default_credentials {}", cliconfig.DefaultLogins{Position: at}},
		{"nothing ambient", "oci_default_credentials { discover_ambient_credentials = false }", cliconfig.DefaultLogins{Position: at, NoAmbient: true}},
		{
			"files relative to the configuration", `oci_default_credentials { docker_style_config_files = ["auth.json", ` + string(quoted) + `] docker_credentials_helper = "pass" }`,
			cliconfig.DefaultLogins{Position: at, DockerFiles: []string{here, elsewhere}, Helper: "pass"},
		},
		{"no files", "oci_default_credentials { docker_style_config_files = [] }", cliconfig.DefaultLogins{Position: at, DockerFiles: []string{}}},
		{
			"JSON", `{"oci_default_credentials": {"discover_ambient_credentials": true, "docker_style_config_files": ["auth.json"]}}`,
			cliconfig.DefaultLogins{Position: stricthcl.Position{File: file, Line: 1, Column: 27}, DockerFiles: []string{here}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config, err := cliconfig.Parse(file, []byte(test.data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, config.DefaultLogins); diff != "" {
				t.Errorf("wrong defaults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckCredentials(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, data, want string }{
		{"no label", "oci_credentials {}", "rc:1:1: OpenTofu rejects this form of oci_credentials"},
		{"an equals sign", "oci_credentials = {}", "rc:1:1: OpenTofu rejects this form of oci_credentials"},
		{"text in JSON", `{"oci_credentials":{"a.io":"x"}}`, "rc:1:19: OpenTofu rejects this form of oci_credentials"},
		{"a list in JSON", "{\n\"oci_credentials\":{\"a.io\":[{\"docker_credentials_helper\":\"pass\"}]}}", `rc:2:18: OpenTofu rejects this form of oci_credentials; want "oci_credentials": {"registry.example.com": {…}}`},
		{"an empty list in JSON", `{"oci_credentials":[]}`, "rc:1:19: OpenTofu rejects this form of oci_credentials"},
		{"null in JSON", `{"oci_credentials":{"a.io":null}}`, "rc:1:19: OpenTofu rejects this form of oci_credentials"},
		{"null for a password in JSON", `{"oci_credentials":{"a.io":{"username":null}}}`, "rc:1:19: username and password must both be set"},
		{"a URL", `oci_credentials "https://ghcr.io/" {}`, `rc:1:17: the label "https://ghcr.io/" must be a registry`},
		{"a tag", `oci_credentials "ghcr.io/a:b" {}`, "omit the tag"},
		{"a port that is none", `oci_credentials "ghcr.io:x" {}`, `invalid registry port "x"`},
		{"no registry", `oci_credentials "" {}`, "rc:1:17: the label \"\" must be a registry"},
		{"a layout", `oci_credentials "oci-layout:x" {}`, "credentials are not supported for image layouts"},
		{"nothing", "\noci_credentials \"a.io\" {}", "rc:2:1: an oci_credentials block must have username and password, or access_token"},
		{"two forms", `oci_credentials "a.io" { username = "u" password = "p" docker_credentials_helper = "h" }`, "rc:1:1: an oci_credentials block must have only one kind of credentials"},
		{"half of each form", `oci_credentials "a.io" { username = "u" access_token = "p" }`, "rc:1:1: an oci_credentials block must have only one kind of credentials"},
		{"no password", `oci_credentials "a.io" { username = "u" }`, "rc:1:1: username and password must both be set"},
		{"no user name", `{"oci_credentials":{"a.io":{"password":"p"}}}`, "rc:1:19: username and password must both be set"},
		{"no refresh token", `oci_credentials "a.io" { access_token = "u" }`, "access_token and refresh_token must both be set"},
		{"a helper for a path", `oci_credentials "a.io/b" { docker_credentials_helper = "pass" }`, `rc:1:17: docker_credentials_helper requires a label without a path; use "a.io"`},
		{"a helper with a path", `oci_credentials "a.io" { docker_credentials_helper = "bin/pass" }`, `rc:1:54: invalid docker_credentials_helper "bin/pass": want a part of a program name`},
		{"a helper without a name", `oci_default_credentials { docker_credentials_helper = "" }`, `rc:1:55: invalid docker_credentials_helper ""`},
		{"a password that is a list", `oci_credentials "a.io" { username = "u" password = ["p"] }`, "rc:1:52: OpenTofu rejects this form of oci_credentials"},
		{"the same label twice", "oci_credentials \"a.io\" { docker_credentials_helper = \"a\" }\noci_credentials \"a.io\" { docker_credentials_helper = \"a\" }", `rc:2:1: duplicate oci_credentials block for "a.io"; the first is at rc:1:1`},
		{"the same useless label twice", "oci_credentials \"*.a.io\" { docker_credentials_helper = \"a\" }\noci_credentials \"*.a.io\" { docker_credentials_helper = \"a\" }", `rc:2:1: duplicate oci_credentials block for "*.a.io"; the first is at rc:1:1`},
		{"registry_protocols twice in JSON", `{"registry_protocols":[{},{}]}`, "rc:1:22: duplicate registry_protocols block in this file"},
		{"two defaults", "oci_default_credentials {}\noci_default_credentials {}", "rc:2:1: duplicate oci_default_credentials block; the first is at rc:1:1"},
		{"defaults with a label", `oci_default_credentials "x" {}`, "rc:1:1: OpenTofu rejects this form of oci_default_credentials"},
		{"files that are not looked for", "oci_default_credentials {\n  discover_ambient_credentials = false\n  docker_style_config_files = []\n}", "rc:1:1: docker_style_config_files has no effect"},
		{"yes for true", "oci_default_credentials {\n  discover_ambient_credentials = \"yes\"\n}", "rc:2:34: OpenTofu rejects this form of oci_default_credentials"},
		{"credentials for no host", `credentials "a_b" {}`, `rc:1:13: invalid host name "a_b"`},
		{"credentials without a host", `credentials { token = "x" }`, `rc:1:23: OpenTofu rejects this form of credentials`},
		{"an object in credentials", `credentials "a.example" { token = { x = 1 } }`, "rc:1:13: OpenTofu crashes on an object in a credentials block"},
		{"objects in credentials in JSON", `{"credentials":{"a.example":{"token":[{"x":"y"}]}}}`, "rc:1:15: OpenTofu crashes on an object in a credentials block"},
		{"two helpers", "credentials_helper \"a\" {}\ncredentials_helper \"b\" {}", "rc:2:1: duplicate credentials_helper block; the first is at rc:1:1"},
		{"args that are text", `credentials_helper "a" { args = "x" }`, "rc:1:33: OpenTofu rejects this form of credentials_helper"},
		{"retries that are no number", "registry_protocols {\n  retry_count = \"x\"\n}", "rc:2:17: OpenTofu rejects this form of registry_protocols"},
		{"a timeout that is not a number", `registry_protocols { request_timeout_seconds = 1.5 }`, "rc:1:48: OpenTofu rejects this form of registry_protocols"},
		{"registry_protocols that are text", `registry_protocols = "x"`, "rc:1:1: OpenTofu rejects this form of registry_protocols; want registry_protocols { retry_count = 1 }"},
		{"registry_protocols twice", "registry_protocols {}\nregistry_protocols {}", "rc:2:1: duplicate registry_protocols block in this file"},
		{"a cache that may break", `plugin_cache_may_break_dependency_lock_file = "yes"`, "rc:1:47: OpenTofu rejects this form of plugin_cache_may_break_dependency_lock_file"},
		{"a plugin_cache_dir that is a list", `plugin_cache_dir = []`, "rc:1:20: OpenTofu rejects this form of plugin_cache_dir"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := cliconfig.Parse("rc", []byte(test.data))
			var e *stricthcl.Error
			if !errors.As(err, &e) || !strings.Contains(e.Error(), test.want) {
				t.Errorf("got %v\nwant %s …", err, test.want)
			}
		})
	}
}

func TestUnusableLoginLabel(t *testing.T) {
	t.Parallel()
	config := parse(t, "oci_credentials \"*.a.com\" {\n  username = \"u\"\n  password = \"p\"\n}\noci_credentials \"b.io\" {\n  docker_credentials_helper = \"pass\"\n}")
	if len(config.Logins) != 1 || config.Logins[0].Registry != "b.io" {
		t.Errorf("got %v", config.Logins)
	}
	want := `rc:1:17: the label "*.a.com" matches no repository (invalid registry host "*.a.com"), so these credentials are never used`
	if len(config.Notes) != 1 || config.Notes[0].Kind != cliconfig.NoteLabel || config.Notes[0].String() != want {
		t.Errorf("got  %v\nwant %s", config.Notes, want)
	}
}

// TestMessagesHideSecrets checks that messages do not reveal misplaced secrets.
func TestMessagesHideSecrets(t *testing.T) {
	t.Parallel()
	const secret = "canary-x"
	for name, data := range map[string]string{
		"a token without quotes":          "credentials \"a.example\" {\n  token = canary-x\n}",
		"a token without an equals sign":  "credentials \"a.example\" {\n  token canary-x\n}",
		"a token on a line of its own":    "credentials \"a.example\" {\n  canary-x\n}",
		"a token that is set twice":       "canary-x = 1\ncanary-x = 2",
		"a token in a list":               "x = [canary-x]",
		"a token in JSON":                 `{"credentials":{"a.example":{"token":canary-x}}}`,
		"a token after its quotes":        `credentials "a.example" { token = "a"canary-x }`,
		"a token with a wrong escape":     `credentials "a.example" { token = "canary-x\q" }`,
		"a text that HCL 1 panics at":     `{"credentials":{"a.example":{"canary-x\ud83d\ude00":1}}}`,
		"a URL for a host":                `host "https://user:canary-x@a.example" {}`,
		"a user and a host":               `host "user:canary-x@a.example" {}`,
		"a URL as a label":                `oci_credentials "https://user:canary-x@a.example" {}`,
		"a user in a label":               `oci_credentials "user:canary-x@a.example/x" {}`,
		"a number that is none":           `provider_installation { direct { download_retry_count = "canary-x" } }`,
		"a user in a template":            mirror("user:canary-x@a.example/${hostname}/${namespace}/${type}"),
		"a user in an open template":      mirror("user:canary-x@a.example/${namespace}/${type}"),
		"a user in a template of URLs":    mirror("https://user:canary-x@a.example/${hostname}/${namespace}/${type}"),
		"a user in a broken template":     mirror("user:canary-x@a.example/${namespace"),
		"a user in an expression":         mirror("${\"user:canary-x@\"}a.example/${hostname}/${namespace}/${type}"),
		"a user in the other templates":   mirror("user:canary-x@a.example/{hostname}/{namespace}/{type}"),
		"a user in a pattern":             mirror("a.example/${hostname}/${namespace}/${type}", "https://user:canary-x@a.example/x"),
		"a user in an address":            `provider_installation { dev_overrides { "https://user:canary-x@a.example/x" = "/x" } }`,
		"a user in a URL without TLS":     `provider_installation { network_mirror { url = "http://user:canary-x@a.example/x" } }`,
		"a user in an unknown argument":   `provider_installation { direct { "https://user:canary-x@a.example/" = 1 } }`,
		"a user in a URL that is refused": `provider_installation { network_mirror { url = ["https://user:canary-x@a.example/x"] } }`,
	} {
		config, err := cliconfig.Parse("rc", []byte(data))
		if text := fmt.Sprint(err, config.Notes); strings.Contains(text, secret) {
			t.Errorf("%s: %s", name, text)
		}
		if err == nil && len(config.Notes) == 0 {
			t.Errorf("%s: nothing is wrong", name)
		}
	}
	config := parse(t, `provider_installation { network_mirror { url = "https://user:canary-x@a.example/x" } }`)
	m := config.Installation.Methods[0]
	if got, want := m.String(), "network_mirror https://***@a.example/x (rc:1:25)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(m.URL, secret) {
		t.Error("the URL does not contain the secret")
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	config := parse(t, "credentials \"BÜCHER.example\" {\n  token = \"one\"\n}\ncredentials \"b.example\" {\n  username = \"u\"\n}\ncredentials \"c.example\" {\n  token = \"three\"\n}\ncredentials \"c.example\" {\n  token = \"last\"\n}\n")
	for host, want := range map[svchost.Hostname]string{
		"xn--bcher-kva.example": "one", "b.example": "", "c.example": "last", "e.example": "",
	} {
		if got := config.Tokens[host].Reveal(); got != want {
			t.Errorf("%s: got %q, want %q", host, got, want)
		}
	}
	if got := parse(t, `{"credentials":{"a.example":{"token":"t"}}}`).Tokens["a.example"].Reveal(); got != "t" {
		t.Errorf("in JSON: got %q", got)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	login := cliconfig.Login{Password: text.NewSecret(secret), AccessToken: text.NewSecret(secret), RefreshToken: text.NewSecret(secret)}
	config := cliconfig.Config{Logins: []cliconfig.Login{login}, Tokens: map[svchost.Hostname]text.Secret{"a.example": text.NewSecret(secret)}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if text := fmt.Sprintf(format, config); strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
			t.Errorf("%s prints %s", format, text)
		}
	}
	data, err := json.Marshal([]any{login, config.Tokens})
	if err != nil || strings.Contains(string(data), secret) || !strings.Contains(string(data), "***") {
		t.Errorf("got JSON %s, %v", data, err)
	}
	if config.Tokens["a.example"].Reveal() != secret || fmt.Sprint(text.NewSecret("")) != "" {
		t.Error("Reveal or String returned a wrong value")
	}
}
