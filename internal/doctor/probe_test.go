package doctor_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const probedName = "acme/null"

// openProbed serves a registry and opens a repository that contains a sync record and a
// copy of it under the tag 1.0.0.
func openProbed(t *testing.T, registry *registrytest.Registry, wrap func(http.Handler) http.Handler) repository.Repository {
	t.Helper()
	handler := http.Handler(registry)
	if wrap != nil {
		handler = wrap(handler)
	}
	host, client := registrytest.ServeInMemory(t, handler)
	repo, err := repository.Open(template.Reference{Registry: host, Name: probedName}, repository.Options{
		HTTP: client, PlainHTTP: []string{host}, Backoff: func(int) time.Duration { return 0 }, ConfirmDelay: time.Nanosecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

// fill writes a sync record under two tags.
func fill(t *testing.T, repo repository.Repository) {
	t.Helper()
	v, err := provider.ParseVersion("1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{artifact.SyncTag, "1.0.0"} {
		err := repository.WriteSyncRecordTo(t.Context(), repo, tag, func(r *artifact.SyncRecord) { r.Pruned[v] = time.Unix(1, 0) })
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRunProbe checks the results for registries that lack features. The results that are
// not mentioned are "works". In all registries that delete, the probe leaves nothing.
func TestRunProbe(t *testing.T) {
	t.Parallel()
	const notDeleted = "tag tofu-oci-probe"
	for name, test := range map[string]struct {
		options registrytest.Options
		faults  func(*registrytest.Registry)
		want    []string // results that differ from "works"
		codes   []string
		left    string
	}{
		"everything works": {},
		"no referrers API": {
			options: registrytest.Options{NoReferrers: http.StatusNotFound},
			want:    []string{"referrers fallback"},
		},
		"GitLab": {
			options: registrytest.Options{NoReferrers: http.StatusNotFound, TagsAreDigests: true, Types: registrytest.GitLabTypes},
			want:    []string{"referrers fails", "document fails", "decision fails"},
			codes:   []string{"warning registry-limited"},
		},
		"strict types": {
			options: registrytest.Options{Types: registrytest.StrictTypes},
			want:    []string{"provider-manifest fallback"},
		},
		"types of images only": {
			options: registrytest.Options{Types: registrytest.ImageTypes},
			want:    []string{"provider-manifest fallback", "document fallback", "decision fallback", "denial fallback", "sync-record fallback"},
		},
		"no artifact types": {
			options: registrytest.Options{Types: &registrytest.Types{Artifacts: []string{}}},
			want: []string{
				"provider-manifest fails", "tag-list unknown", "referrers unknown", "document unknown", "decision unknown", "denial unknown",
				"sync-record fails", "move-tag unknown", "delete-tag unknown", "manifest-head unknown", "delete-manifest unknown",
			},
			codes: []string{"error registry-limited", "warning registry-limited"},
		},
		"immutable tags": {
			options: registrytest.Options{ImmutableTags: true},
			want:    []string{"move-tag fails"},
			codes:   []string{"warning registry-limited"},
		},
		"immutable tags without the referrers API": {
			options: registrytest.Options{ImmutableTags: true, NoReferrers: http.StatusNotFound},
			want:    []string{"referrers fallback", "decision fails", "move-tag fails"},
			codes:   []string{"warning registry-limited", "warning registry-limited"},
		},
		"no deletions": {
			options: registrytest.Options{NoDelete: http.StatusMethodNotAllowed},
			want:    []string{"delete-tag fails", "delete-manifest fails"},
			codes:   []string{"warning registry-limited", "warning registry-limited", "warning probe-left"},
			left:    notDeleted,
		},
		"deletes all tags": {
			options: registrytest.Options{DeletesManifests: true},
			want:    []string{"delete-tag fallback"},
		},
		"keeps tags": {options: registrytest.Options{KeepsTags: true}},
		"tags first": {options: registrytest.Options{TagsFirst: true}},
		"no creation": {
			options: registrytest.Options{NoCreate: true},
			want:    allUnknownExcept("upload fails"),
			codes:   []string{"error push-failed"},
		},
		"no push access": {
			faults: func(r *registrytest.Registry) {
				r.Misbehave(registrytest.UploadPost, registrytest.Refuse(http.StatusForbidden, "DENIED", "requested access to the resource is denied"), -1)
			},
			want:  allUnknownExcept("upload fails"),
			codes: []string{"error push-denied"},
		},
		"uploads fail for now": {
			faults: func(r *registrytest.Registry) {
				r.Misbehave(registrytest.UploadPost, origintest.Status(http.StatusServiceUnavailable), -1)
			},
			want:  allUnknownExcept("upload unknown"),
			codes: []string{"error push-failed"},
		},
		"uploads elsewhere": {
			faults: func(r *registrytest.Registry) {
				r.Misbehave(registrytest.UploadPost, registrytest.Elsewhere("storage.example.com"), -1)
			},
			want:  allUnknownExcept("upload fails"),
			codes: []string{"error push-failed"},
		},
		"HEAD is refused": {
			faults: func(r *registrytest.Registry) { r.MisbehaveHead("refused") },
			want:   []string{"blob-head fallback", "manifest-head fails"},
			codes:  []string{"error registry-limited"},
		},
		"HEAD has no length": {
			faults: func(r *registrytest.Registry) { r.MisbehaveHead("no length") },
			want:   []string{"blob-head fallback", "manifest-head fails"},
			codes:  []string{"error registry-limited"},
		},
		"no digests": {
			faults: func(r *registrytest.Registry) { r.MisbehaveHead("no digest") },
			want:   []string{"manifest-head fails"},
			codes:  []string{"error registry-limited"},
		},
		"blobs can't be pulled": {
			faults: func(r *registrytest.Registry) {
				for _, kind := range []registrytest.Kind{registrytest.BlobHead, registrytest.BlobGet} {
					r.Misbehave(kind, registrytest.Refuse(http.StatusForbidden, "DENIED", "denied"), -1)
				}
			},
			want:  []string{"blob-head fails", "blob-range fails"},
			codes: []string{"error registry-limited", "error registry-limited"},
		},
		"no ranges": {
			faults: func(r *registrytest.Registry) {
				r.Misbehave(registrytest.BlobGet, func(w http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
					req.Header.Del("Range")
					honest(w, req)
				}, -1)
			},
			want: []string{"blob-range fallback"},
		},
		"new tags are not listed": {
			faults: func(r *registrytest.Registry) {
				r.Misbehave(registrytest.Tags, registrytest.EditTags(func(tags []string) []string {
					return slices.DeleteFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, "tofu-oci-probe") })
				}), -1)
			},
			want:  []string{"tag-list fails"},
			codes: []string{"error registry-limited"},
		},
		"tags can't be listed for now": {
			faults: func(r *registrytest.Registry) {
				r.Misbehave(registrytest.Tags, origintest.Status(http.StatusServiceUnavailable), -1)
			},
			want:  []string{"tag-list unknown"},
			codes: []string{"warning probe-incomplete"},
		},
		"referrers are lost": {
			faults: func(r *registrytest.Registry) {
				r.Misbehave(registrytest.Referrers, origintest.Document("application/vnd.oci.image.index.v1+json", `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`), -1)
			},
			want:  []string{"referrers fails", "document fails"},
			codes: []string{"warning registry-limited", "warning registry-limited"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registry := registrytest.New(test.options)
			repo := openProbed(t, registry, nil)
			if !test.options.NoCreate && (test.options.Types == nil || test.options.Types.Artifacts == nil || len(test.options.Types.Artifacts) > 0) {
				fill(t, repo)
			}
			before := registry.Tags(t, probedName)
			if test.faults != nil {
				test.faults(registry)
			}
			p, err := doctor.RunProbe(t.Context(), repo)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range p.Checks {
				if c.Result != doctor.CheckWorks {
					got = append(got, c.Name+" "+string(c.Result))
				}
				if (c.Result != doctor.CheckWorks) != (c.Details != "") || (c.Result == doctor.CheckFails) != (len(c.Affects) > 0) {
					t.Errorf("unexpected details or commands: %+v", c)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("results, -want +got:\n%s%+v", diff, p.Checks)
			}
			if diff := cmp.Diff(test.codes, codes(p.Findings())); diff != "" && len(test.codes)+len(p.Findings()) > 0 {
				t.Errorf("findings, -want +got:\n%s", diff)
			}
			if left := strings.Join(p.Left, "\n"); strings.Contains(left, test.left) == (left == "") && test.left != "" || test.left == "" && left != "" {
				t.Errorf("left: %s", left)
			}
			if test.left == "" {
				if diff := cmp.Diff(before, registry.Tags(t, probedName)); diff != "" {
					t.Errorf("tags, -before +after:\n%s", diff)
				}
			}
		})
	}
}

// allUnknownExcept returns the results of a probe that could upload nothing.
func allUnknownExcept(first string) []string {
	all := []string{first}
	for _, name := range []string{"provider-manifest", "tag-list", "referrers", "document", "decision", "denial", "sync-record", "move-tag", "delete-tag", "blob-head", "blob-range", "manifest-head", "delete-manifest"} {
		all = append(all, name+" unknown")
	}
	return all
}

// watched records the manifests that a registry stored, and applies a fault to its nth
// request and, if after is set, to all later requests.
type watched struct {
	mu       sync.Mutex
	n, at    int
	after    bool
	fault    origintest.Fault
	manifest []string
}

func (w *watched) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		w.mu.Lock()
		w.n++
		applies := w.at > 0 && (w.n == w.at || w.after && w.n > w.at)
		w.mu.Unlock()
		honest := func(rw http.ResponseWriter, req *http.Request) {
			recorded := httptest.NewRecorder()
			next.ServeHTTP(recorded, req)
			if digest := recorded.Header().Get("Docker-Content-Digest"); req.Method == http.MethodPut && strings.Contains(req.URL.Path, "/manifests/") && recorded.Code == http.StatusCreated {
				w.mu.Lock()
				w.manifest = append(w.manifest, digest)
				w.mu.Unlock()
			}
			maps.Copy(rw.Header(), recorded.Header())
			rw.WriteHeader(recorded.Code)
			_, _ = rw.Write(recorded.Body.Bytes())
		}
		if applies {
			w.fault(rw, req, honest)
			return
		}
		honest(rw, req)
	})
}

// TestProbeNamesLeftovers interrupts a probe at each of its requests. The probe must list
// everything that it can't delete.
func TestProbeNamesLeftovers(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]registrytest.Options{"with referrers": {}, "without referrers": {NoReferrers: http.StatusNotFound}} {
		requests := 0
		synctest.Test(t, func(t *testing.T) { requests = leftover(t, options, 0, "", false) })
		if requests < 30 {
			t.Fatalf("%d requests", requests)
		}
		for at := 1; at <= requests; at++ {
			for _, fault := range []string{"lost response", "refused", "down", "canceled"} {
				t.Run(fmt.Sprint(name, " ", fault, " ", at), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { leftover(t, options, at, fault, fault == "down") })
				})
			}
		}
	}
}

// leftover runs a probe with a fault in a bubble, and checks the remaining tags. It returns
// the number of requests.
func leftover(t *testing.T, options registrytest.Options, at int, fault string, after bool) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := &watched{after: after, fault: map[string]origintest.Fault{
		"lost response": registrytest.Unanswered(),
		"refused":       registrytest.Refuse(http.StatusForbidden, "DENIED", "denied"),
		"down":          origintest.Reset(0),
		"canceled": func(rw http.ResponseWriter, req *http.Request, honest http.HandlerFunc) {
			cancel()
			honest(rw, req)
		},
	}[fault]}
	registry := registrytest.New(options)
	repo := openProbed(t, registry, w.wrap)
	fill(t, repo)
	before := registry.Tags(t, probedName)
	w.mu.Lock()
	w.manifest = nil
	if at > 0 {
		w.at = w.n + at
	}
	start := w.n
	w.mu.Unlock()
	p, err := doctor.RunProbe(ctx, repo)
	synctest.Wait() // the registry might still be executing a request whose response was lost
	if (err != nil) != (ctx.Err() != nil) {
		t.Errorf("error %v, context %v", err, ctx.Err())
	}
	if len(p.Checks) != 14 {
		t.Errorf("%d checks", len(p.Checks))
	}
	for _, tag := range registry.Tags(t, probedName) {
		if !slices.Contains(before, tag) && !slices.Contains(p.Left, "tag "+tag) {
			t.Errorf("the tag %s is left, but not named: %v", tag, p.Left)
		}
	}
	for _, digest := range w.manifest {
		if registry.Manifest(t, probedName, digest) != nil && !slices.Contains(p.Left, "manifest "+digest) {
			t.Errorf("the manifest %s is left, but not named: %v", digest, p.Left)
		}
	}
	f, isLeft := p.Leftover()
	for _, what := range p.Left {
		if !isLeft || !strings.Contains(f.Message, what) {
			t.Errorf("the finding does not name %s: %s", what, f.Message)
		}
	}
	if fault == "canceled" && len(p.Left) > 0 {
		t.Errorf("left: %v", p.Left)
	}
	for _, tag := range before {
		if !slices.Contains(registry.Tags(t, probedName), tag) {
			t.Errorf("the tag %s was deleted", tag)
		}
	}
	return w.n - start
}
