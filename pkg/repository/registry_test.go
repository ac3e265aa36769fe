package repository_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const secret = "X-Signature=do-not-tell"

func TestTagsByPages(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{PageSize: 3})
	var want []string
	for i := range 10 {
		tag := fmt.Sprintf("1.%d.0", i)
		want = append(want, tag)
		pushTag(t, s.open(t), index(t, tag), tag, "")
	}
	got, err := s.open(t).Tags(t.Context())
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if n := s.Requests()[registrytest.Tags]; n != 4 {
		t.Errorf("%d pages", n)
	}
}

// TestRepeatedPage checks that a list ends if its next page was already read, even if the
// link spells the URL differently.
func TestRepeatedPage(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"%s?last=a&n=1", "%s?n=1&last=a", "../../../..%s?n=1&last=a#x", "%s"} {
		s := newServer(t, registrytest.Options{})
		s.Misbehave(registrytest.Tags, func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
			next := fmt.Sprintf(link, r.URL.Path)
			if r.URL.RawQuery == "" && link != "%s" {
				next = r.URL.Path + "?last=a&n=1"
			}
			w.Header().Set("Link", "<"+next+`>; rel="next"`)
			_, _ = io.WriteString(w, `{"tags":["1.0.0"]}`)
		}, -1)
		tags, err := s.open(t).Tags(t.Context())
		if n := s.Requests()[registrytest.Tags]; err != nil || len(tags) == 0 || tags[0] != "1.0.0" || n > 2 {
			t.Errorf("%s: %d requests, %v, %v", link, n, tags, err)
		}
	}
}

// TestNextPageOnAnotherServer checks that a list is refused if its next page is on another
// server, which receives no request, and that absolute links to the same server are followed.
func TestNextPageOnAnotherServer(t *testing.T) {
	t.Parallel()
	other := newServer(t, registrytest.Options{})
	for link, want := range map[string]error{
		"https://" + other.host: repository.ErrOtherServer,
		"http://SERVER":         httpclient.ErrDowngrade,
		"https://SERVER":        nil,
	} {
		s := newServer(t, registrytest.Options{})
		s.Misbehave(registrytest.Tags, func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
			if r.URL.RawQuery == "" {
				w.Header().Set("Link", "<"+strings.ReplaceAll(link, "SERVER", s.host)+r.URL.Path+`?last=a>; rel="next"`)
			}
			_, _ = io.WriteString(w, `{"tags":["1.0.0"]}`)
		}, -1)
		tags, err := s.open(t).Tags(t.Context())
		if !errors.Is(err, want) || want == nil && len(tags) != 2 || want != nil && !strings.Contains(err.Error(), "://") {
			t.Errorf("%s: %v, %v", link, tags, err)
		}
	}
	if n := len(other.Requests()); n != 0 {
		t.Errorf("%d kinds of requests to the other server", n)
	}
}

// TestLongLink checks that a link with a very long URL is refused with a short message.
func TestLongLink(t *testing.T) {
	t.Parallel()
	for _, link := range []string{"<%s/>; rel=next", "%s", "<https://other.example/%s>"} {
		s := newServer(t, registrytest.Options{})
		s.Misbehave(registrytest.Tags, func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
			w.Header().Set("Link", fmt.Sprintf(link, strings.Repeat("a/", 450_000)))
			_, _ = io.WriteString(w, `{"tags":["1.0.0"]}`)
		}, -1)
		if _, err := s.open(t).Tags(t.Context()); err == nil || !strings.Contains(err.Error(), "next page: URL exceeds 16384 bytes") || len(err.Error()) > 1000 {
			t.Errorf("%.10s: got %.2000v", link, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault origintest.Fault
		is    []error
		isNot []error
		text  string
	}{
		"401": {
			registrytest.Refuse(401, "UNAUTHORIZED", "authentication required"), []error{provider.ErrForbidden},
			[]error{repository.ErrNotFound, repository.ErrNoRepository}, "registry responded with 401 Unauthorized, UNAUTHORIZED: authentication required",
		},
		"403": {
			registrytest.Refuse(403, "DENIED", "no"), []error{provider.ErrForbidden},
			[]error{repository.ErrNotFound, repository.ErrNoRepository}, "registry responded with 403 Forbidden, DENIED: no",
		},
		"404 of a name": {
			registrytest.Refuse(404, "NAME_UNKNOWN", "no such name"), []error{repository.ErrNoRepository, repository.ErrNotFound},
			[]error{provider.ErrForbidden}, "registry responded with 404 Not Found, NAME_UNKNOWN: no such name",
		},
		"404 of a Harbor project": {
			registrytest.Refuse(404, "NOT_FOUND", "project acme not found"), []error{repository.ErrNoRepository, repository.ErrNotFound},
			[]error{provider.ErrForbidden}, "registry responded with 404 Not Found, NOT_FOUND: project acme not found",
		},
		"404 of something else in Harbor": {
			registrytest.Refuse(404, "NOT_FOUND", "artifact acme/thing:1.0.0 not found"), []error{repository.ErrNotFound},
			[]error{repository.ErrNoRepository}, "artifact acme/thing:1.0.0 not found",
		},
		"400 with a reason in the detail": {
			refuseWith(400, `{"errors":[{"code":"MANIFEST_INVALID","message":"manifest invalid","detail":"unknown media type: x/y"}]}`), nil,
			[]error{provider.ErrForbidden, repository.ErrNotFound}, "MANIFEST_INVALID: manifest invalid: unknown media type: x/y",
		},
		"400 with a reason in an object": {
			refuseWith(400, `{"errors":[{"code":"MANIFEST_INVALID","message":"manifest invalid","detail":{"message":"failed\nto parse"}}]}`), nil,
			[]error{provider.ErrForbidden, repository.ErrNotFound}, "MANIFEST_INVALID: manifest invalid: failed to parse",
		},
		"429": {
			registrytest.Refuse(429, "TOOMANYREQUESTS", "slow\ndown"), nil,
			[]error{provider.ErrForbidden, repository.ErrNotFound}, "registry responded with 429 Too Many Requests, TOOMANYREQUESTS: slow down",
		},
		"500 without words": {
			origintest.Status(500), nil, []error{provider.ErrForbidden, repository.ErrNotFound, repository.ErrNoRepository},
			"registry responded with 500 Internal Server Error",
		},
		"very long": {
			registrytest.Refuse(400, "UNKNOWN", strings.Repeat("long ", 1000)), nil, nil, "…",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{})
			b := blob("x")
			s.Misbehave(registrytest.Tags, test.fault, -1)
			s.Misbehave(registrytest.UploadPost, test.fault, -1)
			_, tagsErr := s.open(t).Tags(t.Context())
			pushErr := s.open(t).PushBlob(t.Context(), b.Descriptor, streamed(b.Bytes))
			for what, err := range map[string]error{"listing the tags of " + s.host + "/acme/thing: GET ": tagsErr, "pushing blob " + s.host + "/acme/thing@" + b.Descriptor.Digest.String() + ": POST ": pushErr} {
				if _, ok := errors.AsType[*repository.ResponseError](err); !ok {
					t.Fatalf("%T %v", err, err)
				}
				if !strings.HasPrefix(err.Error(), what) || !strings.Contains(err.Error(), test.text) || len(err.Error()) > 700 {
					t.Errorf("%q is missing in: %v", what+"…"+test.text, err)
				}
				for _, target := range test.is {
					if !errors.Is(err, target) {
						t.Errorf("is not %v: %v", target, err)
					}
				}
				for _, target := range test.isNot {
					if errors.Is(err, target) {
						t.Errorf("is %v: %v", target, err)
					}
				}
			}
		})
	}
}

// refuseWith responds with the given status and body.
func refuseWith(status int, body string) origintest.Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestUploadNeverLeavesTLS checks that a client sends nothing to an http upload URL. A
// registry behind a TLS-terminating proxy might return an http URL.
func TestUploadNeverLeavesTLS(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{})
	s.Misbehave(registrytest.UploadPost, func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		w.Header().Set("Location", "http://"+r.Host+r.URL.Path+"id?_state="+secret)
		w.WriteHeader(http.StatusAccepted)
	}, -1)
	err := s.open(t).PushBlob(t.Context(), blob("x").Descriptor, streamed([]byte("x")))
	if !errors.Is(err, httpclient.ErrDowngrade) || !strings.Contains(err.Error(), "(http://"+s.host) || strings.Contains(err.Error(), "do-not-tell") {
		t.Error(err)
	}
	about, ok := errors.AsType[*repository.Error](err)
	if !ok || about.Registry != s.host || about.Name != repositoryName {
		t.Error(err)
	}
	if n := s.Requests()[registrytest.UploadPut]; n != 0 {
		t.Errorf("%d uploads", n)
	}
}

func TestImmutableTag(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{ImmutableTags: true})
	a, b := index(t, "a"), index(t, "b")
	pushTag(t, s.open(t), a, "1.0.0", "")
	err := s.open(t).PushTag(t.Context(), b, "1.0.0", a.Descriptor.Digest)
	response, ok := errors.AsType[*repository.ResponseError](err)
	if !ok || response.Status != 400 || response.Code != "ImageTagAlreadyExistsException" || !strings.Contains(err.Error(), "because the tag is immutable") {
		t.Error(err)
	}
}

// TestCredentials checks that each authentication method works and requests the credentials
// of the correct repository.
func TestCredentials(t *testing.T) {
	t.Parallel()
	for name, bearer := range map[string]bool{"basic": false, "bearer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{Username: "user", Password: "password", Bearer: bearer})
			var requested sync.Map
			s.options.Credential = func(_ context.Context, name string) (repository.Credential, error) {
				requested.Store(name, true)
				return repository.Credential{Username: "user", Password: "password"}, nil
			}
			r := s.open(t)
			pushBlob(t, r, blob("content"))
			pushTag(t, r, index(t, "a"), "1.0.0", "")
			if tags, err := s.open(t).Tags(t.Context()); len(tags) != 1 || err != nil {
				t.Errorf("%v, %v", tags, err)
			}
			requested.Range(func(name, _ any) bool {
				if name != s.host+"/acme/thing" {
					t.Errorf("unexpected request for the credentials of %v", name)
				}
				return true
			})
		})
	}
}

func TestNoCredentials(t *testing.T) {
	t.Parallel()
	for name, bearer := range map[string]bool{"basic": false, "bearer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{Username: "user", Password: "password", Bearer: bearer})
			_, tagsErr := s.open(t).Tags(t.Context())
			_, _, manifestErr := s.open(t).Manifest(t.Context(), "1.0.0")
			_, statErr := s.open(t).Stat(t.Context(), blob("x").Descriptor)
			pushErr := s.open(t).PushBlob(t.Context(), blob("x").Descriptor, streamed([]byte("x")))
			for _, err := range []error{tagsErr, manifestErr, statErr, pushErr} {
				if !errors.Is(err, provider.ErrForbidden) || errors.Is(err, repository.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
}

func TestCredentialLookupFails(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{Username: "user", Password: "password"})
	broken := errors.New("the helper is broken")
	s.options.Credential = func(context.Context, string) (repository.Credential, error) { return repository.Credential{}, broken }
	if _, err := s.open(t).Tags(t.Context()); !errors.Is(err, broken) || !strings.Contains(err.Error(), "looking up credentials for "+s.host) {
		t.Error(err)
	}
}

// storage is a host to which a registry redirects blob requests.
type storage struct {
	mu        sync.Mutex
	bearer    int
	requested int
	answer    http.HandlerFunc
}

func (s *storage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requested++
	if r.Header.Get("Authorization") != "" {
		s.bearer++
	}
	s.mu.Unlock()
	s.answer(w, r)
}

// requests returns the number of requests and the number of requests with credentials.
func (s *storage) requests() (all, authorized int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requested, s.bearer
}

// redirected starts a registry that requires credentials and redirects blob requests to
// another host.
func redirected(t *testing.T, answer http.HandlerFunc) (*server, *storage) {
	t.Helper()
	s := newServer(t, registrytest.Options{Username: "user", Password: "password"})
	s.options.Credential = func(context.Context, string) (repository.Credential, error) {
		return repository.Credential{Username: "user", Password: "password"}, nil
	}
	elsewhere := &storage{answer: answer}
	host := registrytest.Serve(t, s.ca, elsewhere)
	s.Misbehave(registrytest.BlobGet, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		if r.Header.Get("Authorization") == "" {
			honest(w, r)
			return
		}
		http.Redirect(w, r, "https://"+host+"/blob?"+secret, http.StatusTemporaryRedirect)
	}, -1)
	return s, elsewhere
}

func TestRedirectReceivesNoCredentials(t *testing.T) {
	t.Parallel()
	s, elsewhere := redirected(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "content") })
	body, err := s.open(t).Blob(t.Context(), blob("content").Descriptor)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if got, err := io.ReadAll(body); string(got) != "content" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if n, authorized := elsewhere.requests(); s.Authorized()[registrytest.BlobGet] != 1 || n != 1 || authorized != 0 {
		t.Errorf("%d requests bore a login elsewhere", authorized)
	}
}

// TestChallengeAfterRedirect checks that a redirect target that requests credentials
// receives none.
func TestChallengeAfterRedirect(t *testing.T) {
	t.Parallel()
	s, elsewhere := redirected(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Www-Authenticate", `Basic realm="fishing"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	if _, err := s.open(t).Blob(t.Context(), blob("content").Descriptor); !errors.Is(err, provider.ErrForbidden) {
		t.Error(err)
	}
	if n, authorized := elsewhere.requests(); n == 0 || authorized != 0 {
		t.Errorf("%d of %d requests bore a login", authorized, n)
	}
}

// TestErrorsContainNoQuery checks that errors contain no query strings, because the
// query of a signed URL contains secrets.
func TestErrorsContainNoQuery(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"status":        func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"wrong length":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "more content") },
		"reset":         func(w http.ResponseWriter, r *http.Request) { origintest.Reset(0)(w, r, nil) },
		"wrong digest":  header("Docker-Content-Digest", digest.FromString("x").String()),
		"bad digest":    header("Docker-Content-Digest", "what?"),
		"redirect loop": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) },
		"to http": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://localhost/?"+secret, http.StatusFound)
		},
		"to nowhere": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "://?"+secret)
			w.WriteHeader(http.StatusFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, elsewhere := redirected(t, answer)
			_, err := s.open(t).Blob(t.Context(), blob("content").Descriptor)
			if n, _ := elsewhere.requests(); err == nil || n == 0 {
				t.Fatalf("%d requests, %v", n, err)
			}
			if strings.Contains(err.Error(), "do-not-tell") {
				t.Error(err)
			}
		})
	}
}

func header(name, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(name, value)
		_, _ = io.WriteString(w, "content")
	}
}

func TestIdentityEncoding(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{})
	r := s.open(t)
	pushBlob(t, r, blob("content"))
	pushTag(t, r, index(t, "a"), "1.0.0", "")
	if body, err := r.Blob(t.Context(), blob("content").Descriptor); err == nil {
		_ = body.Close()
	}
	got := s.Encodings()
	if len(got) != 1 || got["identity"] == 0 {
		t.Errorf("Accept-Encoding: %v", got)
	}
}

func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	registry := registrytest.New(registrytest.Options{})
	plain := httptest.NewServer(registry)
	t.Cleanup(plain.Close)
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	ref := template.Reference{Registry: strings.TrimPrefix(plain.URL, "http://"), Name: repositoryName}
	o := repository.Options{HTTP: registrytest.Client(t, ca), PlainHTTP: []string{ref.Registry}}
	r, err := repository.Open(ref, o)
	if err != nil {
		t.Fatal(err)
	}
	pushTag(t, r, index(t, "a"), "1.0.0", "")
	o.PlainHTTP = []string{"localhost", "other.example.com"}
	if r, err = repository.Open(ref, o); err != nil {
		t.Fatal(err)
	}
	before := registry.Requests()
	if _, err := r.Tags(t.Context()); err == nil || len(registry.Requests()) != len(before) {
		t.Errorf("a registry that is not named was spoken to without TLS: %v", err)
	}
}

// TestWrongManifest checks that a manifest with the wrong content is rejected.
func TestWrongManifest(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{})
	x := index(t, "a")
	pushTag(t, s.open(t), x, "1.0.0", "")
	check := func(reference string) {
		t.Helper()
		_, _, err := s.open(t).Manifest(t.Context(), reference)
		mismatch, ok := errors.AsType[*sums.MismatchError](err)
		if !ok || mismatch.Want != x.Descriptor.Digest.String() || !strings.Contains(err.Error(), reference) {
			t.Error(err)
		}
	}
	s.Misbehave(registrytest.ManifestGet, origintest.FlipBit(10), -1)
	check("1.0.0")
	check(x.Descriptor.Digest.String())
	s.Behave()
	s.Misbehave(registrytest.ManifestGet, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		origintest.FlipBit(10)(headless{w}, r, honest)
	}, -1)
	check(x.Descriptor.Digest.String())
}

// TestManifestWithoutHeaders checks that one request is sufficient if a registry states
// neither the digest nor the length of a manifest.
func TestManifestWithoutHeaders(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{})
	x := index(t, "a")
	pushTag(t, s.open(t), x, "1.0.0", "")
	s.Misbehave(registrytest.ManifestGet, func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) {
		honest(headless{w}, r)
	}, -1)
	before := s.Requests()
	for _, reference := range []string{"1.0.0", x.Descriptor.Digest.String()} {
		d, data, err := s.open(t).Manifest(t.Context(), reference)
		if err != nil || d.Digest != x.Descriptor.Digest || d.Size != x.Descriptor.Size || !bytes.Equal(data, x.Bytes) {
			t.Errorf("%s: got %v, %v", reference, d, err)
		}
	}
	after := s.Requests()
	if gets, heads := after[registrytest.ManifestGet]-before[registrytest.ManifestGet], after[registrytest.ManifestHead]-before[registrytest.ManifestHead]; gets != 2 || heads != 0 {
		t.Errorf("got %d GET and %d HEAD requests", gets, heads)
	}
}

// headless removes the digest and the length of a response.
type headless struct{ http.ResponseWriter }

func (h headless) WriteHeader(code int) {
	h.Header().Del("Docker-Content-Digest")
	h.Header().Del("Content-Length")
	h.ResponseWriter.WriteHeader(code)
	_ = http.NewResponseController(h.ResponseWriter).Flush() // sends the header, so that the length is unknown
}

// TestInterruptedManifest checks that an interrupted manifest request is retried up to
// the limit.
func TestInterruptedManifest(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]origintest.Fault{"reset": origintest.Reset(10), "short": origintest.Short(10)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, registrytest.Options{})
			x := index(t, "a")
			pushTag(t, s.open(t), x, "1.0.0", "")
			s.Misbehave(registrytest.ManifestGet, fault, 2)
			if d, _, err := s.open(t).Manifest(t.Context(), "1.0.0"); err != nil || d.Digest != x.Descriptor.Digest {
				t.Error(err)
			}
			s.Misbehave(registrytest.ManifestGet, fault, -1)
			before := s.Requests()[registrytest.ManifestGet]
			if _, _, err := s.open(t).Manifest(t.Context(), "1.0.0"); err == nil {
				t.Error("no error")
			}
			if n := s.Requests()[registrytest.ManifestGet] - before; n != httpclient.MaxTries {
				t.Errorf("%d tries", n)
			}
		})
	}
}

// TestTransientErrors checks that the HTTP client retries transient errors.
func TestTransientErrors(t *testing.T) {
	t.Parallel()
	s := newServer(t, registrytest.Options{})
	for _, kind := range []registrytest.Kind{registrytest.Tags, registrytest.ManifestGet, registrytest.ManifestHead, registrytest.ManifestPut, registrytest.BlobHead, registrytest.UploadPost} {
		s.Misbehave(kind, registrytest.Refuse(http.StatusServiceUnavailable, "UNAVAILABLE", "wait"), 2)
	}
	r, x := s.open(t), index(t, "a")
	pushBlob(t, r, blob("content"))
	pushTag(t, r, x, "1.0.0", "")
	_, tagsErr := r.Tags(t.Context())
	_, _, manifestErr := r.Manifest(t.Context(), "1.0.0")
	_, statErr := r.Stat(t.Context(), blob("content").Descriptor)
	if err := errors.Join(tagsErr, manifestErr, statErr); err != nil {
		t.Error(err)
	}
}
