package credentials_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/credentials"
	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/text"
)

// stored returns a file whose credsStore is a helper.
func stored(helper string) string { return fmt.Sprintf(`{"credsStore": %q}`, helper) }

func TestHelpers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		helper, host string
		want         credentials.Credential
		as, why      string
	}{
		{"plain", "plain.example", basic("plain", canary), "plain.example", "but the helper has no credentials for this name"},
		{"plain", "plain.example:5000", basic("plain", canary), "plain.example:5000", "but the helper has no credentials for this name"},
		{"url", "url.example", basic("url", canary), "https://url.example", ""},
		{"twofaced", "twofaced.example", basic("for twofaced.example", canary), "twofaced.example", "different credentials"},
		{"stale", "stale.example", basic("stale", canary+" for stale.example"), "stale.example", "a different password"},
		{"stale", "registry-1.docker.io", basic("stale", canary+" for https://index.docker.io/v1/"), "https://index.docker.io/v1/", "a different password"},
		{"fresh", "registry-1.docker.io", credentials.Credential{}, "https://index.docker.io/v1/", ""},
		{"it's", "quoted.example", basic("quoted", canary), "quoted.example", ""},
		{"token", "token.example", credentials.Credential{IdentityToken: text.NewSecret(canary)}, "token.example", "does not support identity tokens"},
		{"hub", "docker.io", basic("hub", canary), "https://index.docker.io/v1/", "only as registry-1.docker.io"},
		{"hub", "registry-1.docker.io", basic("hub", canary), "https://index.docker.io/v1/", "but the helper has no credentials for this name"},
		{"none", "none.example", credentials.Credential{}, "", ""},
		{"silent", "silent.example", credentials.Credential{}, "", ""},
		{"empty", "empty.example", credentials.Credential{}, "", ""},
		{"nameonly", "nameonly.example", credentials.Credential{}, "", ""},
	}
	for _, test := range tests {
		t.Run(test.helper+" for "+test.host, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := w.write(t, "home/.docker/config.json", stored(test.helper))
			login, origin, err := w.finder(t).Find(t.Context(), test.host+"/acme/x")
			if err != nil || login != test.want && test.helper != "fresh" { // "fresh" returns a new password each time
				t.Errorf("%s, %v, want %s", describe(login), err, describe(test.want))
			}
			checkWhy(t, origin, test.why)
			want := credentials.Origin{OpenTofu: origin.OpenTofu, Why: origin.Why}
			if test.as != "" {
				want = credentials.Origin{
					Kind: credentials.FromHelper, File: path, Section: "credsStore", Helper: test.helper, Asked: test.as, OpenTofu: origin.OpenTofu, Why: origin.Why,
				}
			}
			if diff := cmp.Diff(want, origin); diff != "" {
				t.Errorf("origin (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHelpersOfAllKinds covers all settings that select a helper.
func TestHelpersOfAllKinds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.write(t, "home/.docker/config.json", `{"credHelpers": {"https://named.example/v2/": "fresh"}, "credsStore": "none"}`)
	w.config = cliconfig.Config{
		Logins:        []cliconfig.Login{{Registry: "rule.example", Helper: "fresh"}},
		DefaultLogins: cliconfig.DefaultLogins{Helper: "url"},
	}
	f := w.finder(t)
	tests := []struct {
		host, user, origin, why string
	}{
		{"rule.example", "fresh", `docker-credential-fresh, configured in oci_credentials "rule.example", for "rule.example"`, ""},
		{"any.example", "url", `docker-credential-url, configured in oci_default_credentials, for "https://any.example"`, ""},
		{
			"named.example", "fresh",
			`docker-credential-fresh, configured in credHelpers of ` + path + ` under "https://named.example/v2/", for "named.example"`,
			"uses the credentials in oci_default_credentials",
		},
	}
	for _, test := range tests {
		login, origin, err := f.Find(t.Context(), test.host+"/acme")
		if err != nil || login.Username != test.user || origin.String() != test.origin {
			t.Errorf("%s from %s, %v, want %s from %s", describe(login), origin, err, test.user, test.origin)
		}
		checkWhy(t, origin, test.why)
	}
}

func TestOpenTofuStopsAtHelper(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, "home/.docker/config.json", `{"credHelpers": {"stay.example": "none"}, "credsStore": "fresh"}`)
	login, origin, err := w.finder(t).Find(t.Context(), "stay.example/acme")
	if err != nil || login.Username != "fresh" {
		t.Errorf("%s, %v", describe(login), err)
	}
	checkWhy(t, origin, "OpenTofu uses the credentials in")
}

func TestHelperServerNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, "home/.docker/config.json", stored("none"))
	f, host := w.finder(t), newHost("asked")
	for _, name := range []string{"a", "b"} {
		if _, err := f.Login(t.Context(), host+"/"+name); err != nil {
			t.Error(err)
		}
	}
	want := []string{"none " + host, "none https://" + host}
	if diff := cmp.Diff(want, requests(t, host)); diff != "" {
		t.Errorf("wrong requests (-want +got):\n%s", diff)
	}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func failed(f extprog.Failure) func(error) bool {
	return func(err error) bool { return extprog.IsFailure(err, f) }
}

func TestFailingHelpers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		helper, want string
		is           func(error) bool
	}{
		{"failing", "exit status 1: the keychain is locked", failed(extprog.Exited)},
		{"locked", "helper failed: pass not initialized: exit status 1, token ***", failed(extprog.Exited)},
		{"spilling", "exit status 1", failed(extprog.Exited)},
		{"broken", "output is not a JSON object", failed(extprog.WrongOutput)},
		{"cut", "output is not a single JSON object", failed(extprog.WrongOutput)},
		{"flood", "more than 262144 bytes", failed(extprog.OverLimit)},
		{"number", "Username or Secret in the output is not a string", nil},
		{"not-installed", "program not found in PATH", nil},
		{"../evil", `invalid credential helper name`, is[*credentials.FileError]},
		{`a\b`, `invalid credential helper name`, is[*credentials.FileError]},
	}
	for _, test := range tests {
		t.Run(test.helper, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := w.write(t, "home/.docker/config.json", stored(test.helper))
			f := w.finder(t)
			host := newHost("failing")
			for range 2 {
				login, origin, err := f.Find(t.Context(), host+"/acme")
				if err == nil || !strings.Contains(err.Error(), test.want) || !login.IsAnonymous() {
					t.Fatalf("%s, %v, want %q", describe(login), err, test.want)
				}
				if test.is != nil && !test.is(err) {
					t.Errorf("error %#v", err)
				}
				if !strings.Contains(err.Error(), path) || origin.File != path || origin.Helper != test.helper {
					t.Errorf("error %v of %+v doesn't name the file", err, origin)
				}
				if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, canary) {
					t.Errorf("error %q contains the secret", text)
				}
			}
			// A failing helper is not run again for each repository.
			if got := requests(t, host); len(got) > 1 {
				t.Errorf("got requests %q", got)
			}
		})
	}
	w := newWorld(t)
	w.write(t, "home/.docker/config.json", stored("not-installed"))
	if _, err := w.finder(t).Login(t.Context(), "missing.example/acme"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("error %v, want exec.ErrNotFound", err)
	}
}

func TestHelpersEndWithTheContext(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	w := newWorld(t)
	w.write(t, "home/.docker/config.json", stored("hanging"))
	f := w.finder(t)
	// After a helper was killed, the next call runs it again.
	for range 2 {
		endHelper(t, f, listener)
	}
}

// endHelper kills a helper that hangs.
func endHelper(t *testing.T, f *credentials.Resolver, listener net.Listener) {
	t.Helper()
	repository := listener.Addr().String() + "/acme"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := make(chan error, 1)
	go func() {
		_, err := f.Login(ctx, repository)
		first <- err
	}()
	helper, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer helper.Close()

	// A caller that waits for another caller's result can stop waiting.
	late, stop := context.WithCancel(t.Context())
	stop()
	if _, err := f.Login(late, repository); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n, err := helper.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("got %d bytes from the helper, %v", n, err)
	}
}

func TestHelperResponsesAreCached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, "home/.docker/config.json", stored("fresh"))
	f, host := w.finder(t), newHost("once")
	now := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	f.SetClock(func() time.Time { return now })

	all := make([]credentials.Credential, 8)
	var waiting sync.WaitGroup
	for i := range all {
		waiting.Go(func() {
			login, err := f.Login(t.Context(), fmt.Sprintf("%s/acme/%d", host, i))
			if err != nil {
				t.Error(err)
			}
			all[i] = login
		})
	}
	waiting.Wait()
	if all = slices.Compact(all); len(all) != 1 || all[0].Username != "fresh" {
		t.Errorf("%d different logins", len(all))
	}
	if got := requests(t, host); len(got) != 1 {
		t.Errorf("got requests %q", got)
	}

	now = now.Add(time.Minute)
	login, err := f.Login(t.Context(), host+"/acme/0")
	if err != nil || login == all[0] {
		t.Errorf("the token of a minute ago again: %v", err)
	}
	if got := requests(t, host); len(got) != 2 {
		t.Errorf("got requests %q", got)
	}
}
