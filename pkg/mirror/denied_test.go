package mirror_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// deny denies mirrored versions.
func (w *world) deny(t *testing.T, versions ...string) {
	t.Helper()
	repo, _, err := w.target(w.address)
	for _, v := range versions {
		if err == nil {
			_, err = approval.Deny(t.Context(), repo, w.address, nouns.Version(t, v), approval.DenyOptions{Reason: "it phones home"})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRunDenied checks that a denied version is skipped and reported, even with Force,
// and that the next older version is mirrored instead. It also checks that a pinned
// version fails if it is denied.
func TestRunDenied(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	w := newWorld(t, registrytest.Options{}, 5, 1000)
	w.run(t, w.source(), mirror.Options{})
	w.deny(t, "1.4.0", "1.2.0", "1.0.0")
	forced := func(a provider.Address) (repository.Repository, publish.Options, error) {
		repo, o, err := w.target(a)
		o.Force = true
		return repo, o, err
	}
	for name, test := range map[string]struct {
		wanted []string
		newest int
		target func(provider.Address) (repository.Repository, publish.Options, error)
		want   []string
	}{
		"all":                  {[]string{""}, 0, w.target, []string{"1.4.0 denied", "1.3.0 unchanged", "1.2.0 denied", "1.1.0 unchanged", "1.0.0 denied"}},
		"all by force":         {[]string{""}, 0, forced, []string{"1.4.0 denied", "1.3.0 unchanged", "1.2.0 denied", "1.1.0 unchanged", "1.0.0 denied"}},
		"the newest":           {[]string{""}, 1, w.target, []string{"1.4.0 denied", "1.3.0 unchanged"}},
		"the newest two":       {[]string{""}, 2, w.target, []string{"1.4.0 denied", "1.3.0 unchanged", "1.2.0 denied", "1.1.0 unchanged"}},
		"a range":              {[]string{"@< 1.1.0"}, 1, w.target, []string{"1.0.0 denied"}},
		"by its name":          {[]string{"@1.4.0"}, 1, w.target, []string{"1.4.0 failed"}},
		"by its name, and not": {[]string{"", "@1.4.0"}, 1, w.target, []string{"1.4.0 failed", "1.3.0 unchanged"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wanted []provider.Requirement
			for _, constraint := range test.wanted {
				wanted = append(wanted, w.requirement(t, "acme/rocket"+constraint))
			}
			var got []string
			o := mirror.Options{Latest: test.newest, Target: test.target, OnResult: func(r mirror.Result) {
				status := string(r.Published.Status)
				if r.Err != nil {
					status = "failed"
				}
				if denied := r.Published.Denial != nil && r.Published.Denial.Reason == "it phones home"; denied != (status == "denied") {
					t.Errorf("%+v", r.Published)
				}
				got = append(got, r.Item.Version.String()+" "+status)
			}}
			if err := mirror.Run(t.Context(), w.source(), wanted, o); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// TestCopyDenied checks that versions that the source denies are skipped or, if the target
// has them, denied there, too. The tags of each repository are listed only once unless a
// version is denied.
func TestCopyDenied(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	from := newWorld(t, registrytest.Options{}, 4, 1000)
	from.run(t, from.source(), mirror.Options{})
	to := newWorld(t, registrytest.Options{}, 0, 1000)
	to.address = from.address
	open := func(a provider.Address) (repository.Reader, error) {
		repo, _, err := from.target(a)
		return repo, err
	}
	copyAll := func(denied string, want ...string) {
		t.Helper()
		var got []string
		before, beforeTo := from.registry.Requests()[registrytest.Tags], to.registry.Requests()[registrytest.Tags]
		err := mirror.Copy(t.Context(), open, []provider.Requirement{{Address: from.address}}, mirror.Options{Target: to.target, OnResult: func(r mirror.Result) {
			got = append(got, r.Item.Version.String()+" "+string(r.Published.Status))
			if r.Err != nil {
				t.Error(r.Err)
			}
			if r.Published.Status == publish.Denied && !strings.HasPrefix(r.Repository, denied) {
				t.Errorf("denied by %s", r.Repository)
			}
		}})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v", got, err)
		}
		lists, listsTo := from.registry.Requests()[registrytest.Tags]-before, to.registry.Requests()[registrytest.Tags]-beforeTo
		if lists != 1 || listsTo != 1 && denied != to.atRegistry.host {
			t.Errorf("the source was listed %d times, the target %d times", lists, listsTo)
		}
	}
	copyAll("", "1.3.0 created", "1.2.0 created", "1.1.0 created", "1.0.0 created")
	from.deny(t, "1.3.0")
	copyAll(to.atRegistry.host, "1.3.0 denied", "1.2.0 unchanged", "1.1.0 unchanged", "1.0.0 unchanged")
	repo, _, err := to.target(from.address)
	if err != nil {
		t.Fatal(err)
	}
	tags, err := repo.Tags(t.Context())
	if err != nil || slices.Contains(tags, "1.3.0") || !slices.Contains(tags, "denied-1.3.0") {
		t.Errorf("tags %v, %v", tags, err)
	}
	copyAll(from.atRegistry.host, "1.3.0 denied", "1.2.0 unchanged", "1.1.0 unchanged", "1.0.0 unchanged")
}
