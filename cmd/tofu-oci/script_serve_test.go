package main_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
)

// serving is a server that a test script started.
type serving struct {
	cmd *exec.Cmd
	url string
	// metrics is the address of the metrics, if any.
	metrics string
	stdout  bytes.Buffer
	// stderr is read while the server is running. When the server exits, rest is
	// closed.
	stderr bytes.Buffer
	rest   chan struct{}
}

// listeningAt matches the address of the server in its output.
var listeningAt = regexp.MustCompile(`url"?[=:]"?(https?://[0-9.:]+)`)

// metricsAt matches the address of the metrics in its output.
var metricsAt = regexp.MustCompile(`serving /metrics.*address"?[=:]"?([0-9.:]+)`)

// server start ARG... starts tofu-oci serve on a free port and sets $SERVER to the
// server's URL. server stop presses Ctrl-C, checks that the exit code is 0, and writes
// the output to server.stdout and server.stderr.
func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	switch {
	case neg || len(args) == 0:
		ts.Fatalf("usage: server start ARG... | server stop")
	case args[0] == "start":
		w.serving = startServer(ts, args[1:])
		ts.Setenv("SERVER", w.serving.url)
	case args[0] == "stop":
		s := w.serving
		ts.Check(s.cmd.Process.Signal(os.Interrupt))
		<-s.rest
		if got := exitCodeOf(s.cmd.Wait()); got != 0 {
			ts.Fatalf("exit code %d, want 0\n%s", got, &s.stderr)
		}
		if secret := secretIn(s.stdout.String() + s.stderr.String()); secret != "" {
			ts.Fatalf("the program prints a secret: %s", secret)
		}
		ts.Check(os.WriteFile(ts.MkAbs("server.stdout"), s.stdout.Bytes(), 0o600))
		ts.Check(os.WriteFile(ts.MkAbs("server.stderr"), s.stderr.Bytes(), 0o600))
	}
}

func startServer(ts *testscript.TestScript, args []string) *serving {
	path, err := exec.LookPath(program)
	ts.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	s := &serving{rest: make(chan struct{})}
	s.cmd = exec.CommandContext(ctx, path, networked(ts, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...))...)
	s.cmd.Dir, s.cmd.Stdout = ts.MkAbs("."), &s.stdout
	for _, name := range []string{"HOME", "DOCKER_CONFIG", "PATH", "TMPDIR", "GORACE", "TOFU_OCI_DEBUG", "TOFU_OCI_TIMEOUT"} {
		s.cmd.Env = append(s.cmd.Env, name+"="+ts.Getenv(name))
	}
	stderr, err := s.cmd.StderrPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	ts.Defer(func() {
		cancel() // stops the server if it is still running
		_ = s.cmd.Wait()
	})
	lines := bufio.NewReader(io.TeeReader(stderr, &s.stderr))
	for s.url == "" {
		line, err := lines.ReadString('\n')
		if found := metricsAt.FindStringSubmatch(line); found != nil {
			s.metrics = found[1]
		}
		if found := listeningAt.FindStringSubmatch(line); found != nil {
			s.url = found[1]
		} else if err != nil {
			ts.Fatalf("the server ended: %s", &s.stderr)
		}
	}
	go func() {
		defer close(s.rest)
		_, _ = io.Copy(io.Discard, lines)
	}()
	return s
}

// metrics [PATH] writes the metrics to the file answer. With PATH, it writes the
// response for a different path of the metrics listener.
func cmdMetrics(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: metrics [PATH]")
	}
	path := append(args, "/metrics")[0]
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+worldOf(ts).serving.metrics+path, nil)
	ts.Check(err)
	resp, body := roundTrip(ts, &http.Transport{DisableKeepAlives: true}, req)
	if resp.StatusCode != http.StatusOK {
		ts.Fatalf("got %s: %s", resp.Status, body)
	}
	ts.Check(os.WriteFile(ts.MkAbs("answer"), body, 0o600))
}

// roundTrip sends a request and reads the response. On a slow machine, the server can wait
// too long for a registry. It then responds that clients should retry, so roundTrip does.
func roundTrip(ts *testscript.TestScript, transport http.RoundTripper, req *http.Request) (*http.Response, []byte) {
	for {
		resp, err := transport.RoundTrip(req)
		ts.Check(err)
		body, err := io.ReadAll(resp.Body)
		ts.Check(errors.Join(err, resp.Body.Close()))
		if resp.StatusCode != http.StatusServiceUnavailable && resp.StatusCode != http.StatusGatewayTimeout {
			return resp, body
		}
		ts.Logf("retrying after %s: %s", resp.Status, body)
	}
}

// get STATUS PATH [HEADER:VALUE...] sends a request to the server, checks the status, and writes the
// body to the file answer and the headers to answer.headers.
func cmdGet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: get STATUS PATH [HEADER:VALUE...]")
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, worldOf(ts).serving.url+args[1], nil)
	ts.Check(err)
	for _, header := range args[2:] {
		name, value, _ := strings.Cut(header, ":")
		req.Header.Set(name, value)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ts.ReadFile("ca.pem")))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	resp, body := roundTrip(ts, transport, req)
	if secret := secretIn(string(body)); secret != "" {
		ts.Fatalf("the server prints a secret: %s", secret)
	}
	if strconv.Itoa(resp.StatusCode) != args[0] {
		ts.Fatalf("got %s, want %s: %s", resp.Status, args[0], body)
	}
	var headers bytes.Buffer
	ts.Check(resp.Header.Write(&headers))
	ts.Check(os.WriteFile(ts.MkAbs("answer"), body, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("answer.headers"), headers.Bytes(), 0o600))
}

// certificate CERT KEY writes a certificate for 127.0.0.1 that ca.pem signs.
func cmdCertificate(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: certificate CERT KEY")
	}
	ca, err := testca.New()
	ts.Check(err)
	config, err := ca.ServerConfig("127.0.0.1")
	ts.Check(err)
	key, err := x509.MarshalPKCS8PrivateKey(config.Certificates[0].PrivateKey)
	ts.Check(err)
	for name, block := range map[string]*pem.Block{
		args[0]: {Type: "CERTIFICATE", Bytes: config.Certificates[0].Certificate[0]}, args[1]: {Type: "PRIVATE KEY", Bytes: key},
	} {
		ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(block), 0o600))
	}
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), []byte(ts.ReadFile("ca.pem")+string(ca.PEM())), 0o600))
}
