package repository_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestCheckCredentials checks correct and incorrect credentials with different kinds of
// registries.
func TestCheckCredentials(t *testing.T) {
	t.Parallel()
	const user, password = "jane", "password"
	// looking allows anonymous access but rejects a wrong password.
	looking := func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if _, given, sent := r.BasicAuth(); sent && given != password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		honest(w, r)
	}
	// moving responds to all credentials with a bearer challenge.
	moving := func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if r.Header.Get("Authorization") != "" {
			w.Header().Set("Www-Authenticate", `Bearer realm="https://tokens.example.com/"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		honest(w, r)
	}
	for name, test := range map[string]struct {
		options      registrytest.Options
		fault        origintest.Fault
		required     bool
		refusesWrong bool
	}{
		"basic":                 {options: registrytest.Options{Username: user, Password: password}, required: true, refusesWrong: true},
		"tokens":                {options: registrytest.Options{Username: user, Password: password, Bearer: true}, required: true, refusesWrong: true},
		"open to all":           {},
		"open to all, and sees": {fault: looking, refusesWrong: true},
		"open, with tokens":     {fault: moving},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, test.options)
			if test.fault != nil {
				s.Misbehave(registrytest.Other, test.fault, -1)
			}
			for _, given := range []string{password, "wrong"} {
				o := s.options
				o.Credential = func(context.Context, string) (repository.Credential, error) {
					return repository.Credential{Username: user, Password: given}, nil
				}
				required, err := repository.CheckCredentials(t.Context(), s.host, o)
				refused, ok := errors.AsType[*repository.Error](err)
				if want := given != password && test.refusesWrong; ok != want || ok && (refused.Credentials != "user "+user || !errors.Is(err, provider.ErrForbidden)) {
					t.Errorf("%s: %v", given, err)
				}
				if !ok && required != test.required {
					t.Errorf("%s: required %t", given, required)
				}
			}
		})
	}
}

// TestCheckCredentialsWithoutRegistry checks that a host that is not a registry is distinguished
// from a registry that rejects the credentials.
func TestCheckCredentialsWithoutRegistry(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{})
	s.Misbehave(registrytest.Other, origintest.Status(http.StatusNotFound), 1)
	if _, err := repository.CheckCredentials(t.Context(), s.host, s.options); !errors.Is(err, repository.ErrNotFound) {
		t.Errorf("404: %v", err)
	}
	s.Misbehave(registrytest.Other, origintest.HTML("Please log in"), 1)
	_, err := repository.CheckCredentials(t.Context(), s.host, s.options)
	if !errors.Is(err, httpclient.ErrPage) {
		t.Errorf("a page: %v", err)
	}
	if required, err := repository.CheckCredentials(t.Context(), s.host, s.options); required || err != nil {
		t.Errorf("without a login: %t, %v", required, err)
	}
	// A refresh token must not be sent as an empty username and password.
	s.Misbehave(registrytest.Other, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		honest(w, r)
	}, -1)
	s.options.Credential = func(context.Context, string) (repository.Credential, error) {
		return repository.Credential{RefreshToken: "token"}, nil
	}
	if required, err := repository.CheckCredentials(t.Context(), s.host, s.options); required || err != nil {
		t.Errorf("with a token without a challenge: %t, %v", required, err)
	}
}
