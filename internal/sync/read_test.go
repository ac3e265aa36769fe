package sync_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// complete is a declaration with every argument. completeJSON is the same declaration
// in JSON.
const complete = `version    = 1
trust      = "trust.hcl"
sources    = ["providers.txt", "/etc/more.txt"]
lock_files = ["live/**/.terraform.lock.hcl"]
terraform  = true

target "dr" {
  repository = join("/", [env("TOFU_OCI_SYNC_DR"), "providers/{namespace}/{type}"])
  from       = "main"
}
target "main" {
  repository = "ghcr.io/acme/providers/{namespace}/{type}"
}

defaults {
  platforms  = ["linux_arm64", "linux_amd64"]
  min_age    = "7d"
  signatures = "require"
  key_change = "refuse"
}
provider "hashicorp/aws" {
  versions    = ">= 5.0, != 5.71.0"
  latest      = 10
  per_minor   = 1
  prereleases = true
  platforms   = "all"
  min_age     = "0s"
  signatures  = "off"
  stage       = true
  targets     = ["main"]
  alias       = ["hashicorp/aws=registry.terraform.io/hashicorp/aws"]
}
provider "acme/*" {
  latest = "all"
}

deny "hashicorp/aws" {
  versions = "5.71.0"
  reason   = "withdrawn by its publisher"
  by       = "security@acme.example"
}
deny "acme/*" {
  versions = ["1.0.0", "< 0.5"]
  reason   = "old"
}
prune {
  mode          = "delete"
  keep_previous = 2
  keep_for      = "30d"
  max_delete    = 5
}
notify {
  url_env = "MIRROR_WEBHOOK"
  format  = "json"
}
`

const completeJSON = `{
  "$schema": "https://raw.githubusercontent.com/tofu-oci/tofu-oci/main/docs/schema/v2/mirror.schema.json",
  "//": "a comment",
  "version": 1,
  "trust": "trust.hcl",
  "sources": ["providers.txt", "/etc/more.txt"],
  "lock_files": ["live/**/.terraform.lock.hcl"],
  "terraform": true,
  "target": {
    "dr": {"repository": "${env(\"TOFU_OCI_SYNC_DR\")}/providers/{namespace}/{type}", "from": "main"},
    "main": {"repository": "ghcr.io/acme/providers/{namespace}/{type}"}
  },
  "defaults": {"platforms": ["linux_arm64", "linux_amd64"], "min_age": "7d", "signatures": "require", "key_change": "refuse"},
  "provider": {
    "hashicorp/aws": {
      "versions": ">= 5.0, != 5.71.0", "latest": 10, "per_minor": 1, "prereleases": true, "platforms": "all", "min_age": "0s",
      "signatures": "off", "stage": true, "targets": ["main"], "alias": ["hashicorp/aws=registry.terraform.io/hashicorp/aws"]
    },
    "acme/*": {"latest": "all"}
  },
  "deny": {
    "hashicorp/aws": {"versions": "5.71.0", "reason": "withdrawn by its publisher", "by": "security@acme.example"},
    "acme/*": {"versions": ["1.0.0", "< 0.5"], "reason": "old"}
  },
  "prune": {"mode": "delete", "keep_previous": 2, "keep_for": "30d", "max_delete": 5},
  "notify": {"url_env": "MIRROR_WEBHOOK", "format": "json"}
}
`

// variables returns the environment variables in tests.
func variables(name string) (string, bool) {
	value, ok := map[string]string{
		"TOFU_OCI_SYNC_DR": "dr.example:5000", "TOFU_OCI_SYNC_EMPTY": "", "TOFU_OCI_SYNC_HCL": "ghcr.io/${namespace}/x", "SECRET": "secret.example",
	}[name]
	return value, ok
}

// parse parses a declaration in the native syntax, or in JSON if it starts with a brace.
func parse(text string) (*sync.Declaration, error) {
	path := "mirror.hcl"
	if strings.HasPrefix(text, "{") {
		path += ".json"
	}
	return sync.Parse(path, []byte(text), variables)
}

func TestRead(t *testing.T) {
	t.Parallel()
	hour := time.Hour
	for path, text := range map[string]string{"mirror.hcl": complete, "mirror.hcl.json": completeJSON} {
		dir := t.TempDir()
		path = filepath.Join(dir, path)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := sync.Read(path, variables)
		if err != nil {
			t.Fatal(err)
		}
		if d.Path != path || d.Digest != digest.FromString(text) {
			t.Errorf("got path %s, digest %s", d.Path, d.Digest)
		}
		aws, acme := pattern(t, "hashicorp/aws"), pattern(t, "acme/*")
		want := &sync.Declaration{
			Trust: filepath.Join(dir, "trust.hcl"), Sources: []string{filepath.Join(dir, "providers.txt"), "/etc/more.txt"},
			LockFiles: []string{filepath.Join(dir, "live", "**", ".terraform.lock.hcl")}, Terraform: true,
			Denials: []sync.Denial{
				{Pattern: sync.Pattern{Providers: aws}, Versions: constraint(t, "5.71.0"), Reason: "withdrawn by its publisher", By: "security@acme.example"},
				{Pattern: sync.Pattern{Providers: acme}, Versions: constraint(t, "1.0.0"), Reason: "old"},
				{Pattern: sync.Pattern{Providers: acme}, Versions: constraint(t, "< 0.5"), Reason: "old"},
			},
			Prune:  &sync.Prune{Delete: true, KeepPrevious: 2, KeepFor: 30 * 24 * hour, MaxDelete: 5},
			Notify: &sync.Notify{URLEnv: "MIRROR_WEBHOOK", Format: "json"},
		}
		if diff := cmp.Diff(want, d, cmpopts.IgnoreUnexported(sync.Declaration{}), cmpopts.IgnoreFields(sync.Declaration{}, "Path", "Digest", "Targets"), cmpopts.IgnoreFields(sync.Denial{}, "Position"), comparePatterns, compareConstraints); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		var targets []string
		for _, target := range d.Targets {
			targets = append(targets, target.Name+" "+target.Template.String()+" "+target.From)
		}
		if diff := cmp.Diff([]string{"main ghcr.io/acme/providers/{namespace}/{type} ", "dr dr.example:5000/providers/{namespace}/{type} main"}, targets); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		wantAWS := sync.Settings{
			Versions: constraint(t, ">= 5.0, != 5.71.0"), Latest: 10, PerMinor: 1, PreReleases: true, Signatures: trust.ModeOff, KeyChange: sync.KeyChangeRefuse, Stage: true, Targets: []string{"main"},
			Aliases: provider.Aliases{{Requested: aws, Stored: pattern(t, "registry.terraform.io/hashicorp/aws")}},
		}
		platforms := []provider.Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}
		wantAcme := sync.Settings{Platforms: platforms, MinAge: 7 * 24 * hour, Signatures: trust.ModeRequire, KeyChange: sync.KeyChangeRefuse, Targets: []string{"main", "dr"}}
		wantOther := wantAcme
		wantOther.Latest = 1
		for address, want := range map[string]sync.Settings{"hashicorp/aws": wantAWS, "acme/rocket": wantAcme, "hashicorp/null": wantOther} {
			if diff := cmp.Diff(want, d.Settings(nouns.Address(t, address)), comparePatterns, compareConstraints); diff != "" {
				t.Errorf("%s: settings of %s (-want +got):\n%s", path, address, diff)
			}
		}
	}
}

var (
	comparePatterns    = cmp.Comparer(func(a, b provider.Pattern) bool { return a == b })
	compareConstraints = cmp.Comparer(func(a, b provider.Constraint) bool { return a.String() == b.String() })
)

func pattern(t *testing.T, s string) provider.Pattern {
	t.Helper()
	p, err := provider.ParsePattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func constraint(t *testing.T, s string) provider.Constraint {
	t.Helper()
	c, err := provider.ParseConstraint(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// minimal is the shortest valid declaration.
const minimal = "version = 1\ntarget \"main\" {\n  repository = \"ghcr.io/{namespace}/{type}\"\n}\n"

func TestMinimal(t *testing.T) {
	t.Parallel()
	d, err := parse(minimal)
	if err != nil {
		t.Fatal(err)
	}
	if d.Prune != nil || d.Notify != nil || d.Denials != nil {
		t.Errorf("got %+v", d)
	}
	want := sync.Settings{Latest: 1, Signatures: trust.ModeWarn, KeyChange: sync.KeyChangeHold, Targets: []string{"main"}}
	if diff := cmp.Diff(want, d.Settings(nouns.Address(t, "hashicorp/null")), compareConstraints); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if d, err = parse(minimal + "prune {\n}\nnotify {\n  url_env = \"X\"\n}\n"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&sync.Prune{KeepPrevious: 1, KeepFor: 90 * 24 * time.Hour, MaxDelete: 20}, d.Prune); diff != "" || d.Notify.Format != "slack" {
		t.Errorf("got %+v %s", d.Notify, diff)
	}
}

// TestTargets checks which repository templates are valid.
func TestTargets(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		`"ghcr.io/acme/{hostname}/{namespace}/{type}"`:             "ghcr.io/acme/{hostname}/{namespace}/{type}",
		`"${env("TOFU_OCI_SYNC_DR")}/{namespace}/{type}"`:          "dr.example:5000/{namespace}/{type}",
		`join("/", ["ghcr.io", "{namespace}", "{type}"])`:          "ghcr.io/{namespace}/{type}",
		`join("", [env("TOFU_OCI_SYNC_DR")], ["/x", ("/{type}")])`: "dr.example:5000/x/{type}",
		`"oci-layout:mirror/{namespace}/{type}"`:                   "oci-layout:deploy/mirror/{namespace}/{type}",
		`"oci-layout:/srv/{namespace}/{type}"`:                     "oci-layout:/srv/{namespace}/{type}",
	} {
		d, err := sync.Parse(filepath.Join("deploy", "mirror.hcl"), []byte("version = 1\ntarget \"x\" {\n  repository = "+expression+"\n}\n"), variables)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got := d.Targets[0].Template.String(); got != want {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
}

// TestErrors checks every error, including its position.
func TestErrors(t *testing.T) {
	t.Parallel()
	const target = "version = 1\ntarget \"a\" {\n  repository = \"ghcr.io/a/{type}\"\n}\ntarget \"b\" {\n  repository = \"ghcr.io/b/{type}\"\n  from = \"a\"\n}\n"
	for name, test := range map[string]struct{ text, want string }{
		"syntax":                 {"version = 1\ntarget {", "mirror.hcl:2:8: Unclosed configuration block"},
		"no version":             {"target \"a\" {\n}\n", "mirror.hcl:1:1: missing argument version; add version = 1"},
		"other version":          {"version = 2\n", "mirror.hcl:1:11: unsupported version"},
		"version as text":        {"version = \"1\"\n", "mirror.hcl:1:11: unsupported version"},
		"no target":              {"version = 1\n", "mirror.hcl:1:1: missing target block"},
		"unknown argument":       {minimal + "source = []\n", `mirror.hcl:5:1: Unsupported argument: An argument named "source" is not expected here. Did you mean "sources"?`},
		"unknown block":          {minimal + "defalts {\n}\n", `mirror.hcl:5:1: Unsupported block type: Blocks of type "defalts" are not expected here. Did you mean "defaults"?`},
		"repeated argument":      {"version = 1\nversion = 1\n", "mirror.hcl:2:1: Attribute redefined"},
		"repeated block":         {minimal + "prune {\n}\nprune {\n}\n", "mirror.hcl:7:1: Duplicate prune block"},
		"two labels":             {minimal + "provider \"a/b\" \"c\" {\n}\n", "mirror.hcl:5:16: Extraneous label for provider"},
		"no label":               {minimal + "provider {\n}\n", "mirror.hcl:5:10: Missing label for provider"},
		"nested block":           {minimal + "provider \"a/b\" {\n  x {\n  }\n}\n", "mirror.hcl:6:3: Unexpected \"x\" block"},
		"path":                   {minimal + "trust = \"\"\n", `mirror.hcl:5:9: invalid path ""`},
		"stdin":                  {minimal + "sources = [\"-\"]\n", `mirror.hcl:5:12: invalid path "-"`},
		"no list":                {minimal + "sources = \"providers.txt\"\n", "mirror.hcl:5:11: sources must be a non-empty list of strings"},
		"empty list":             {minimal + "lock_files = []\n", "mirror.hcl:5:14: lock_files must be a non-empty list of strings"},
		"number in list":         {minimal + "lock_files = [1]\n", "mirror.hcl:5:15: each value in lock_files must be a string"},
		"duplicate path":         {minimal + "sources = [\"a\", \"./a\"]\n", "mirror.hcl:5:17: duplicate path a"},
		"env outside of targets": {minimal + "trust = env(\"TOFU_OCI_SYNC_DR\")\n", "mirror.hcl:5:9: functions and ${ are supported only in target blocks"},
		"join in a list":         {minimal + "sources = [join(\"\", [\"a\"])]\n", "mirror.hcl:5:11: functions and ${ are supported only in target blocks"},

		"target name":            {"version = 1\ntarget \"a b\" {\n}\n", "mirror.hcl:2:8: invalid name \"a b\""},
		"duplicate target":       {target + "target \"a\" {\n  repository = \"ghcr.io/c/{type}\"\n}\n", `mirror.hcl:9:8: duplicate target "a": already used on line 2`},
		"argument of a target":   {target + "target \"c\" {\n  repo = \"x\"\n}\n", `mirror.hcl:10:3: unknown argument "repo" in this target block; did you mean "repository"?`},
		"no repository":          {target + "target \"c\" {\n  from = \"a\"\n}\n", "mirror.hcl:9:8: missing argument repository in this target block"},
		"from itself":            {"version = 1\ntarget \"a\" {\n  repository = \"ghcr.io/a/{type}\"\n  from = \"a\"\n}\n", `mirror.hcl:4:10: target "a" is copied from itself (a from a)`},
		"from a cycle":           {"version = 1\ntarget \"a\" {\n  repository = \"ghcr.io/a/{type}\"\n  from = \"b\"\n}\ntarget \"b\" {\n  repository = \"ghcr.io/b/{type}\"\n  from = \"a\"\n}\n", `mirror.hcl:8:10: target "a" is copied from itself (a from b, b from a)`},
		"from empty":             {"version = 1\ntarget \"a\" {\n  repository = \"ghcr.io/a/{type}\"\n  from = \"\"\n}\n", "mirror.hcl:4:10: from must be the name of a target"},
		"from nothing":           {"version = 1\ntarget \"main\" {\n  repository = \"ghcr.io/a/{type}\"\n  from = \"mian\"\n}\n", `mirror.hcl:4:10: unknown target "mian"; did you mean "main"?`},
		"same repository":        {target + "target \"c\" {\n  repository = \"ghcr.io/${\"a\"}/{type}\"\n}\n", `mirror.hcl:10:16: targets "a" and "c" use the same repository`},
		"template of OpenTofu":   {"version = 1\ntarget \"a\" {\n  repository = \"ghcr.io/${namespace}/${type}\"\n}\n", "mirror.hcl:3:27: use {namespace} instead of ${namespace} in repository templates"},
		"escaped template":       {"version = 1\ntarget \"a\" {\n  repository = \"ghcr.io/$${namespace}\"\n}\n", "mirror.hcl:3:16: repository cannot contain ${ or %{; use {namespace} instead of ${namespace}"},
		"template in a variable": {"version = 1\ntarget \"a\" {\n  repository = env(\"TOFU_OCI_SYNC_HCL\")\n}\n", "mirror.hcl:3:16: repository cannot contain ${"},
		"variable":               {"version = 1\ntarget \"a\" {\n  repository = var.x\n}\n", "mirror.hcl:3:16: variables are not supported: var"},
		"loop":                   {"version = 1\ntarget \"a\" {\n  repository = join(\"\", [for x in [\"a\"] : x])\n}\n", "mirror.hcl:3:25: invalid expression: must be text, env(NAME), or join"},
		"loop in text":           {"version = 1\ntarget \"a\" {\n  repository = \"%{for x in [1]}a%{endfor}\"\n}\n", "mirror.hcl:3:17: invalid expression"},
		"condition":              {"version = 1\ntarget \"a\" {\n  repository = true ? \"a\" : \"b\"\n}\n", "mirror.hcl:3:16: invalid expression"},
		"other function":         {"version = 1\ntarget \"a\" {\n  repository = file(\"x\")\n}\n", "mirror.hcl:3:16: Call to unknown function"},
		"another secret":         {"version = 1\ntarget \"a\" {\n  repository = \"${env(\"SECRET\")}/{type}\"\n}\n", "SECRET cannot be read: only variables that start with TOFU_OCI_SYNC_ are allowed"},
		"missing variable":       {"version = 1\ntarget \"a\" {\n  repository = env(\"TOFU_OCI_SYNC_X\")\n}\n", "the environment variable TOFU_OCI_SYNC_X is missing or empty"},
		"empty variable":         {"version = 1\ntarget \"a\" {\n  repository = env(\"TOFU_OCI_SYNC_EMPTY\")\n}\n", "TOFU_OCI_SYNC_EMPTY is missing or empty"},
		"repository":             {"version = 1\ntarget \"a\" {\n  repository = \"ghcr.io/{name}\"\n}\n", "mirror.hcl:3:16: repository: "},
		"no reference":           {"version = 1\ntarget \"a\" {\n  repository = \"ghcr.io/UPPER/{type}\"\n}\n", "mirror.hcl:3:16: repository: "},
		"repository as number":   {"version = 1\ntarget \"a\" {\n  repository = 1\n}\n", "mirror.hcl:3:16: repository must be a string"},

		"argument of a provider":  {minimal + "provider \"a/b\" {\n  version = \"1.0\"\n}\n", `mirror.hcl:6:3: unknown argument "version" in this provider block; did you mean "versions"?`},
		"argument of defaults":    {minimal + "defaults {\n  xyz = 1\n}\n", `mirror.hcl:6:3: unknown argument "xyz" in this defaults block: must be one of alias, attestations, key_change, latest, min_age, `},
		"repeated in a block":     {minimal + "defaults {\n  stage = true\n  stage = true\n}\n", "mirror.hcl:7:3: Attribute redefined"},
		"two in a line":           {minimal + "defaults { stage = true, latest = 2 }\n", "mirror.hcl:5:24: "},
		"pattern":                 {minimal + "provider \"a\" {\n}\n", "mirror.hcl:5:10: "},
		"pattern with versions":   {minimal + "provider \"a/b@1.0\" {\n}\n", "specify versions with the argument versions"},
		"legacy provider":         {minimal + "provider \"-/aws\" {\n}\n", "mirror.hcl:5:10: "},
		"pattern of everything":   {minimal + "provider \"*/*/*\" {\n}\n", "mirror.hcl:5:10: the pattern \"*/*/*\" matches every provider; use the defaults block instead"},
		"duplicate pattern":       {minimal + "provider \"acme/x\" {\n}\nprovider \"registry.opentofu.org/ACME/x\" {\n}\n", "mirror.hcl:7:10: duplicate provider \"registry.opentofu.org/acme/x\": already used on line 5"},
		"versions":                {minimal + "defaults {\n  versions = \"5.x\"\n}\n", "mirror.hcl:6:14: versions: "},
		"versions as number":      {minimal + "defaults {\n  versions = 1.1\n}\n", "mirror.hcl:6:14: versions must be a string"},
		"null":                    {minimal + "defaults {\n  versions = null\n}\n", "mirror.hcl:6:14: versions is required"},
		"negative latest":         {minimal + "defaults {\n  latest = -1\n}\n", "mirror.hcl:6:12: latest must be a whole number from 0 to 1000000"},
		"fraction":                {minimal + "defaults {\n  latest = 1.5\n}\n", "mirror.hcl:6:12: latest must be a whole number"},
		"huge latest":             {minimal + "defaults {\n  latest = 1e400\n}\n", "mirror.hcl:6:12: latest must be a whole number"},
		"latest as text":          {minimal + "defaults {\n  latest = \"10\"\n}\n", `mirror.hcl:6:12: latest must be a whole number without quotes, or "all"`},
		"latest as bool":          {minimal + "defaults {\n  latest = true\n}\n", "mirror.hcl:6:12: latest must be a whole number"},
		"no per_minor":            {minimal + "defaults {\n  per_minor = 0\n}\n", "mirror.hcl:6:15: per_minor must be a whole number from 1"},
		"prereleases":             {minimal + "defaults {\n  prereleases = \"yes\"\n}\n", "mirror.hcl:6:17: prereleases must be true or false"},
		"no platforms":            {minimal + "defaults {\n  platforms = []\n}\n", "mirror.hcl:6:15: platforms must be a non-empty list of strings"},
		"platforms as text":       {minimal + "defaults {\n  platforms = \"linux_amd64\"\n}\n", `mirror.hcl:6:15: platforms must be a list of strings, or "all"`},
		"platform":                {minimal + "defaults {\n  platforms = [\"linux/x86_64\"]\n}\n", "mirror.hcl:6:16: platforms: invalid platform \"linux/x86_64\"; did you mean linux_amd64?"},
		"duplicate platform":      {minimal + "defaults {\n  platforms = [\"a_b\", \"a_b\"]\n}\n", `mirror.hcl:6:23: duplicate "a_b" in platforms`},
		"min_age":                 {minimal + "defaults {\n  min_age = \"7\"\n}\n", `mirror.hcl:6:13: min_age: invalid duration "7"`},
		"signatures":              {minimal + "defaults {\n  signatures = \"required\"\n}\n", `mirror.hcl:6:16: unknown signatures "required"; did you mean "require"?`},
		"unknown target":          {target + "defaults {\n  targets = [\"a\", \"c\"]\n}\n", `mirror.hcl:10:19: unknown target "c"`},
		"target without source":   {target + "defaults {\n  targets = [\"b\"]\n}\n", `mirror.hcl:10:14: targets must also contain "a", because "b" is copied from it`},
		"duplicate target name":   {target + "defaults {\n  targets = [\"a\", \"a\"]\n}\n", `mirror.hcl:10:19: duplicate "a" in targets`},
		"alias":                   {minimal + "defaults {\n  alias = [\"a/b\"]\n}\n", "mirror.hcl:6:12: alias: "},
		"deny without reason":     {minimal + "deny \"a/b\" {\n  versions = \"1.0\"\n}\n", "mirror.hcl:5:6: missing argument reason in this deny block"},
		"deny without versions":   {minimal + "deny \"a/b\" {\n  reason = \"x\"\n}\n", "mirror.hcl:5:6: missing argument versions in this deny block"},
		"deny without text":       {minimal + "deny \"a/b\" {\n  versions = \"1.0\"\n  reason = \" \"\n}\n", "mirror.hcl:7:12: reason must be a single line that is not empty"},
		"deny with lines":         {minimal + "deny \"a/b\" {\n  versions = \"1.0\"\n  reason = \"a\\nb\"\n}\n", "mirror.hcl:7:12: reason must be a single line"},
		"deny pattern":            {minimal + "deny \"a\" {\n  versions = \"1.0\"\n  reason = \"x\"\n}\n", "mirror.hcl:5:6: "},
		"deny no versions":        {minimal + "deny \"a/b\" {\n  versions = []\n  reason = \"x\"\n}\n", "mirror.hcl:6:14: versions must be a non-empty list of strings"},
		"deny twice":              {minimal + "deny \"a/b\" {\n  versions = \"1.0\"\n  reason = \"x\"\n}\ndeny \"a/b\" {\n  versions = [\"2.0\", \"1.0\"]\n  reason = \"y\"\n}\n", "mirror.hcl:9:6: registry.opentofu.org/a/b 1.0 is already denied at mirror.hcl:5"},
		"prune mode":              {minimal + "prune {\n  mode = \"remove\"\n}\n", `mirror.hcl:6:10: unknown mode "remove": must be one of report, delete`},
		"keep_previous":           {minimal + "prune {\n  keep_previous = -1\n}\n", "mirror.hcl:6:19: keep_previous must be a whole number from 0"},
		"keep_for":                {minimal + "prune {\n  keep_for = 90\n}\n", "mirror.hcl:6:14: keep_for must be a string"},
		"max_delete":              {minimal + "prune {\n  max_delete = 0\n}\n", "mirror.hcl:6:16: max_delete must be a whole number from 1"},
		"argument of prune":       {minimal + "prune {\n  keep_fro = \"1d\"\n}\n", `mirror.hcl:6:3: unknown argument "keep_fro" in this prune block; did you mean "keep_for"?`},
		"notify without url_env":  {minimal + "notify {\n}\n", "mirror.hcl:5:1: missing argument url_env in this notify block"},
		"notify with a URL":       {minimal + "notify {\n  url_env = \"https://secret.example\"\n}\n", "mirror.hcl:6:13: url_env must be the name of an environment variable that contains the URL"},
		"notify format":           {minimal + "notify {\n  url_env = \"X\"\n  format = \"Slack\"\n}\n", `mirror.hcl:7:12: unknown format "Slack"; did you mean "slack"?`},
		"argument outside of all": {"version = 1\n$schema = 1\n", "mirror.hcl:2:1: "},

		"JSON array of blocks":      {`{"version": 1, "target": [{"a": {"repository": "x/{type}"}}]}`, "mirror.hcl.json:1:26: target must be an object"},
		"JSON duplicate label":      {`{"version": 1, "target": {"a": {"repository": "x/{type}"}, "a": {}}}`, `mirror.hcl.json:1:60: duplicate key "a"`},
		"JSON unknown block":        {`{"version": 1, "targets": {}}`, `mirror.hcl.json:1:16: Extraneous JSON object property: No argument or block type is named "targets". Did you mean "target"?`},
		"JSON unknown argument":     {`{"version": 1, "target": {"a": {"repositry": "x/{type}"}}}`, `mirror.hcl.json:1:33: unknown argument "repositry" in this target block; did you mean "repository"?`},
		"JSON template of OpenTofu": {`{"version": 1, "target": {"a": {"repository": "x.io/${type}"}}}`, "mirror.hcl.json:1:55: use {type} instead of ${type}"},
		"JSON template syntax":      {`{"version": 1, "target": {"a": {"repository": "x.io/${"}}}`, "mirror.hcl.json:1:"},
		"JSON control character":    {`{"version": 1, "target": {"a": {"repository": "x.io/\n{type}"}}}`, "mirror.hcl.json:1:47: repository contains a control character"},
		"JSON complex template":     {`{"version": 1, "target": {"a": {"repository": "${` + strings.Repeat("(", 5000) + `"}}}`, "mirror.hcl.json:1:47: repository is too complex"},
		"JSON loop":                 {`{"version": 1, "target": {"a": {"repository": "${join(\"\", [for x in [1] : x])}"}}}`, "invalid expression"},
		"JSON number as text":       {`{"version": 1, "target": {"a": {"repository": "x.io/{type}"}}, "defaults": {"latest": "1"}}`, "latest must be a whole number without quotes"},
		"JSON env in a path":        {`{"version": 1, "trust": "${env(\"TOFU_OCI_SYNC_DR\")}", "target": {"a": {"repository": "x.io/{type}"}}}`, "mirror.hcl.json:1:25: functions and ${ are supported only in target blocks"},
		"JSON template in a list":   {`{"version": 1, "sources": ["%{if x}"], "target": {"a": {"repository": "x.io/{type}"}}}`, "mirror.hcl.json:1:27: functions and ${"},
		"JSON null":                 {`{"version": 1, "target": {"a": {"repository": null}}}`, "mirror.hcl.json:1:47: repository is required"},
		"JSON comment as a label":   {`{"version": 1, "target": {"//": "x"}}`, "mirror.hcl.json:1:33: target // must be an object"},
	} {
		d, err := parse(test.text)
		e, ok := errors.AsType[*stricthcl.Error](err)
		if d != nil || !ok || e.Line < 1 || e.Column < 1 || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret.example") {
			t.Errorf("%s: the error contains a secret: %v", name, err)
		}
	}
}

// TestAllErrors checks that an error lists all problems in the order of the file, that one
// mistake causes only one problem, and that long lists are cut.
func TestAllErrors(t *testing.T) {
	t.Parallel()
	const text = `trust = "a.hcl"
trust = "b.hcl"
source = []
target "main" {
  repositry = "ghcr.io/{type}"
}
target "dr" {
  repository = "ghcr.io/dr/{type}"
  from       = "man"
}
provider "hashicorp/*" {
  min_age   = "7 days"
  platforms = ["linux", "darwin_arm64", "windows"]
  targets   = ["main", "dr", "other"]
}
provider "hashicorp/*" {
}
provider "a@1" {
  latest = -1
}
module "x" {
}
deny "acme/rocket" {
  versions = "x"
}
gate "" {
  on = ["merge"]
}
prune {
  mode     = "all"
  keep_for = 1
}
notify {
}
defaults {
  key_change = "held"
}
`
	var got []string
	_, err := parse(text)
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "mirror.hcl:")
		got = append(got, line[:min(len(line), 30)])
	}
	want := []string{
		"1:1: missing argument version;", "2:1: Attribute redefined: The ", "3:1: Unsupported argument: An ", `5:3: unknown argument "reposit`, `9:16: unknown target "man"; di`,
		"12:15: min_age: invalid durati", "13:16: platforms: invalid plat", "13:41: platforms: invalid plat", `14:30: unknown target "other":`, `16:10: duplicate provider "reg`,
		"18:10: invalid provider patter", "19:12: latest must be a whole ", `21:8: invalid module pattern "`, "23:6: missing argument reason ", "24:14: versions: invalid versi",
		`26:6: invalid name "": must co`, "26:6: missing argument command", `27:9: on: unknown value "merge`, `30:14: unknown mode "all": mus`, "31:14: keep_for must be a stri", "and 2 more",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s\n%v", diff, err)
	}
	_, err = parse(minimal + strings.Repeat("defalts {\n}\n", 1000))
	if lines := strings.Split(fmt.Sprint(err), "\n"); len(lines) != 21 || lines[20] != "and 980 more" || !strings.HasPrefix(lines[1], "mirror.hcl:7:1: Unsupported block type") {
		t.Errorf("%d lines: %v", len(lines), err)
	}
	// The JSON syntax has the same rules.
	_, err = parse(`{"version": 2, "target": {"a": {"repository": "x.io/{type}"}}, "defaults": {"latest": "1", "stage": 1, "y": 2}, "x": 1}`)
	if n := strings.Count(fmt.Sprint(err), "mirror.hcl.json:1:"); n != 5 {
		t.Errorf("%d problems, want 5: %v", n, err)
	}
}

func TestReadFileErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := sync.Read(filepath.Join(dir, "none.hcl"), variables); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	large := filepath.Join(dir, "large.hcl")
	if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, 5<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := sync.Read(large, variables); err == nil || !strings.Contains(err.Error(), "exceeds") {
		t.Errorf("got %v", err)
	}
	if _, err := parse(minimal + strings.Repeat("target \"a\" {\n}\n", 100)); err == nil || !strings.Contains(err.Error(), "more than 100 targets") {
		t.Errorf("got %v", err)
	}
}

// FuzzRead checks that declarations don't crash the parser, and that errors have positions.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{complete, completeJSON, minimal, "{", "version = 1", "version = 1\ntarget \"a\" {\n  repository = join(\"\", [[]])\n}", `{"version":1,"target":{"a":{"repository":"${\"${env(1)}\"}"}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parse(text)
		if err != nil {
			if e, ok := errors.AsType[*stricthcl.Error](err); !ok || e.Line < 1 {
				t.Fatalf("the error has no position: %v", err)
			}
			return
		}
		if len(d.Targets) == 0 {
			t.Error("the target is missing")
		}
		for _, w := range []string{"hashicorp/aws", "acme/rocket"} {
			if s := d.Settings(nouns.Address(t, w)); len(s.Targets) == 0 || s.Latest < 0 || len(d.Explain(nouns.Address(t, w))) != 13 {
				t.Errorf("got %+v", s)
			}
		}
	})
}
