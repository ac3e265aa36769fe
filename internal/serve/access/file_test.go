package access_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	const everyone = `anonymous {
  allow   = ["*/*/*"]
  modules = ["*/*/*/*"]
}
`
	rules := rulesOf(t, everyone+`
limits {
  requests_per_second    = 2.5
  connections            = 64
  connections_per_address = 8
  metadata_cache         = "16MiB"
  tags_ttl               = "30s"
  stale_if_error         = "1h"
  shutdown_timeout       = "45s"
}
`, access.Options{})
	want := access.Limits{
		RequestsPerSecond: 2.5, Connections: 64, ConnectionsPerAddress: 8, MetadataCache: 16 << 20,
		TagsTTL: 30 * time.Second, StaleIfError: time.Hour, ShutdownTimeout: 45 * time.Second,
	}
	if rules.Limits != want || !rules.AllowAll() {
		t.Errorf("got %+v, %v", rules.Limits, rules.AllowAll())
	}
	if rules := rulesOf(t, everyone+"token \"ci\" {\n  sha256 = \""+strings.Repeat("ab", 32)+"\"\n  allow = [\"*/*/*\"]\n}\n", access.Options{}); rules.AllowAll() {
		t.Error("a token is configured, but invalid tokens would be accepted")
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "serve.hcl")
	key := filepath.Join(dir, "archive.key")
	err := os.WriteFile(key, []byte(strings.Repeat("00112233445566778899aabbccddeeff", 2)+"\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(file, []byte(`
anonymous { allow = ["*/*/*"] }
server {
  title              = "Acme"
  base_url           = "https://tools.example.com/tofu"
  trusted_proxies    = ["10.0.0.0/8", "::1/128"]
  default_host       = "Tofu.example.com"
  module_location    = "oci"
  redirect_downloads = true
  sync_results       = ["a.json", "`+filepath.ToSlash(dir)+`/b.json"]
  url_signing_key    = "archive.key"
}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	w, err := access.Open(file, access.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := w.Get().Settings
	if got.Title != "Acme" || got.BaseURL.String() != "https://tools.example.com/tofu" || got.DefaultHost != "tofu.example.com" || !got.OCIModules || !got.RedirectDownloads || got.URLSigningKey != key {
		t.Errorf("got %+v", got)
	}
	if want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}; !slices.Equal(got.TrustedProxies, want) {
		t.Errorf("got the proxies %v", got.TrustedProxies)
	}
	if want := []string{filepath.Join(dir, "a.json"), filepath.ToSlash(dir) + "/b.json"}; !slices.Equal(got.SyncResults, want) {
		t.Errorf("got the results %q", got.SyncResults)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, `
host "tofu.example.com" {
  repository = "ghcr.io/acme/{namespace}/{type}"
  as         = "registry.opentofu.org"
}
host "Bücher.example:8443" { repository = "ghcr.io/books/{type}" }
`, access.Options{})
	var got []string
	for _, h := range rules.Hosts {
		reference, err := h.Repository.Repository(nouns.Address(t, h.As.ForDisplay()+"/hashicorp/null"))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(h.Name), string(h.As), reference.String())
	}
	want := []string{
		"tofu.example.com", "registry.opentofu.org", "ghcr.io/acme/hashicorp/null",
		"xn--bcher-kva.example:8443", "xn--bcher-kva.example:8443", "ghcr.io/books/null",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestParseRefuses checks the errors for invalid rules and their positions.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	token := func(lines string) string { return "token \"ci\" {\n" + lines + "\n}\n" }
	good := "  sha256 = \"" + hashed(ciToken) + "\"\n  allow = [\"acme/*\"]"
	oidc := func(lines string) string {
		return "oidc \"gh\" {\n  issuer = \"https://token.actions.githubusercontent.com\"\n  audience = \"a\"\n" + lines + "\n}\n"
	}
	allow := func(claims string) string {
		return oidc("  allow {\n    claims = " + claims + "\n    providers = [\"acme/*\"]\n  }")
	}
	fine := allow(`{ repository = "acme/x" }`)
	host := func(lines string) string { return "host \"a.example\" {\n" + lines + "\n}\n" }
	repository := "  repository = \"ghcr.io/{namespace}/{type}\""
	for name, test := range map[string]struct{ text, want string }{
		"nothing":               {"", "f:1:1: the file has no access rules"},
		"only comments":         {"# token \"ci\" {}\n\n", "f:1:1: the file has no access rules"},
		"argument":              {"\nopen = true", `f:2:1: Unsupported argument: An argument named "open" is not expected here`},
		"block":                 {"tokens \"a\" {}", `f:1:1: Unsupported block type: Blocks of type "tokens" are not expected here. Did you mean "token"?`},
		"syntax":                {"token \"a\" {", "f:1:11: Unclosed configuration block"},
		"deep":                  {"a = " + strings.Repeat("[", 100), "f:1:69: brackets are nested"},
		"anonymous, label":      {"anonymous \"x\" {\n allow = [\"a/b\"]\n}", "f:1:11: Extraneous label for anonymous"},
		"anonymous, twice":      {"anonymous {\n allow = [\"a/b\"]\n}\nanonymous {\n allow = [\"a/b\"]\n}", "f:4:1: an anonymous block already exists on line 1"},
		"anonymous, empty":      {"anonymous {}", `f:1:11: allow is required`},
		"no patterns":           {"anonymous {\n allow = []\n}", "f:2:10: allow must be a non-empty list of strings"},
		"bad pattern":           {"anonymous {\n allow = [\"a/b\",\n  \"*/a/b\"]\n}", "f:3:3: invalid provider pattern"},
		"pattern twice":         {"anonymous {\n allow = [\"a/b\", \"A/B\"]\n}", "f:2:18: duplicate registry.opentofu.org/a/b"},
		"no name":               {"token {\n" + good + "\n}", "f:1:7: Missing name for token"},
		"two names":             {"token \"a\" \"b\" {\n" + good + "\n}", "f:1:11: Extraneous label for token"},
		"bad name":              {"token \"a:b\" {\n" + good + "\n}", "f:1:7: invalid name "},
		"long name":             {"token \"" + strings.Repeat("a", 33) + "\" {\n" + good + "\n}", "f:1:7: invalid name "},
		"name twice":            {token(good) + token(good), "f:5:7: the name ci already exists on line 1"},
		"name of another kind":  {token(good) + strings.Replace(fine, `"gh"`, `"ci"`, 1), "f:5:6: the name ci already exists on line 1"},
		"unknown argument":      {token(good + "\n  alow = 1"), `f:4:3: Unsupported argument: An argument named "alow" is not expected here`},
		"argument twice":        {token(good + "\n  allow = [\"a/b\"]"), "f:4:3: Attribute redefined"},
		"block in block":        {token(good + "\n  allow {}"), "f:4:3: "},
		"other block in block":  {token(good + "\n  x {}"), "f:4:3: Unsupported block type: "},
		"no hash":               {token("  allow = [\"a/b\"]"), `f:1:12: sha256 is required`},
		"no allow":              {token("  sha256 = \"" + hashed("a") + "\""), `f:1:12: allow is required`},
		"short hash":            {token("  sha256 = \"abcd\"\n  allow = [\"acme/*\"]"), "f:2:12: sha256: must be the SHA-256 of the token in 64"},
		"the token":             {token("  sha256 = \"not-hex-but-secret\"\n  allow = [\"acme/*\"]"), "f:2:12: sha256: must be the SHA-256 of the token in 64"},
		"hash of nothing":       {token("  sha256 = \"" + hashed("") + "\"\n  allow = [\"acme/*\"]"), "f:2:12: sha256: is the SHA-256 of an empty token"},
		"hash of a line":        {token("  sha256 = \"" + hashed("\n") + "\"\n  allow = [\"acme/*\"]"), "f:2:12: sha256: is the SHA-256 of an empty token"},
		"hash, a number":        {token("  sha256 = 1\n  allow = [\"acme/*\"]"), "f:2:12: sha256 must be a string"},
		"hash twice":            {token(good) + strings.Replace(token(good), "ci", "cj", 1), "f:6:12: sha256 " + hashed(ciToken) + " already exists on line 2"},
		"no issuer":             {"oidc \"a\" {\n audience = \"a\"\n}", `f:1:10: issuer is required`},
		"no audience":           {"oidc \"a\" {\n issuer = \"https://a\"\n}", `f:1:10: audience is required`},
		"empty audience":        {"oidc \"a\" {\n issuer = \"https://a\"\n audience = \"\"\n}", "f:3:13: audience: must not be empty"},
		"issuer without TLS":    {"oidc \"a\" {\n issuer = \"http://a.example\"\n audience = \"a\"\n}", "f:2:11: issuer: must start with https://"},
		"issuer twice":          {fine + strings.Replace(fine, `"gh"`, `"gi"`, 1), "f:10:12: the issuer https://token.actions.githubusercontent.com already exists on line 2"},
		"no allow block":        {oidc(""), "f:1:1: the oidc block has no allow block"},
		"allow, label":          {oidc("  allow \"x\" {}"), "f:4:9: Extraneous label for allow"},
		"other block":           {oidc("  deny {}"), `f:4:3: Unsupported block type: Blocks of type "deny" are not expected here`},
		"no claims":             {oidc("  allow {\n providers = [\"a/b\"]\n}"), `f:4:9: invalid claims: want { NAME`},
		"no providers":          {oidc("  allow {\n claims = { sub = \"a\" }\n}"), `f:4:9: providers is required`},
		"empty claims":          {allow("{}"), "f:5:14: invalid claims: want { NAME"},
		"claims, a list":        {allow("[]"), "f:5:14: invalid claims: want { NAME"},
		"claims, computed":      {allow("{ for a in [1] : a => a }"), "f:5:14: invalid claims: want { NAME"},
		"claim twice":           {allow("{\n sub = \"a\"\n \"sub\" = \"b\"\n}"), "f:7:2: duplicate claim sub"},
		"claim, a number":       {allow("{ sub = 1 }"), "f:5:22: sub must be a string"},
		"claim, a variable":     {allow("{ sub = a }"), "f:5:22: sub must be a string"},
		"claim, no name":        {allow("{ (a) = \"a\" }"), "f:5:16: the name of a claim must be a string"},
		"claim, empty":          {allow("{ sub = \"\" }"), "f:5:22: a value must not be empty"},
		"claim, empty list":     {allow("{ sub = [] }"), "f:5:22: sub must be a non-empty list of strings"},
		"claim, mixed list":     {allow("{ sub = [\"a\", 1] }"), "f:5:28: each value in sub must be a string"},
		"star within":           {allow("{ sub = \"repo:*/x\" }"), "f:5:22: invalid value "},
		"two stars":             {allow("{ sub = \"repo:acme/**\" }"), "f:5:22: invalid value "},
		"star after a name":     {allow("{ repository_owner = \"acme*\" }"), "f:5:35: invalid value \"acme*\""},
		"star after an owner":   {allow("{ sub = [\"repo:acme*\"] }"), "f:5:23: invalid value \"repo:acme*\""},
		"no owner":              {allow("{ ref = \"refs/heads/main\" }"), "f:5:14: anyone can get a token from https://token.actions.githubusercontent.com, so "},
		"allow in allow":        {oidc("  allow {\n    claims = { sub = \"a\" }\n    providers = [\"a/b\"]\n    allow {}\n  }"), "f:7:5: Unsupported block type: "},
		"host, no label":        {"host {}", "f:1:6: Missing name for host"},
		"host, bad":             {"host \"a b\" {\n" + repository + "\n}", "f:1:6: "},
		"host twice":            {host(repository) + strings.Replace(host(repository), "a.example", "A.example", 1), "f:4:6: the host a.example already exists on line 1"},
		"host, no repository":   {host(""), `f:1:18: repository is required`},
		"host, OpenTofu's form": {host("  repository = \"ghcr.io/${namespace}\""), "f:2:16: repository must be a string"},
		"host, bad template":    {host("  repository = \"ghcr.io/{name}\""), "f:2:16: repository: "},
		"host, bad as":          {host(repository + "\n  as = \"a b\""), "f:3:8: as: "},
	} {
		_, err := access.Parse("f", []byte(test.text), access.Options{})
		if e, ok := errors.AsType[*stricthcl.Error](err); !ok || !strings.HasPrefix(e.Error(), test.want) {
			t.Errorf("%s: got %v, want %s…", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error contains the token: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"GitHub": fine, "after a colon": allow(`{ sub = "repo:acme/rocket:*" }`), "after a slash": allow(`{ repository = "acme/*", ref = "refs/tags/v*" }`),
		"any subject of named owners": allow(`{ repository_owner = ["a", "b"], sub = "*" }`),
	} {
		if _, err := access.Parse("f", []byte(text), access.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPublicIssuers checks that a public issuer's allow block must identify an owner,
// because anyone can get a token from such an issuer.
func TestPublicIssuers(t *testing.T) {
	t.Parallel()
	const github, gitlab = "https://token.actions.githubusercontent.com", "https://gitlab.com"
	const google, terraform = "https://accounts.google.com", "https://app.terraform.io"
	for _, test := range []struct {
		issuer, claims string
		accepted       bool
	}{
		{github, `sub = "*"`, false},
		{github, `sub = "repo:*"`, false},
		{github, `sub = "repo:acme/*"`, true},
		{github, `sub = "repo:acme@1234/rocket@5678:*"`, true},
		{github, `sub = ["repo:acme/*", "repo:*"]`, false},
		{github, `sub = "environment:production"`, false}, // owners can choose the subject's format
		{github, `sub = "repository_owner:acme:ref:*"`, true},
		{github, `sub = "repository_owner:*"`, false},
		{github, `sub = "repo:*", repository_owner = "acme"`, true},
		{github, `repository = "*"`, false},
		{github, `repository = "acme/*"`, true},
		{github, `repository_id = "1234"`, true},
		{github, `repository_owner = ["acme", "*"]`, false},
		{github, `job_workflow_ref = "acme/build/.github/workflows/build.yml@refs/heads/main"`, false}, // anyone can call a workflow
		{github, `job_workflow_ref = "acme/build/*", repository_owner_id = "1234"`, true},
		{github, `ref = "refs/heads/main", environment = "production"`, false},
		{gitlab, `sub = "project_path:*"`, false},
		{gitlab, `sub = "project_path:acme/*"`, true},
		{gitlab, `project_path = "acme/*"`, true},
		{gitlab, `namespace_path = "acme"`, true},
		{gitlab, `namespace_path = "acme/*"`, true},
		{gitlab, `namespace_path = "*"`, false},
		{gitlab, `ref_protected = "true"`, false},
		{google, `email = "mirror@acme.iam.gserviceaccount.com"`, true},
		{google, `sub = "*"`, false},
		{google, `email_verified = "true"`, false},
		{terraform, `sub = "organization:*"`, false},
		{terraform, `sub = "organization:acme:*"`, true},
		{terraform, `terraform_organization_name = "acme"`, true},
		{terraform, `terraform_workspace_name = "production"`, false},
		{"https://gitlab.example.com", `ref_protected = "true"`, true},
	} {
		text := "oidc \"jobs\" {\n  issuer = \"" + test.issuer + "\"\n  audience = \"a\"\n  allow {\n    claims = { " + test.claims +
			" }\n    providers = [\"acme/*\"]\n  }\n}\n"
		if _, err := access.Parse("f", []byte(text), access.Options{}); (err == nil) != test.accepted {
			t.Errorf("%s, %s: got %v", test.issuer, test.claims, err)
		}
	}
}
