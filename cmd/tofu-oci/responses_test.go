package main_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const ecrHost = "123456789012.dkr.ecr.eu-central-1.amazonaws.com"

// responses maps each file in testdata/responses to the request for which it is the
// response, and to the expected outcome.
var responses = map[string]struct {
	// to is a repository template. The registry's host determines the hint.
	to   string
	meet registrytest.Kind
	code int
	hint string
}{
	"acr_locked":               {"acme.azurecr.io/providers/{type}", registrytest.ManifestPut, 1, "publish all platforms of a version in one run, or allow mutable tags"},
	"ecr_eof":                  {ecrHost + "/providers/{namespace}/{type}", registrytest.UploadPost, 1, "with aws ecr create-repository --repository-name providers/hashicorp/null"},
	"ecr_name_unknown":         {ecrHost + "/providers/{namespace}/{type}", registrytest.UploadPost, 5, "create the repository with aws ecr create-repository --repository-name providers/hashicorp/null or with --on-missing-repository"},
	"ecr_tag_exists":           {ecrHost + "/providers/{namespace}/{type}", registrytest.ManifestPut, 1, "publish all platforms of a version in one run, or allow mutable tags"},
	"ecr_tag_invalid":          {ecrHost + "/providers/{namespace}/{type}", registrytest.ManifestPut, 1, "publish all platforms of a version in one run, or allow mutable tags"},
	"ecr_expired":              {ecrHost + "/providers/{namespace}/{type}", registrytest.ManifestGet, 6, "aws ecr get-login-password | tofu-oci login --username AWS --password-stdin " + ecrHost},
	"ecr_not_authorized":       {ecrHost + "/providers/{namespace}/{type}", registrytest.UploadPost, 6, "grant the missing permission to the IAM role or user"},
	"gitlab_media_type":        {"registry.gitlab.com/acme/providers/{type}", registrytest.ManifestPut, 1, "update your self-managed GitLab"},
	"quay_media_type":          {"quay.io/acme/{type}", registrytest.ManifestPut, 1, "set IGNORE_UNKNOWN_MEDIATYPES: true"},
	"quay_unsupported":         {"quay.io/acme/{type}", registrytest.ManifestPut, 1, "set IGNORE_UNKNOWN_MEDIATYPES: true"},
	"media_type":               {"registry.example.com/acme/{type}", registrytest.ManifestPut, 1, "allow the refused media type in the registry"},
	"manifest_class":           {"registry.example.com/acme/{type}", registrytest.ManifestPut, 1, "allow the refused media type in the registry"},
	"ghcr_write_package":       {"ghcr.io/acme/{type}", registrytest.UploadPost, 6, "under Manage Actions access"},
	"ghcr_installation":        {"ghcr.io/acme/{type}", registrytest.UploadPost, 6, "permissions: packages: write"},
	"ghcr_private":             {"ghcr.io/acme/{type}", registrytest.ManifestGet, 6, "check the name; if the package is private, log in (tofu-oci login ghcr.io)"},
	"hub_levels":               {"registry-1.docker.io/acme/{namespace}/{type}", registrytest.UploadPost, 6, "because Docker Hub does not support acme/hashicorp/null"},
	"hub_insufficient_scope":   {"registry-1.docker.io/acme/{type}", registrytest.UploadPost, 6, "of a user who can write to the account or organization acme"},
	"hub_rate_limit":           {"registry-1.docker.io/acme/{type}", registrytest.ManifestGet, 1, "log in (tofu-oci login docker.io)"},
	"proxy_downgrade":          {"registry.example.com/acme/{type}", registrytest.UploadPost, 1, "set X-Forwarded-Proto: https"},
	"proxy_other_host":         {"registry.example.com/acme/{type}", registrytest.UploadPost, 1, "to keep the Host header and to set X-Forwarded-Proto"},
	"harbor_project":           {"harbor.example.com/acme/{type}", registrytest.UploadPost, 5, "create the project acme in Harbor first"},
	"harbor_unauthorized":      {"harbor.example.com/acme/{type}", registrytest.UploadPost, 6, "create the project acme, or grant the missing permission"},
	"nginx_client_certificate": {"registry.example.com/acme/{type}", registrytest.ManifestGet, 6, "with --client-cert FILE and --client-key FILE"},
	"insufficient_scope":       {"registry.example.com/acme/{type}", registrytest.ManifestPut, 6, "grant the account read access to the repository"},
}

// TestResponses replays recorded responses of registries. A proxy redirects the
// registries' host names to a server on loopback.
func TestResponses(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "responses", "*.http"))
	if err != nil || len(files) != len(responses) {
		t.Fatalf("%d files, %d in the table, %v", len(files), len(responses), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".http")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test, ok := responses[name]
			if !ok {
				t.Fatal("is not in the table")
			}
			host, _, _ := strings.Cut(test.to, "/")
			w := newProxied(t, host)
			w.registry.Misbehave(test.meet, replay(t, file), -1)
			code, stdout, stderr := w.run(t, "mirror", "hashicorp/null", "--to", test.to, "--debug")
			if code != test.code || stdout != "" {
				t.Errorf("exit code %d, not %d; %s", code, test.code, stdout)
			}
			if _, hint, _ := strings.Cut(stderr, "\nhint: "); !strings.Contains(hint, test.hint) {
				t.Errorf("no hint %q in:\n%s", test.hint, stderr)
			}
			if !strings.Contains(stderr, "level=DEBUG msg=request ") {
				t.Errorf("--debug shows no requests:\n%s", stderr)
			}
			if strings.Contains(stderr, "canary") {
				t.Errorf("an upload's state is told:\n%s", stderr)
			}
			if w.registry.Requests()[test.meet] == 0 || w.tunnels.Load() == 0 {
				t.Errorf("got requests %v, %d tunnels", w.registry.Requests(), w.tunnels.Load())
			}
		})
	}
}

// TestCertificateOfAnotherHost checks the hint for a certificate for another host.
func TestCertificateOfAnotherHost(t *testing.T) {
	t.Parallel()
	w := newProxied(t, "registry.example.com")
	code, stdout, stderr := w.run(t, "list", "hashicorp/null", "--from", "other.example.com/acme/{type}")
	if code != 1 || stdout != "" || !strings.Contains(stderr, "\nhint: check the host name, and check whether a proxy responds") || w.tunnels.Load() != 1 {
		t.Errorf("exit code %d, %d tunnels, %s\n%s", code, w.tunnels.Load(), stdout, stderr)
	}
}

// TestProxyGetsNoClientCertificate checks that a proxy that uses TLS can't request the client
// certificate that the registry receives.
func TestProxyGetsNoClientCertificate(t *testing.T) {
	t.Parallel()
	const host = "registry.example.com"
	w := newProxied(t, host)
	var registry, proxy atomic.Int32 // client certificates
	count := func(n *atomic.Int32, next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			n.Add(int32(len(r.TLS.PeerCertificates)))
			next.ServeHTTP(rw, r)
		})
	}
	start := func(name string, handler http.Handler) *httptest.Server {
		config, err := w.ca.ServerConfig(name)
		if err != nil {
			t.Fatal(err)
		}
		config.ClientAuth = tls.RequestClientCert
		server := httptest.NewUnstartedServer(handler)
		server.TLS, server.Config.ErrorLog = config, log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		return server
	}
	behind := start(host, count(&registry, w.registry))
	w.proxy = start("127.0.0.1", count(&proxy, w.tunnel(behind.Listener.Addr().String()))).URL
	certificate, key, err := w.ca.ClientPEM()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "client.pem"), append(certificate, key...), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := w.run(t, "mirror", "hashicorp/null", "--to", host+"/acme/{type}", "--client-cert", "client.pem", "--client-key", "client.pem")
	if code != 0 || registry.Load() == 0 || w.tunnels.Load() == 0 || proxy.Load() != 0 {
		t.Errorf("exit code %d, %d tunnels, %d certificates for the registry and %d for the proxy\n%s", code, w.tunnels.Load(), registry.Load(), proxy.Load(), stderr)
	}
}

// replay returns the response in a file. An empty file closes the connection.
func replay(t *testing.T, file string) origintest.Fault {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	for bytes.HasPrefix(text, []byte("#")) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	if len(text) == 0 {
		return origintest.Reset(0)
	}
	return func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		_, _ = io.Copy(io.Discard, r.Body) // unread bytes would break the connection before the client reads the response
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), r)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}
}

// proxied is a registry with the name of a real registry, behind a proxy.
type proxied struct {
	ca       *testca.CA
	registry *registrytest.Registry
	dir      string
	proxy    string
	// tunnels is the number of connections through the proxy.
	tunnels atomic.Int32
}

func newProxied(t *testing.T, host string) *proxied {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	w := &proxied{ca: ca, registry: registrytest.New(registrytest.Options{}), dir: t.TempDir()}
	config, err := ca.ServerConfig(host)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(w.registry)
	server.TLS = config
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	proxy := httptest.NewServer(w.tunnel(server.Listener.Addr().String()))
	t.Cleanup(proxy.Close)
	w.proxy = proxy.URL

	origin := origintest.New(origintest.Options{})
	if err := origin.Add(t.Context(), origintest.Release{
		Namespace: "hashicorp", Type: "null", Version: "3.2.4", Protocols: []string{"5.0"},
		Archives: map[provider.Platform]origintest.Archive{{OS: "plan9", Arch: "sparc"}: {Bytes: []byte("PK\x05\x06" + strings.Repeat("\x00", 18))}},
	}); err != nil {
		t.Fatal(err)
	}
	at := registrytest.Serve(t, ca, origin)
	for name, text := range map[string]string{
		"ca.pem": string(ca.PEM()),
		"tofurc": "host \"registry.opentofu.org\" {\n  services = { \"providers.v1\" = \"https://" + at + "/v1/providers/\" }\n}\n" +
			"oci_credentials \"" + host + "\" {\n  username = \"jane\"\n  password = \"canary-password\"\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// tunnel returns a proxy that redirects all connections to one address.
func (w *proxied) tunnel(to string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(rw, "not here", http.StatusForbidden)
			return
		}
		w.tunnels.Add(1)
		far, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", to)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadGateway)
			return
		}
		defer far.Close()
		near, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			return
		}
		defer near.Close()
		_, _ = io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() {
			_, _ = io.Copy(far, near)
			_ = far.Close()
		}()
		_, _ = io.Copy(near, far)
	}
}

func (w *proxied) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, append(args, "--config", filepath.Join(w.dir, "tofurc"), "--ca-file", filepath.Join(w.dir, "ca.pem"))...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &errs, w.dir
	cmd.Env = []string{
		"HOME=" + w.dir, "USERPROFILE=" + w.dir, "DOCKER_CONFIG=" + w.dir, "PATH=" + os.Getenv("PATH"), "SystemRoot=" + os.Getenv("SystemRoot"),
		"TMPDIR=" + w.dir, "TMP=" + w.dir, "HTTPS_PROXY=" + w.proxy, noSleep, noTimeout,
	}
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return code, out.String(), errs.String()
}
