package repository_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// expiringServer is a registry whose passwords and tokens expire. Like ECR, it requests
// credentials only if a request has none, and rejects expired ones without a challenge.
type expiringServer struct {
	host, realm string // realm is empty for basic authentication
	repository  repository.Repository

	mu       sync.Mutex
	rejected int // the status for expired credentials
	denied   bool
	// isElsewhere reports whether requests are redirected to another host.
	isElsewhere bool
	password    string
	// lookups, tokens, and requests count the lookups of the password, the issued tokens,
	// and the requests to the repository.
	lookups, tokens, requests int
}

func newExpiringServer(t *testing.T, isBearer bool, rejected int) *expiringServer {
	t.Helper()
	s := &expiringServer{rejected: rejected, password: "first"}
	var options repository.Options
	s.host, options = inMemory(t, s)
	if isBearer {
		s.realm = "http://" + s.host + "/token"
	}
	options.Credential = func(context.Context, string) (repository.Credential, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lookups++
		return repository.Credential{Username: "user", Password: s.password}, nil
	}
	options.HTTP = &http.Client{Transport: denyElsewhere{options.HTTP.Transport}}
	var err error
	if s.repository, err = repository.Open(template.Reference{Registry: s.host, Name: repositoryName}, options); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *expiringServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, password, _ := r.BasicAuth()
	isLogin := password == s.password
	if r.URL.Path == "/token" && isLogin {
		s.tokens++
		_, _ = fmt.Fprintf(w, `{"token":"%s-%d"}`, s.password, s.tokens)
		return
	}
	s.requests++
	header := r.Header.Get("Authorization")
	switch {
	case header == "" && s.realm != "":
		w.Header().Set("Www-Authenticate", `Bearer realm="`+s.realm+`",service="test"`)
		w.WriteHeader(http.StatusUnauthorized)
	case header == "":
		w.Header().Set("Www-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
	case s.denied || !isLogin && header != fmt.Sprintf("Bearer %s-%d", s.password, s.tokens):
		w.WriteHeader(s.rejected)
		_, _ = io.WriteString(w, `{"errors":[{"code":"DENIED","message":"Your authorization token has expired. Reauthenticate and try again."}]}`)
	case s.isElsewhere:
		http.Redirect(w, r, "http://"+elsewhere+"/", http.StatusTemporaryRedirect)
	default:
		_, _ = io.WriteString(w, `{"tags":["1.0.0"]}`)
	}
}

// expire replaces the password and invalidates all tokens.
func (s *expiringServer) expire(password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.password = password
	s.tokens++
}

// counts returns the numbers of lookups, tokens, and requests since the last call.
func (s *expiringServer) counts() (c [3]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = [3]int{s.lookups, s.tokens, s.requests}
	s.lookups, s.requests = 0, 0
	return c
}

// TestExpiredWithoutChallenge checks that credentials are looked up again if a registry
// rejects expired ones without a challenge: ECR responds with 403, and ECR Public with
// 400.
func TestExpiredWithoutChallenge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		isBearer bool
		rejected int
	}{
		"password, 403": {false, http.StatusForbidden},
		"password, 401": {false, http.StatusUnauthorized},
		"token, 400":    {true, http.StatusBadRequest},
		"token, 403":    {true, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newExpiringServer(t, c.isBearer, c.rejected)
				for i := range 3 {
					if _, err := s.repository.Tags(t.Context()); err != nil {
						t.Fatal(err)
					}
					// Each request is rejected once and then repeated.
					if got := s.counts(); got[0] != 1 || got[2] != 2 {
						t.Errorf("round %d: %d lookups and %d requests", i, got[0], got[2])
					}
					time.Sleep(12 * time.Hour)
					s.expire(fmt.Sprint("password", i))
				}
				// Concurrent requests share the new header.
				var group sync.WaitGroup
				for range 20 {
					group.Go(func() {
						if _, err := s.repository.Tags(t.Context()); err != nil {
							t.Error(err)
						}
					})
				}
				group.Wait()
				if got := s.counts(); got[0] != 1 {
					t.Errorf("%d lookups for concurrent requests", got[0])
				}
			})
		})
	}
}

// TestDeniedWithoutChallenge checks how rarely credentials are looked up if the registry
// denies access regardless of their age.
func TestDeniedWithoutChallenge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		isBearer bool
		// want are the lookups and requests for 100 requests in ten minutes.
		want [2]int
	}{
		"password": {false, [2]int{10, 100}}, // the request is not repeated with the same password
		"token":    {true, [2]int{10, 110}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newExpiringServer(t, c.isBearer, http.StatusForbidden)
				if _, err := s.repository.Tags(t.Context()); err != nil {
					t.Fatal(err)
				}
				s.denied = true
				s.counts()
				for range 100 {
					time.Sleep(6 * time.Second)
					_, err := s.repository.Tags(t.Context())
					if !errors.Is(err, provider.ErrForbidden) || !strings.Contains(err.Error(), "has expired") {
						t.Fatalf("got %v", err)
					}
				}
				if got := s.counts(); got[0] != c.want[0] || got[2] != c.want[1] {
					t.Errorf("%d lookups and %d requests, want %v", got[0], got[2], c.want)
				}
			})
		})
	}
}

// TestDeniedElsewhere checks that the credentials are not replaced because another host,
// to which the registry redirected the request, denies access.
func TestDeniedElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newExpiringServer(t, true, http.StatusForbidden)
		if _, err := s.repository.Tags(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.counts()
		s.isElsewhere = true
		time.Sleep(time.Hour)
		_, err := s.repository.Tags(t.Context())
		if !errors.Is(err, provider.ErrForbidden) || !strings.Contains(err.Error(), elsewhere) {
			t.Errorf("got %v", err)
		}
		if got := s.counts(); got[0] != 0 || got[2] != 1 {
			t.Errorf("%d lookups and %d requests", got[0], got[2])
		}
	})
}

// elsewhere is a host that denies access to everything.
const elsewhere = "elsewhere.example"

type denyElsewhere struct{ http.RoundTripper }

func (d denyElsewhere) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != elsewhere {
		return d.RoundTripper.RoundTrip(req)
	}
	return &http.Response{StatusCode: http.StatusForbidden, Request: req, Header: http.Header{}, Body: http.NoBody}, nil
}
