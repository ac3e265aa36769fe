package serve_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/serve"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestDenied checks that a denied version can't be installed when the tags are listed
// again, and that the other versions remain.
func TestDenied(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*world{"layout": newLayout(t), "registry": newRegistry(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.push(t, rocket{version: "1.0.0"})
			w.push(t, rocket{version: "1.1.0"})
			routes := []string{mirrored + "1.1.0.json", strings.ReplaceAll(archive, "1.0.0", "1.1.0"), apiRocket + "/1.1.0", rocketPage + "/1.1.0"}
			for _, route := range routes {
				if got := w.get(t, route); got.Code != http.StatusOK {
					t.Fatalf("%s: got %d", route, got.Code)
				}
			}
			w.tag(t, "1.1.0", "denied-1.1.0")
			w.clock.Forward(serve.DefaultMaxAge)
			for _, route := range routes[:2] {
				if got := w.get(t, route); got.Code != http.StatusNotFound || !strings.Contains(got.Body.String(), "acme/rocket 1.1.0 is denied") {
					t.Errorf("%s: got %d %s", route, got.Code, got.Body)
				}
			}
			if got := w.get(t, mirrored+"index.json").Body.String(); strings.Contains(got, "1.1.0") || !strings.Contains(got, "1.0.0") {
				t.Errorf("the versions are %s", got)
			}
		})
	}
}

// TestUnreleased checks that the API and the pages show pending and denied versions with
// their decisions, without links to archives, and only to callers with access.
func TestUnreleased(t *testing.T) {
	t.Parallel()
	for name, over := range makers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := over(t)
			w.push(t, rocket{version: "1.0.0"})
			w.push(t, rocket{version: "1.1.0"})
			w.push(t, rocket{version: "1.2.0"})
			rocket := nouns.Address(t, "acme/rocket")
			_, err := approval.Promote(t.Context(), w.repo, rocket, nouns.Version(t, "1.1.0"), approval.PromoteOptions{Reason: "used <for> years", By: "jane"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := approval.Deny(t.Context(), w.repo, rocket, nouns.Version(t, "1.1.0"), approval.DenyOptions{Reason: "phones home"}); err != nil {
				t.Fatal(err)
			}
			w.tag(t, "1.2.0", "pending-1.3.0")
			i, err := repository.Inspect(t.Context(), w.repo, "pending-1.3.0", repository.DepthIndex)
			if err != nil {
				t.Fatal(err)
			}
			held := repository.NewDecision(w.repo, artifact.DecisionGate, artifact.VerdictHold, rocket, nouns.Version(t, "1.3.0"))
			held.Gate, held.Reason = "scan@0123456789ab", "no owner"
			if err := repository.Record(t.Context(), w.repo, held, i.Descriptor, nil); err != nil {
				t.Fatal(err)
			}

			listed := document[api.Provider](t, w.api(t, apiRocket))
			if len(listed.Denied) != 1 || listed.Denied[0].Version != "1.1.0" || !strings.HasSuffix(listed.Denied[0].URL, apiRocket+"/1.1.0") ||
				len(listed.Pending) != 1 || !strings.HasSuffix(listed.Pending[0].URL, apiRocket+"/1.3.0") {
				t.Errorf("%+v", listed)
			}
			denied := document[api.Version](t, w.api(t, apiRocket+"/1.1.0"))
			var reasons []string
			for _, d := range denied.Decisions {
				reasons = append(reasons, d.By+": "+d.Reason)
			}
			slices.Sort(reasons) // both decisions can have the same time
			if denied.Status != api.StatusDenied || denied.Tag != "denied-1.1.0" || len(denied.Packages) != 0 ||
				!slices.Equal(reasons, []string{": phones home", "jane: used <for> years"}) {
				t.Errorf("%+v", denied)
			}
			pending := document[api.Version](t, w.api(t, apiRocket+"/1.3.0"))
			if d := pending.Decisions; pending.Status != api.StatusPending || pending.Digest != i.Digest.String() || len(pending.Packages) != 2 || pending.Packages[0].URL != "" ||
				pending.Lock != "" || len(d) != 1 || d[0].Verdict != "hold" || d[0].Reason != "no owner" {
				t.Errorf("%+v", pending)
			}
			for path, want := range map[string][]string{
				rocketPage:            {"Denied versions", `href="` + rocketPage + `/1.1.0"`, `href="` + rocketPage + `/1.3.0"`},
				rocketPage + "/1.1.0": {">Denied<", "Clients can't install this version.", "used &lt;for&gt; years", "phones home", "Not checked: the version is denied."},
				rocketPage + "/1.3.0": {">Pending<", "no owner", "haiku_riscv64"},
			} {
				got := w.get(t, path, "Accept", "text/html").Body.String()
				for _, text := range want {
					if !strings.Contains(got, text) {
						t.Errorf("%s: missing %q in %s", path, text, got)
					}
				}
				if strings.Contains(got, "/archive/-") && path != rocketPage {
					t.Errorf("%s has a link to an archive", path)
				}
			}
			if got := w.get(t, apiRocket+"/1.4.0"); got.Code != http.StatusNotFound {
				t.Errorf("got %d", got.Code)
			}
		})
	}
	w := newLayout(t, func(o *serve.Options) { o.Rules = ruled(t, everyone) })
	w.push(t, rocket{version: "1.0.0"})
	w.tag(t, "1.0.0", "pending-1.2.0")
	w.tag(t, "1.0.0", "denied-1.1.0")
	for _, path := range []string{apiRocket + "/1.2.0", apiRocket + "/1.1.0", rocketPage + "/1.1.0"} {
		if got := w.get(t, path); got.Code != http.StatusNotFound {
			t.Errorf("%s without a token: got %d", path, got.Code)
		}
	}
	if got := document[api.Provider](t, w.api(t, apiRocket)); len(got.Denied) != 0 {
		t.Errorf("%+v", got)
	}
}
