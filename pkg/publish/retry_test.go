package publish_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// onlyPlan9 offers a release with a large zip for one platform.
func onlyPlan9(t *testing.T, w *world) publish.Options {
	t.Helper()
	w.zips[plan9] = bigZip(t)
	w.offer(t, w.release(plan9))
	return publish.Options{Platforms: []provider.Platform{plan9}}
}

func TestOriginFailsTwice(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, fault := range map[string]origintest.Fault{"reset": origintest.Reset(1 << 20), "short": origintest.Short(1 << 20)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				o := onlyPlan9(t, w)
				var mu sync.Mutex
				var retries []error
				w.progress.Retry = func(_ string, err error) {
					mu.Lock()
					defer mu.Unlock()
					retries = append(retries, err)
				}
				held, requested := 0, 0
				w.acquire = func(context.Context, int64) (func(), error) {
					if held++; held > 1 {
						t.Error("the last attempt kept its slot while it requested all")
					}
					requested++
					return func() { held-- }, nil
				}
				w.origin.Misbehave(origintest.Zip, fault, 2)
				w.publish(t, to, publish.Created, o)
				if requested != 2 || held != 0 {
					t.Errorf("got requests for %d slots, %d still held; want 2, 0", requested, held)
				}
				if n := w.origin.Requests()[origintest.Zip]; n != 3 {
					t.Errorf("%d fetches", n)
				}
				if len(retries) != 2 || slices.Contains(retries, nil) {
					t.Errorf("unexpected retries: %v", retries)
				}
				w.wantStored(t, to, plan9)
			})
		})
	}
}

func TestOriginAlwaysFails(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, fault := range map[string]origintest.Fault{"reset": origintest.Reset(1 << 20), "short": origintest.Short(1 << 20), "reset at once": origintest.Reset(0)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
				o := onlyPlan9(t, w)
				w.origin.Misbehave(origintest.Zip, fault, -1)
				_, err := w.run(t, to, o)
				if err == nil || to.digest(t) != "" || to.has(t, w.zipDigest(plan9)) {
					t.Errorf("tag %q, %v", to.digest(t), err)
				}
				// net/http retries requests that fail on a reused connection, and the
				// server counts these requests.
				most := httpclient.MaxTries
				if name == "reset at once" {
					most++
				}
				if n := w.origin.Requests()[origintest.Zip]; n < httpclient.MaxTries || n > most {
					t.Errorf("%d fetches", n)
				}
				w.origin.Behave()
				w.publish(t, to, publish.Created, o)
			})
		})
	}
}

func TestWrongBytes(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, stated := range map[string]bool{"stated size": false, "size by length": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachTarget(t, origintest.Options{NoPackages: stated}, func(t *testing.T, w *world, to *target) {
				o := onlyPlan9(t, w)
				w.origin.Misbehave(origintest.Zip, origintest.FlipBit(100), -1)
				_, err := w.run(t, to, o)
				mismatch, ok := errors.AsType[*sums.MismatchError](err)
				if !ok || mismatch.Name != w.filename(plan9) || mismatch.Want != w.zipDigest(plan9).String() {
					t.Error(err)
				}
				if n := w.origin.Requests()[origintest.Zip]; n != 1 {
					t.Errorf("got %d fetches after a permanent error", n)
				}
				if to.digest(t) != "" || to.has(t, w.zipDigest(plan9)) {
					t.Error("unexpected content was stored")
				}
			})
		})
	}
}

// TestRegistryFails checks that transient upload errors are retried.
func TestRegistryFails(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, fault := range map[string]origintest.Fault{
		"429":         registrytest.Refuse(http.StatusTooManyRequests, "TOOMANYREQUESTS", "slow down"),
		"503":         registrytest.Refuse(http.StatusServiceUnavailable, "", ""),
		"429 at once": origintest.Status(http.StatusTooManyRequests, "Retry-After", "0"),
		"reset":       origintest.Reset(0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.registry(t, registrytest.Options{})
			o := onlyPlan9(t, w)
			to.registry.Misbehave(registrytest.UploadPut, fault, 2)
			w.publish(t, to, publish.Created, o)
			if n := w.origin.Requests()[origintest.Zip]; n != 3 {
				t.Errorf("%d fetches", n)
			}
			w.wantStored(t, to, plan9)
		})
	}
}

func TestRegistryAlwaysFails(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]registrytest.Kind{"POST": registrytest.UploadPost, "PUT": registrytest.UploadPut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.registry(t, registrytest.Options{})
			o := onlyPlan9(t, w)
			to.registry.Misbehave(kind, registrytest.Refuse(http.StatusServiceUnavailable, "UNAVAILABLE", "maintenance"), -1)
			_, err := w.run(t, to, o)
			if err == nil || to.digest(t) != "" {
				t.Errorf("tag %q, %v", to.digest(t), err)
			}
			if n := to.registry.Requests()[kind]; n != httpclient.MaxTries {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestTokenExpires checks that a new token is requested if the token expires during an
// upload.
func TestTokenExpires(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, kind := range map[string]registrytest.Kind{
		"upload PUT": registrytest.UploadPut, "upload POST": registrytest.UploadPost,
		"manifest PUT": registrytest.ManifestPut, "blob HEAD": registrytest.BlobHead,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.registry(t, registrytest.Options{Username: "user", Password: "password", Bearer: true})
			to.options.Credential = login("user", "password")
			o := onlyPlan9(t, w)
			to.registry.Misbehave(kind, to.registry.ExpireTokens(), 1)
			w.publish(t, to, publish.Created, o)
			w.wantStored(t, to, plan9)
		})
	}
}

// TestTokenExpiresForSmallBlobs checks a token that expires between the POST and PUT
// requests of a blob.
func TestTokenExpiresForSmallBlobs(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{Username: "user", Password: "password", Bearer: true})
	to.options.Credential = login("user", "password")
	o := onlyPlan9(t, w)
	honest := func(w http.ResponseWriter, r *http.Request, honest http.HandlerFunc) { honest(w, r) }
	to.registry.Misbehave(registrytest.UploadPut, honest, 1)
	to.registry.Misbehave(registrytest.UploadPut, to.registry.ExpireTokens(), 1)
	w.publish(t, to, publish.Created, o)
}

// TestRejectedUpload checks that a rejected upload is retried only once, in case the
// token has expired.
func TestRejectedUpload(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for name, status := range map[string]int{"401": http.StatusUnauthorized, "403": http.StatusForbidden} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, fault := range map[string]origintest.Fault{
				"answered at the end": registrytest.Refuse(status, "DENIED", "requested access to the resource is denied"),
				"answered at once":    origintest.Status(status),
			} {
				w := newWorld(t, origintest.Options{})
				to := w.registry(t, registrytest.Options{})
				o := onlyPlan9(t, w)
				to.registry.Misbehave(registrytest.UploadPut, fault, -1)
				_, err := w.run(t, to, o)
				if to.digest(t) != "" || err == nil {
					t.Errorf("%s: tagged, %v", name, err)
				}
				if n := to.registry.Requests()[registrytest.UploadPut]; n > 3 {
					t.Errorf("%s: %d uploads", name, n)
				}
				if name == "answered at the end" {
					if n := w.origin.Requests()[origintest.Zip]; n != 2 || !errors.Is(err, provider.ErrForbidden) {
						t.Errorf("%s: %d fetches, %v", name, n, err)
					}
				}
			}
		})
	}
}

// TestRegistryDeniesAccess checks that a rejection is detected before any zip is
// fetched.
func TestRegistryDeniesAccess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		o     registrytest.Options
		login bool
		is    error
		text  string
	}{
		"basic, no login":     {registrytest.Options{Username: "user", Password: "password"}, false, provider.ErrForbidden, "credentials"},
		"basic, wrong login":  {registrytest.Options{Username: "user", Password: "other"}, true, provider.ErrForbidden, "401 Unauthorized, UNAUTHORIZED: authentication required"},
		"bearer, no login":    {registrytest.Options{Username: "user", Password: "password", Bearer: true}, false, provider.ErrForbidden, "401 Unauthorized, UNAUTHORIZED: wrong user name or password"},
		"bearer, wrong login": {registrytest.Options{Username: "user", Password: "other", Bearer: true}, true, provider.ErrForbidden, "wrong user name or password"},
		"no repository":       {registrytest.Options{NoCreate: true}, false, repository.ErrNoRepository, "404 Not Found, NAME_UNKNOWN: The repository with name 'acme' does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			to := w.registry(t, test.o)
			if test.login {
				to.options.Credential = login("user", "mistaken")
			}
			_, err := w.run(t, to, publish.Options{})
			if !errors.Is(err, test.is) {
				t.Error(err)
			}
			wantText(t, err, test.text, to.host+"/"+repositoryName)
			if n := w.origin.Requests()[origintest.Zip]; errors.Is(test.is, provider.ErrForbidden) && n != 0 {
				t.Errorf("got %d unnecessary fetches of zips", n)
			}
		})
	}
}

func TestRegistryDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{})
	to.registry.Misbehave(registrytest.Tags, origintest.Reset(0), -1)
	_, err := w.run(t, to, publish.Options{})
	if _, ok := errors.AsType[*provider.TransientError](err); !ok {
		t.Error(err)
	}
	wantText(t, err, "publishing registry.example.org/acme/thing 1.2.3: ", "after 3 tries", to.host)
	if n := w.origin.Requests(); len(n) != 0 {
		t.Errorf("unexpected requests to the origin: %v", n)
	}
}

func TestImmutableTags(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{ImmutableTags: true})
	first := w.publish(t, to, publish.Created, publish.Options{Platforms: without(haiku)})
	// Runs that write no tag succeed.
	w.publish(t, to, publish.Unchanged, publish.Options{Platforms: without(haiku)})
	to.lose(t, w.zipDigest(plan9))
	w.publish(t, to, publish.Repaired, publish.Options{Platforms: without(haiku)})
	before := to.registry.Requests()[registrytest.ManifestPut]
	_, err := w.run(t, to, publish.Options{})
	response, ok := errors.AsType[*repository.ResponseError](err)
	if !ok || response.Code != "ImageTagAlreadyExistsException" || to.digest(t) != first.Digest {
		t.Error(err)
	}
	// The new manifest and the tag are pushed once, and not again with common media types.
	if n := to.registry.Requests()[registrytest.ManifestPut] - before; n != 2 {
		t.Errorf("%d manifests were sent", n)
	}
	wantText(t, err, "tagging "+to.host+"/"+repositoryName+":1.2.3", "400 Bad Request", "because the tag is immutable")
}
