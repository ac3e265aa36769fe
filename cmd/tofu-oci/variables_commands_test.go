package main_test

import (
	"archive/zip"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	main "github.com/tofu-oci/tofu-oci/cmd/tofu-oci"
	"github.com/tofu-oci/tofu-oci/internal/commandline"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// simplest contains minimal calls of each command. Each call is run with every
// variable. {n} is replaced with a different number for each run, and {taken} with an
// address in use.
var simplest = []struct {
	call string
	code int
}{
	{"mirror hashicorp/null --to oci-layout:repo/{type}", 0},
	{"publish dist --provider acme/widget --to oci-layout:repo/{type}", 0},
	{"pull hashicorp/null --from oci-layout:repo/{type} --dir pulled", 0},
	{"copy hashicorp/null --from oci-layout:repo/{type} --to oci-layout:copied/{type}", 0},
	{"list hashicorp/null", 0},
	{"list hashicorp/null --from oci-layout:repo/{type}", 0},
	{"list hashicorp/null --from oci-layout:repo/{type} --pending", 0},
	{"list --from oci-layout:repo/{type}", 0},
	{"promote hashicorp/null --to oci-layout:repo/{type}", 5},
	{"gate run hashicorp/null@9.9.9 --gate true --from oci-layout:repo/{type}", 5},
	{"deny hashicorp/null@9.9.9 --reason old --to oci-layout:repo/{type}", 5},
	{"module push vpc --to oci-layout:repo/vpc --version 1.0.0", 0},
	{"module pull oci-layout:repo/vpc --dir unpacked-vpc", 0},
	{"module list oci-layout:repo/vpc", 0},
	{"module list --from oci-layout:repo/{name}", 0},
	{"module mirror --root live --to oci-layout:repo/{name}", 0},
	{"mirror --root live --to oci-layout:repo/{type}", 0},
	{"module mirror acme/vpc/aws --to oci-layout:repo/{name}", 1},
	{"lock --root live --from oci-layout:repo/{type}", 0},
	{"lock hashicorp/null --root live --from oci-layout:repo/{type}", 0},
	{"lock --check --root live --from oci-layout:repo/{type}", 0},
	{"lock --check --lock-file live/.terraform.lock.hcl --from oci-layout:repo/{type}", 0},
	{"exec --root live --from oci-layout:repo/{type} -- no-such-program", 127},
	{"verify hashicorp/null --from oci-layout:repo/{type}", 0},
	{"serve --from oci-layout:repo/{type} --listen {taken}", 1},
	{"trust init hashicorp/null --trust trust-{n}.hcl --from oci-layout:repo/{type}", 0},
	{"tofurc registry.example.com/{namespace}/{type}", 0},
	{"doctor", 0},
	{"tofurc registry.example.com/{namespace}/{type} --write written", 0},
	{"doctor hashicorp/null", 0},
	{"doctor hashicorp/null --from oci-layout:repo/{type}", 0},
	{"doctor --to oci-layout:repo/{type}", 0},
	{"login {taken} --username jane --password-stdin --plain-http {taken}", 1},
	{"logout registry.example.com", 0},
	{"cache info --cache kept", 0},
	{"cache prune --cache kept --max-age 1000d", 0},
	{"completion bash", 0},
	{"man list", 0},
	{"version", 0},
	{"--version", 0},
	{"mirror hashicorp/null@3.2.4 --to oci-layout:repo/{type}", 0},
	{"mirror --lock-file live/.terraform.lock.hcl --to oci-layout:repo/{type}", 0},
	{"mirror hashicorp/null --to oci-layout:repo/{type} --all --check-level tags", 0},
	{"pull hashicorp/null --from oci-layout:repo/{type} --dir unpacked --layout unpacked", 0},
	{"bundle create hashicorp/null --from oci-layout:repo/{type} --out bundle.tar", 0},
	{"bundle create --root live --from oci-layout:repo/{type} --out bundled.tar", 0},
	{"bundle inventory hashicorp/null --from oci-layout:repo/{type}", 0},
	{"bundle inspect bundle.tar", 0},
	{"bundle verify bundle.tar", 0},
	{"bundle import bundle.tar --to oci-layout:bundled/{type}", 0},
	{"sync validate mirror.hcl", 0},
	{"sync plan mirror.hcl", 0},
	{"sync apply mirror.hcl", 0},
	{"sync init {n}/mirror.hcl", 0},
	{"sync apply mirror.hcl --shard 1/1 --result-file result.json", 0},
	{"sync report result.json", 0},
}

// plausible maps variables to values that a job might set, for flags that take neither a number nor
// a Boolean value.
var plausible = map[string]string{
	"ALIAS": "registry.terraform.io/hashicorp/*=hashicorp/*", "ANNOTATION": "a=b", "BY": "jane", "CACHE": "kept",
	"CA_FILE": "ca.pem", "COLOR": "never", "CLIENT_CERT": "tls.crt", "CLIENT_KEY": "tls.key", "CHECK_LEVEL": "tags", "CONFIG": "tofurc", "DIGEST_FILE": "digests", "DOCTOR_LOCK_FILE": "live/.terraform.lock.hcl",
	"DOCTOR_PLATFORM": "plan9_sparc", "EVENTS": "events.jsonl", "H1": "skip", "FROM": "oci-layout:repo/{type}", "KEYRING": "secret.asc", "LAYOUT": "unpacked",
	"LISTEN": "127.0.0.1:0", "LOCK_FILE": "live,live/.terraform.lock.hcl", "MAN_DIR": "pages", "MAX_AGE": "30d", "MAX_SIZE": "20GB", "METRICS_LISTEN": "127.0.0.1:0",
	"MIN_AGE": "3d", "MODULE_LIST_FROM": "oci-layout:repo/{name}", "MODULE_PULL_DIR": "unpacked-vpc", "MODULE_PULL_FROM": "oci-layout:repo/{name}", "MODULE_MIRROR_TO": "oci-layout:repo/{name}", "MODULE_PUSH_TO": "oci-layout:repo/vpc", "PROVENANCE": "provenance.json", "MODULE_PUSH_SBOM": "sbom.json", "SBOM": "auto", "DECLARATION": "mirror.hcl", "SHARD": "1/1", "TEXTFILE": "sync.prom", "SYNC_REPORT_MAX_AGE": "8h", "ON_MISSING_REPOSITORY": "make-repository {repository}", "OUTPUT": "sarif", "PLAIN_HTTP": "registry.example.com,localhost:5000",
	"MODULES_SERVER": "https://mirror.example.com",
	"ROOT":           "live", "EXEC_ROOT": "live", "MODULES_TO": "oci-layout:modules/{name}",
	"ATTESTATIONS": "fetch", "BUNDLE_KEYRING": "secret.asc", "GATE": "no-such-gate", "PART_SIZE": "1GB",
	"BUNDLE_CREATE_MODULES_FROM": "oci-layout:repo/{name}", "BUNDLE_INVENTORY_MODULES_FROM": "oci-layout:repo/{name}",
	"MODULES_FROM": "oci-layout:repo/{name}", "MODULES_PULL_THROUGH": "acme/*/*",
	"CI":       "github",
	"PLATFORM": "plan9_sparc,hurd_ia64", "PROVIDER": "acme/widget", "PULL_DIR": "pulled", "PULL_THROUGH": "hashicorp/*", "REASON": "old",
	"SERVE_CONFIG": "rules.hcl",
	"SERVE_FROM":   "oci-layout:repo/{type},oci-layout:copied/{type}", "SIGNATURES": "off", "SIGN_KEY": "secret.asc",
	"SOURCES": "providers.txt", "TLS_CERT": "tls.crt", "TLS_KEY": "tls.key", "TO": "oci-layout:repo/{type}",
	"TOKEN_REALM": "token.example.com", "TRUST": "trust.hcl", "USERNAME": "jane",
}

var (
	// shared contains flags that have the same meaning in all commands. They are tested
	// only in combination with all other flags.
	shared = []string{"ca-file", "client-cert", "client-key", "color", "concurrency", "config", "debug", "plain-http", "quiet", "timeout", "token-realm", "verbose"}
	// requiring maps variables to the variables that they require.
	requiring = map[string]string{"TOFU_OCI_TLS_CERT": "TLS_KEY", "TOFU_OCI_TLS_KEY": "TLS_CERT", "TOFU_OCI_CLIENT_CERT": "CLIENT_KEY", "TOFU_OCI_CLIENT_KEY": "CLIENT_CERT", "TOFU_OCI_MODULES_PULL_THROUGH": "MODULES_FROM"}
	// contradicting contains variables that mirror cannot combine.
	contradicting = []string{"TOFU_OCI_ALL", "TOFU_OCI_LATEST", "TOFU_OCI_LOCK_FILE"}
	// agreeing maps variables to values that are compatible with TOFU_OCI_DIGEST_FILE
	// and TOFU_OCI_WITH_EVIDENCE.
	agreeing = map[string]string{"TOFU_OCI_CHECK_LEVEL": "index", "TOFU_OCI_LAYOUT": "packed"}
)

// TestVariablesOfOtherCommands checks that variables for one command cause no errors in
// other commands, individually or combined.
func TestVariablesOfOtherCommands(t *testing.T) { //nolint:paralleltest // the environment belongs to the process
	patience.SkipIfShort(t)
	j := newJob(t)
	commands := commandsOf(main.NewApp(io.Discard, io.Discard).Commands)
	called := map[string]bool{"": true}
	for _, s := range simplest {
		if code, output := j.run(t, s.call, nil); code != s.code {
			t.Fatalf("%s: exit code %d, want %d\n%s", s.call, code, s.code, output)
		}
		for _, c := range commands {
			words := strings.TrimPrefix(c.HelpName, "tofu-oci ")
			if s.call == words || strings.HasPrefix(s.call, words+" ") {
				called[words] = true
				j.withVariables(t, c, s.call)
			}
		}
	}
	for _, c := range commands {
		if !called[strings.TrimPrefix(c.HelpName, "tofu-oci ")] {
			t.Errorf("%s is not called", c.HelpName)
		}
	}
}

// withVariables runs a call with each variable individually, and with all of them.
func (j *job) withVariables(t *testing.T, c *cli.Command, call string) {
	t.Helper()
	together := func(what string, set map[string]string) {
		if code, output := j.run(t, call, set); code == 2 {
			t.Errorf("%s with %s\n%s", call, what, output)
		}
	}
	all := map[string]string{}
	for _, flag := range c.Flags {
		variable := commandline.VariableOf(c, flag)
		if variable == "" {
			continue
		}
		all[variable] = valueFor(t, flag, variable)
		if slices.Contains(shared, flag.Names()[0]) {
			continue
		}
		set := map[string]string{variable: all[variable]}
		if other := requiring[variable]; other != "" {
			set["TOFU_OCI_"+other] = plausible[other]
		}
		together(variable, set)
	}
	delete(all, "TOFU_OCI_DEBUG") // debug output is too long
	for variable := range all {
		if agreeing[variable] != "" {
			all[variable] = agreeing[variable]
		}
	}
	for _, kept := range contradicting {
		set := maps.Clone(all)
		maps.DeleteFunc(set, func(variable, _ string) bool { return variable != kept && slices.Contains(contradicting, variable) })
		if set[kept] != "" || kept == contradicting[0] {
			together("all, and of those that contradict each other "+kept, set)
		}
	}
}

// valueFor returns a value that a job might set.
func valueFor(t *testing.T, flag cli.Flag, variable string) string {
	t.Helper()
	switch flag.(type) {
	case *cli.BoolFlag:
		return "true"
	case *cli.IntFlag, *cli.Float64Flag:
		return "2"
	case *cli.DurationFlag:
		return patience.Limit.String()
	}
	value := plausible[strings.TrimPrefix(variable, "TOFU_OCI_")]
	if value == "" {
		t.Errorf("what may %s be?", variable)
	}
	return value
}

// job is a directory with the files that the commands read.
type job struct {
	taken string
	runs  int
}

// run runs a call with variables and returns its stderr.
func (j *job) run(t *testing.T, call string, variables map[string]string) (code int, stderr string) {
	t.Helper()
	j.runs++
	t.Run(strconv.Itoa(j.runs), func(t *testing.T) {
		for name, value := range variables {
			t.Setenv(name, value)
		}
		stdin, err := os.Open("password")
		if err != nil {
			t.Fatal(err)
		}
		defer stdin.Close()
		before := os.Stdin
		os.Stdin = stdin
		defer func() { os.Stdin = before }()
		args := strings.NewReplacer("{n}", strconv.Itoa(j.runs), "{taken}", j.taken).Replace("tofu-oci " + call)
		var output bytes.Buffer
		code = main.Run(t.Context(), fields(args), io.Discard, &output)
		stderr = output.String()
	})
	return code, stderr
}

// newJob creates the directory and changes to it.
func newJob(t *testing.T) *job {
	t.Helper()
	secret, err := os.ReadFile(filepath.Join("testdata", "throwaway.asc"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	origin := origintest.New(origintest.Options{})
	server := httptest.NewUnstartedServer(origin)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	go func() {
		for {
			c, err := taken.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 418 I am a teapot\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			_ = c.Close()
		}
	}()
	release := origintest.Release{Namespace: "hashicorp", Type: "null", Version: "3.2.4", Protocols: []string{"5.0"}, Archives: map[provider.Platform]origintest.Archive{}}
	for _, p := range []provider.Platform{{OS: "plan9", Arch: "sparc"}, {OS: "hurd", Arch: "ia64"}, provider.CurrentPlatform()} {
		release.Archives[p] = origintest.Archive{Bytes: zipOf(t, "terraform-provider-null_v3.2.4")}
		writeFile(t, "dist/terraform-provider-widget_1.0.0_"+p.String()+".zip", zipOf(t, "terraform-provider-widget_v1.0.0"))
	}
	if err := origin.Add(t.Context(), release); err != nil {
		t.Fatal(err)
	}
	certificate := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certificatePEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	for name, content := range map[string][]byte{
		"ca.pem": certificatePEM, "tls.crt": certificatePEM, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"secret.asc": secret, "passphrase": []byte("x\n"), "password": []byte("x\n"),
		"archive.key": []byte("82b25fbe59c370087a0d874150f0ff4c162ac703a1eb759a66c101ba45d2b145\n"),
		"rules.hcl":   []byte("token \"ci\" {\n  sha256 = \"82b25fbe59c370087a0d874150f0ff4c162ac703a1eb759a66c101ba45d2b145\"\n  allow  = [\"hashicorp/*\"]\n}\n"),
		"trust.hcl":   []byte("trust \"*/*\" {\n  unsigned = \"accept\"\n}\n"), "providers.txt": []byte("hashicorp/null\n"),
		"live/main.tf": []byte("terraform {\n  required_providers {\n    null = {\n      source = \"hashicorp/null\"\n    }\n  }\n}\n"),
		"sbom.json":    []byte(`{"spdxVersion": "SPDX-2.3"}`), "provenance.json": []byte("{}"), "vpc/main.tf": nil,
		"mirror.hcl": []byte("version = 1\ntarget \"main\" {\n  repository = \"oci-layout:synced/{type}\"\n}\nprovider \"hashicorp/null\" {\n}\n"),
		"tofurc":     []byte("host \"registry.opentofu.org\" {\n  services = { \"providers.v1\" = \"" + server.URL + "/v1/providers/\" }\n}\n"),
	} {
		writeFile(t, name, content)
	}
	for name, value := range map[string]string{
		"HOME": "home", "USERPROFILE": "home", "DOCKER_CONFIG": "docker", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "", "XDG_RUNTIME_DIR": "",
		"TF_CLI_CONFIG_FILE": "tofurc", "SSL_CERT_FILE": "ca.pem",
	} {
		if value != "" {
			value, err = filepath.Abs(value)
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv(name, value)
	}
	t.Setenv("TOFU_OCI_TIMEOUT", patience.Limit.String())
	j := &job{taken: taken.Addr().String()}
	for _, call := range []string{"mirror hashicorp/null --to oci-layout:repo/{type}", "lock --root live --from oci-layout:repo/{type}"} {
		if code, output := j.run(t, call, nil); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", call, code, output)
		}
	}
	return j
}

// zipOf returns a zip with one file.
func zipOf(t *testing.T, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: name}
	header.SetMode(0o755)
	entry, err := z.CreateHeader(header)
	if err == nil {
		_, err = entry.Write([]byte("a program\n"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeFile(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
