package repository_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// publicAddress is reserved for documentation (RFC 5737). It is not private, and no
// host uses it.
const publicAddress = "192.0.2.1"

// realmServer is a registry whose challenges contain a configurable token service. The
// client connects to this server for all addresses.
type realmServer struct {
	*registrytest.Registry
	host, port string
	options    repository.Options

	mu sync.Mutex
	// realm is the URL of the token service.
	realm string
	// redirect is the URL to which the first token request is redirected. If empty, the
	// request is not redirected.
	redirect string
	// requested lists the hosts of token requests. A plus sign marks requests with
	// credentials.
	requested []string
}

func newRealmServer(t *testing.T, plain bool) *realmServer {
	t.Helper()
	s := &realmServer{Registry: registrytest.New(registrytest.Options{Username: "user", Password: "password", Bearer: true})}
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	if plain {
		server.Start()
	} else {
		ca, err := testca.New()
		if err != nil {
			t.Fatal(err)
		}
		if server.TLS, err = ca.ServerConfig("localhost", "127.0.0.1", "127.0.0.2", publicAddress); err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(ca.PEM())
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	t.Cleanup(transport.CloseIdleConnections)
	s.port = server.URL[strings.LastIndex(server.URL, ":"):]
	s.host = "localhost" + s.port
	s.options.HTTP = &http.Client{Transport: transport}
	if plain {
		s.options.PlainHTTP = []string{s.host}
	}
	s.options.Credential = func(context.Context, string) (repository.Credential, error) {
		return repository.Credential{Username: "user", Password: "password"}, nil
	}
	return s
}

// ServeHTTP wraps the registry and replaces its challenge.
func (s *realmServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.HasPrefix(req.URL.Path, "/v2/") {
		host := req.Host
		if req.Header.Get("Authorization") != "" || req.Method == http.MethodPost {
			host += "+"
		}
		s.requested = append(s.requested, host)
		if to := s.redirect; to != "" {
			s.redirect = ""
			http.Redirect(w, req, to, http.StatusTemporaryRedirect)
			return
		}
		if req.Method == http.MethodPost && req.PostFormValue("refresh_token") == "refresh" {
			req = httptest.NewRequest(http.MethodGet, "/token", nil)
			req.SetBasicAuth("user", "password")
			answer := httptest.NewRecorder()
			s.Registry.ServeHTTP(answer, req)
			_, _ = io.WriteString(w, strings.Replace(answer.Body.String(), `"token"`, `"access_token"`, 1))
			return
		}
		req.URL.Path = "/token"
	}
	s.Registry.ServeHTTP(&challenger{w, s.realm}, req)
}

// challenger replaces the realm in challenges.
type challenger struct {
	http.ResponseWriter
	realm string
}

func (c *challenger) WriteHeader(status int) {
	if status == http.StatusUnauthorized {
		c.Header().Set("Www-Authenticate", `Bearer realm="`+c.realm+`",service="test",scope="repository:acme/thing:pull"`)
	}
	c.ResponseWriter.WriteHeader(status)
}

// push pushes a blob, which requires a token.
func (s *realmServer) push(t *testing.T) error {
	t.Helper()
	r, err := repository.Open(template.Reference{Registry: s.host, Name: repositoryName}, s.options)
	if err != nil {
		t.Fatal(err)
	}
	b := blob("content")
	return r.PushBlob(t.Context(), b.Descriptor, strings.NewReader("content"))
}

func TestTokenServices(t *testing.T) {
	t.Parallel()
	const private, insecure = "has a private address", "over plain HTTP"
	anonymous := func(s *realmServer) { s.options.Credential = nil }
	refresh := func(s *realmServer) {
		s.options.Credential = func(context.Context, string) (repository.Credential, error) {
			return repository.Credential{RefreshToken: "refresh"}, nil
		}
	}
	byAddress := func(s *realmServer) { s.host = "127.0.0.1" + s.port }
	redirect := func(to string) func(*realmServer) {
		return func(s *realmServer) { s.redirect = strings.ReplaceAll(to, "PORT", s.port) }
	}
	tests := map[string]struct {
		plain bool
		realm string // PORT is replaced with a colon and the server's port
		allow string
		edit  func(*realmServer)
		// requested lists the hosts of the token requests.
		requested string
		refused   string
	}{
		"own host":                     {false, "https://localhostPORT/auth", "", nil, "localhostPORT+", ""},
		"public host":                  {false, "https://" + publicAddress + "/auth", "", nil, publicAddress + "+", ""},
		"private address":              {false, "https://127.0.0.1PORT/auth", "", nil, "", private},
		"private, without a login":     {false, "https://127.0.0.1PORT/auth", "", anonymous, "", private},
		"private and allowed":          {false, "https://127.0.0.1PORT/auth?a=b", "127.0.0.1", nil, "127.0.0.1PORT+", ""},
		"allowed with its port":        {false, "https://127.0.0.1PORT/auth", "127.0.0.1PORT", nil, "127.0.0.1PORT+", ""},
		"another port is allowed":      {false, "https://127.0.0.1PORT/auth", "127.0.0.1:1", nil, "", private},
		"another host is allowed":      {false, "https://127.0.0.1PORT/auth", "127.0.0.2", nil, "", private},
		"a name's private address":     {false, "https://localhostPORT/auth", "", byAddress, "", private},
		"the name is allowed":          {false, "https://localhostPORT/auth", "localhost", byAddress, "localhostPORT+", ""},
		"allowed, an identity token":   {false, "https://127.0.0.1PORT/auth", "127.0.0.1", refresh, "127.0.0.1PORT+", ""},
		"allowed, relative redirect":   {false, "https://127.0.0.1PORT/auth", "127.0.0.1", redirect("/other?x=y"), "127.0.0.1PORT+ 127.0.0.1PORT+", ""},
		"allowed, redirect to private": {false, "https://127.0.0.1PORT/auth", "127.0.0.1", redirect("https://127.0.0.2PORT/auth"), "127.0.0.1PORT+", private},
		"redirect to another allowed":  {false, "https://" + publicAddress + "/auth", "127.0.0.1", redirect("https://127.0.0.1PORT/auth"), publicAddress + "+", private},
		"an identity token's redirect": {false, "https://127.0.0.1PORT/auth", "127.0.0.1", func(s *realmServer) { refresh(s); redirect("/other")(s) }, "127.0.0.1PORT+ 127.0.0.1PORT+", ""},
		"no TLS, own host":             {true, "http://localhostPORT/auth", "", nil, "localhostPORT+", ""},
		"no TLS, own host's port":      {true, "http://localhost/auth", "", nil, "localhost+", ""},
		"no TLS":                       {true, "http://" + publicAddress + "/auth", "", nil, "", insecure},
		"no TLS, an identity token":    {true, "http://" + publicAddress + "/auth", "", refresh, "", insecure},
		"no TLS, allowed":              {true, "http://" + publicAddress + "/auth", publicAddress, nil, publicAddress + "+", ""},
		"no TLS, private, allowed":     {true, "http://127.0.0.1PORT/auth", "127.0.0.1", nil, "127.0.0.1PORT+", ""},
		"no TLS, private":              {true, "http://127.0.0.1PORT/auth", "", nil, "", private},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRealmServer(t, test.plain)
			s.realm = strings.ReplaceAll(test.realm, "PORT", s.port)
			if test.allow != "" {
				s.options.TokenRealms = []string{strings.ReplaceAll(test.allow, "PORT", s.port)}
			}
			if test.edit != nil {
				test.edit(s)
			}
			err := s.push(t)
			if want := strings.ReplaceAll(test.requested, "PORT", s.port); strings.Join(s.requested, " ") != want {
				t.Errorf("token requests for %q, want %q", s.requested, want)
			}
			var refused *repository.RealmError
			switch {
			case test.refused == "" && err != nil:
				t.Error(err)
			case test.refused != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("not refused as %q: %v", test.refused, err)
			case refused != nil && (refused.Private != (test.refused == private) || refused.Realm == "" || strings.Contains(err.Error(), "=")):
				t.Errorf("%+v: %v", refused, err)
			}
		})
	}
}

// TestAnonymousWithoutTLS checks that a client without credentials can request a token
// over plain HTTP.
func TestAnonymousWithoutTLS(t *testing.T) {
	t.Parallel()
	s := newRealmServer(t, true)
	s.realm, s.options.Credential = "http://"+publicAddress+"/auth", nil
	var refused *repository.RealmError
	if err := s.push(t); err == nil || errors.As(err, &refused) {
		t.Errorf("pushed without a login: %v", err)
	}
	if strings.Join(s.requested, " ") != publicAddress {
		t.Errorf("token requests for %q", s.requested)
	}
}

// TestTokenServiceUnreachable checks that the error contains the token service and
// contains no URL fragment.
func TestTokenServiceUnreachable(t *testing.T) {
	t.Parallel()
	s := newRealmServer(t, false)
	s.realm, s.options.TokenRealms = "https://10.0.0.1/auth", []string{"10.0.0.1"}
	err := s.push(t)
	if err == nil || !strings.Contains(err.Error(), "requesting a token from 10.0.0.1: ") || strings.Contains(err.Error(), "#") {
		t.Errorf("got %v", err)
	}
}
