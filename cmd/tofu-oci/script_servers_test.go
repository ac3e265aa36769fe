package main_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
)

// registry [login=USER:PASSWORD] [bearer] [immutable] [no-create] [no-referrers=STATUS]
// [no-delete=STATUS] [deletes-manifests] [tags-are-digests] [gitlab-types] replaces the OCI
// registry with an empty one.
func cmdRegistry(ts *testscript.TestScript, _ bool, args []string) {
	var o registrytest.Options
	for _, arg := range args {
		switch name, value, _ := strings.Cut(arg, "="); name {
		case "login":
			o.Username, o.Password, _ = strings.Cut(value, ":")
		case "bearer":
			o.Bearer = true
		case "immutable":
			o.ImmutableTags = true
		case "no-create":
			o.NoCreate = true
		case "no-referrers":
			code, err := strconv.Atoi(value)
			ts.Check(err)
			o.NoReferrers = code
		case "no-catalog":
			code, err := strconv.Atoi(value)
			ts.Check(err)
			o.NoCatalog = code
		case "no-delete":
			code, err := strconv.Atoi(value)
			ts.Check(err)
			o.NoDelete = code
		case "deletes-manifests":
			o.DeletesManifests = true
		case "tags-are-digests":
			o.TagsAreDigests = true
		case "gitlab-types":
			o.Types = registrytest.GitLabTypes
		default:
			ts.Fatalf("unknown option %s", arg)
		}
	}
	worldOf(ts).registry.Store(registrytest.New(o))
}

// mutual-tls [VERSION] starts a server for the OCI registry that requires client
// certificates, and sets $REGISTRY to its address. VERSION is the maximum TLS version,
// 1.2 or 1.3. mutual-tls writes a client certificate and its key to client.cert and
// client.key, and those of another authority to other.cert and other.key.
func cmdMutualTLS(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	at, err := serve(ts, w.ca, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.registry.Load().ServeHTTP(rw, r) }), w.ca.RequireClients, func(config *tls.Config) {
		if slices.Equal(args, []string{"1.2"}) {
			config.MaxVersion = tls.VersionTLS12
		}
	})
	ts.Check(err)
	ts.Setenv("REGISTRY", at)
	other, err := testca.New()
	ts.Check(err)
	for name, ca := range map[string]*testca.CA{"client": w.ca, "other": other} {
		certificate, key, err := ca.ClientPEM()
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(name+".cert"), certificate, 0o600))
		ts.Check(os.WriteFile(ts.MkAbs(name+".key"), key, 0o600))
	}
}

// proxy STATUS [LOGIN] configures a proxy in the environment. The proxy responds to all
// requests, including CONNECT, with a status. Status 407 requests proxy credentials.
// The proxy's URL contains the credentials of jane or LOGIN. If LOGIN equals none, the
// URL contains no credentials.
func cmdProxy(ts *testscript.TestScript, _ bool, args []string) {
	status, err := strconv.Atoi(args[0])
	ts.Check(err)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="proxy"`)
		w.WriteHeader(status)
	}))
	ts.Defer(proxy.Close)
	at := strings.TrimPrefix(proxy.URL, "http://")
	ts.Setenv("PROXY", at)
	login := "jane:canary-proxy@"
	switch {
	case len(args) > 1 && args[1] == "nobody":
		login = ""
	case len(args) > 1:
		login = args[1] + "@"
	}
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		ts.Setenv(name, "http://"+login+at)
	}
}

// kindsOf parses a kind of request. Kinds for the origin registry are versions,
// package, sums, signature, and zip. Kinds for the OCI registry are tags, token, and
// names with a dash, such as blob-GET. The names origin and registry match all requests
// to a server, except token requests.
func kindsOf(text string) (origin []origintest.Kind, registry []registrytest.Kind) {
	switch {
	case text == "origin":
		return slices.Concat(origintest.Kinds, origintest.ModuleKinds), nil
	case text == "registry":
		return nil, registrytest.Kinds
	case text == string(registrytest.Tags), text == string(registrytest.Token), strings.Contains(text, "-"):
		return nil, []registrytest.Kind{registrytest.Kind(strings.ReplaceAll(text, "-", " "))}
	}
	return []origintest.Kind{origintest.Kind(text)}, nil
}

// misbehave KIND FAULT [once] [HEADER:VALUE...] injects a fault into the responses to
// one kind of request. FAULT is an HTTP status, echo=STATUS or echo-html=STATUS (which
// repeat the received credentials), html, hang, reset, flip=N (a bit of byte N), short,
// longer, unsized (without a length), unknown-name, expire (of all tokens), signed (a
// redirect with a query), or signed-path=STATUS (a redirect with tokens in its path
// that responds with STATUS; 200 responds correctly, with once).
func cmdMisbehave(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: misbehave KIND FAULT [once] [HEADER:VALUE...]")
	}
	times := -1
	var headers []string
	for _, arg := range args[2:] {
		if arg == "once" {
			times = 1
			continue
		}
		name, value, _ := strings.Cut(arg, ":")
		headers = append(headers, name, value)
	}
	w := worldOf(ts)
	fault := w.fault(args[1], headers)
	if fault == nil {
		ts.Fatalf("unknown fault %s", args[1])
	}
	origin, registry := kindsOf(args[0])
	for _, kind := range origin {
		w.origin.Load().Misbehave(kind, fault, times)
	}
	for _, kind := range registry {
		w.registry.Load().Misbehave(kind, fault, times)
	}
}

// fault returns a fault by its name, or nil if it is unknown.
func (w *world) fault(name string, headers []string) origintest.Fault {
	name, value, _ := strings.Cut(name, "=")
	n, _ := strconv.Atoi(value)
	if code, err := strconv.Atoi(name); err == nil {
		return origintest.Status(code, headers...)
	}
	return map[string]origintest.Fault{
		"echo":         origintest.Echo(n, "application/json"),
		"echo-html":    origintest.Echo(n, "text/html"),
		"html":         origintest.HTML("Please log in"),
		"reset":        origintest.Reset(0),
		"flip":         origintest.FlipBit(int64(n)),
		"short":        origintest.Short(20),
		"longer":       origintest.Longer(),
		"unsized":      origintest.Unsized(),
		"expire":       w.registry.Load().ExpireTokens(),
		"unknown-name": registrytest.Refuse(http.StatusNotFound, "NAME_UNKNOWN", "The repository does not exist"),
		"signed": func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
			if r.URL.Query().Has("signature") {
				honest(rw, r)
				return
			}
			http.Redirect(rw, r, r.URL.Path+"?signature=canary-signature", http.StatusFound)
		},
		"signed-path": func(rw http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
			http.Redirect(rw, r, signedPath+value+r.URL.Path, http.StatusFound)
		},
		"hang": func(rw http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
			select {
			case w.reached <- struct{}{}:
			default:
			}
			origintest.Hang()(rw, r, honest)
		},
	}[name]
}

// signedPath is the prefix of signed paths. It contains capitals and digits,
// hexadecimal digits, and a JWT.
const signedPath = "/signed/canary-AbCdEf0123456789Token/canary-9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c/eyJhbGciOiJIUzI1NiJ9.canary-payload.x/"

// withSigned adds a handler for paths below [signedPath]. The next path component is
// the status of the response. If the status is 200, next handles the rest of the path.
func withSigned(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rest, signed := strings.CutPrefix(r.URL.Path, signedPath)
		status, path, _ := strings.Cut(rest, "/")
		switch code, _ := strconv.Atoi(status); {
		case !signed:
			next.ServeHTTP(rw, r)
		case code == http.StatusOK:
			r.URL.Path, r.URL.RawPath = "/"+path, ""
			next.ServeHTTP(rw, r)
		default:
			rw.WriteHeader(code)
		}
	})
}

// behave removes all faults.
func cmdBehave(ts *testscript.TestScript, _ bool, _ []string) {
	worldOf(ts).origin.Load().Behave()
	worldOf(ts).registry.Load().Behave()
}

// requests returns the request counts of both servers by kind.
func (w *world) requests() map[string]int {
	all := map[string]int{}
	for kind, n := range w.origin.Load().Requests() {
		all[string(kind)] = n
	}
	for kind, n := range w.registry.Load().Requests() {
		all[strings.ReplaceAll(string(kind), " ", "-")] = n
	}
	return all
}

// requests none checks that the last run sent no requests. requests KIND=N... checks
// how many requests of each kind the run sent.
func cmdRequests(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	now := w.requests()
	for kind := range now {
		now[kind] -= w.before[kind]
	}
	for _, arg := range args {
		if arg == "none" {
			for kind, n := range now {
				if n != 0 {
					ts.Fatalf("%d requests for %s, want none", n, kind)
				}
			}
			continue
		}
		kind, want, _ := strings.Cut(arg, "=")
		if got := strconv.Itoa(now[kind]); got != want {
			ts.Fatalf("%s requests for %s, want %s; all: %v", got, kind, want, now)
		}
	}
}
