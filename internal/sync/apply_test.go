package sync_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

const day = 24 * time.Hour

// mirrored is an origin registry, an OCI registry, and a declaration.
type mirrored struct {
	client         *http.Client
	origin         *origintest.Origin
	registry       *registrytest.Registry
	host, fromHost string
	now            time.Time
	declaration    *sync.Declaration
	wanted         []sync.Wanted
	problems       []error
	check          repository.Depth
	source         provider.Source
	temp           string
	read           *module.Dependencies
	// wrap, if not nil, wraps the repositories.
	wrap func(repository.Repository) repository.Repository
}

func newMirrored(t *testing.T, targets ...sync.Target) *mirrored {
	t.Helper()
	m := &mirrored{
		client: registrytest.Client(t, ca), origin: origintest.New(origintest.Options{}), registry: registrytest.New(registrytest.Options{}),
		now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), check: repository.DepthIndex, temp: t.TempDir(),
	}
	m.fromHost, m.host = registrytest.Serve(t, ca, m.origin), registrytest.Serve(t, ca, m.registry)
	m.declaration = &sync.Declaration{Path: "mirror.hcl", Digest: "sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}
	for _, target := range targets {
		var err error
		if target.Template, err = template.Parse(m.host + "/" + target.Name + "/{type}"); err != nil {
			t.Fatal(err)
		}
		m.declaration.Targets = append(m.declaration.Targets, target)
	}
	return m
}

var (
	platforms = []provider.Platform{{OS: "haiku", Arch: "riscv64"}, {OS: "plan9", Arch: "mips64"}}
	main      = sync.Target{Name: "main"}
)

// publish adds versions of a provider to the origin registry.
func (m *mirrored) publish(t *testing.T, typ string, versions ...string) {
	t.Helper()
	for _, v := range versions {
		r := origintest.Release{Namespace: "acme", Type: typ, Version: v, Modified: m.now.Add(-100 * day), Archives: map[provider.Platform]origintest.Archive{}}
		for _, p := range platforms {
			var out bytes.Buffer
			w := zip.NewWriter(&out)
			entry, err := w.Create("terraform-provider-" + typ)
			if err == nil {
				_, err = fmt.Fprint(entry, typ, v, p)
			}
			if err = errors.Join(err, w.Close()); err != nil {
				t.Fatal(err)
			}
			r.Archives[p] = origintest.Archive{Bytes: out.Bytes()}
		}
		if err := m.origin.Add(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

// want declares a provider. If the settings contain no targets, it is declared for all
// targets.
func (m *mirrored) want(t *testing.T, typ string, s sync.Settings, constraints ...string) {
	t.Helper()
	if s.Targets == nil {
		for _, target := range m.declaration.Targets {
			s.Targets = append(s.Targets, target.Name)
		}
	}
	w := sync.Wanted{Address: nouns.Address(t, m.fromHost+"/acme/"+typ), Settings: s}
	for _, text := range append(constraints, "")[:max(len(constraints), 1)] {
		r, err := provider.ParseRequirement(w.Address.String() + "@" + cmp.Or(text, "latest"))
		if err != nil {
			t.Fatal(err)
		}
		w.Requirements = append(w.Requirements, sync.Requirement{Requirement: r, From: "mirror.hcl:1"})
	}
	m.wanted = slices.DeleteFunc(m.wanted, func(o sync.Wanted) bool { return o.Address == w.Address })
	m.wanted = append(m.wanted, w)
}

func (m *mirrored) open(ref template.Reference) (repository.Repository, error) {
	repo, err := repository.Open(ref, repository.Options{
		HTTP: m.client, ConfirmDelay: time.Millisecond, Backoff: func(int) time.Duration { return 0 },
		Credential: func(context.Context, string) (repository.Credential, error) {
			return repository.Credential{Username: "user", Password: "password"}, nil
		},
	})
	if err == nil && m.wrap != nil {
		repo = m.wrap(repo)
	}
	return repo, err
}

func (m *mirrored) repository(t *testing.T, name string) repository.Repository {
	t.Helper()
	repo, err := m.open(template.Reference{Registry: m.host, Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func (m *mirrored) options() sync.Options {
	src := m.source
	if src == nil {
		src = origin.New(origin.Options{HTTP: m.client})
	}
	modules := origin.NewModules(origin.Options{HTTP: m.client})
	return sync.Options{
		Modules: modules, PublishModule: module.MirrorOptions{Dependencies: m.read}.PublishFunc(modules),
		Declaration: m.declaration, Wanted: m.wanted, Problems: m.problems, Check: m.check, Now: func() time.Time { return m.now },
		Source: src, Open: m.open, Publisher: &publish.Publisher{}, TempDir: m.temp,
	}
}

func (m *mirrored) plan(t *testing.T) (*sync.Plan, sync.Options) {
	t.Helper()
	o := m.options()
	p, err := sync.NewPlan(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p, o
}

// apply plans and applies. It returns a line for each result, and the results.
func (m *mirrored) apply(t *testing.T) (string, []sync.Result) {
	t.Helper()
	p, o := m.plan(t)
	return applied(t, p, o)
}

func applied(t *testing.T, p *sync.Plan, o sync.Options) (string, []sync.Result) {
	t.Helper()
	var lines []string
	var results []sync.Result
	started := atomic.Int32{}
	o.OnStart = func(sync.Action) { started.Add(1) }
	o.OnResult = func(r sync.Result) {
		line := fmt.Sprintf("%s %s %s", r.Action.Kind, r.Action.Target, r.Action.Tag)
		if r.Err != nil {
			line += " failed"
		}
		lines, results = append(lines, line), append(results, r)
	}
	if err := p.Apply(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	changes := 0
	for _, a := range p.Actions {
		if a.Kind.Changes() {
			changes++
		}
	}
	if int(started.Load()) != changes || len(results) != len(p.Actions) {
		t.Errorf("%d actions started and %d ended, want %d and %d", started.Load(), len(results), changes, len(p.Actions))
	}
	return strings.Join(lines, ", "), results
}

// expect plans, applies, and checks the results. It also checks that no other actions
// are necessary.
func (m *mirrored) expect(t *testing.T, want string) []sync.Result {
	t.Helper()
	got, results := m.apply(t)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, r := range results {
		if r.Err != nil {
			t.Errorf("%s %s: %v", r.Action.Kind, r.Action.Tag, r.Err)
		}
	}
	if again, _ := m.plan(t); again.HasChanges() {
		t.Errorf("another plan has changes: %+v", again.Actions)
	}
	if left, err := os.ReadDir(m.temp); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v, %v", left, err)
	}
	return results
}

func (m *mirrored) tags(t *testing.T, repository string) string {
	t.Helper()
	tags := m.registry.Tags(t, repository)
	slices.Sort(tags)
	return strings.Join(tags, " ")
}

func total[K comparable](counts map[K]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// TestApplyTargets checks that several targets share a download, and that copies have the same
// digests.
func TestApplyTargets(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main, sync.Target{Name: "other"}, sync.Target{Name: "dr", From: "main"})
	m.publish(t, "rocket", "1.0.0", "1.1.0")
	m.want(t, "rocket", sync.Settings{})
	results := m.expect(t, "mirror main 1.1.0, mirror other 1.1.0, copy dr 1.1.0, mirror main 1.0.0, mirror other 1.0.0, copy dr 1.0.0")
	if n := m.origin.Requests()[origintest.Zip]; n != 4 {
		t.Errorf("%d zips were downloaded, want 4", n)
	}
	for _, v := range []string{"1.0.0", "1.1.0"} {
		want := m.registry.Manifest(t, "main/rocket", v)
		if !bytes.Equal(m.registry.Manifest(t, "other/rocket", v), want) || !bytes.Equal(m.registry.Manifest(t, "dr/rocket", v), want) {
			t.Errorf("the digests of %s differ", v)
		}
	}
	for _, r := range results {
		if r.Bytes <= 0 && r.Action.Kind == sync.Mirror || r.Published.Status != publish.Created {
			t.Errorf("%s %s: %d bytes, %s", r.Action.Target, r.Action.Tag, r.Bytes, r.Published.Status)
		}
	}
}

// TestPlanRequests checks that a plan without changes requests one list of tags per
// repository, and one list of versions per provider. The check level index adds one
// request per release.
func TestPlanRequests(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	for _, typ := range []string{"rocket", "anvil", "magnet"} {
		m.publish(t, typ, "1.0.0", "1.1.0", "1.2.0", "2.0.0")
		m.want(t, typ, sync.Settings{MinAge: day})
	}
	m.apply(t)
	for check, want := range map[repository.Depth]int{repository.DepthTags: 3, repository.DepthIndex: 3 + 12} {
		m.check = check
		origins, registries := total(m.origin.Requests()), total(m.registry.Requests())
		p, _ := m.plan(t)
		if p.Summary.Unchanged != 12 || p.Summary.Providers != 3 || len(p.Actions) != 0 {
			t.Errorf("%s: %+v %+v", check, p.Summary, p.Actions)
		}
		if n := total(m.origin.Requests()) - origins; n != 1+3 {
			t.Errorf("%s: %d requests to the origin, want 4", check, n)
		}
		// The registry requests credentials once per repository.
		if n := total(m.registry.Requests()) - registries; n < want || n > want+6 {
			t.Errorf("%s: %d requests to the registry, want %d", check, n, want)
		}
	}
}

// TestApplyRequests checks that a first run sends about as many requests as package
// mirror sends for the same releases. Concurrent releases can request a shared blob
// twice.
func TestApplyRequests(t *testing.T) {
	t.Parallel()
	count := func(run func(*mirrored)) (origins, registries int) {
		m := newMirrored(t, main)
		for i := range 20 {
			typ := fmt.Sprintf("rocket%d", i)
			m.publish(t, typ, "1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0")
			m.want(t, typ, sync.Settings{Latest: 5})
		}
		run(m)
		if n := len(strings.Fields(m.tags(t, "main/rocket7"))); n != 5 {
			t.Errorf("%d tags, want 5", n)
		}
		return total(m.origin.Requests()), total(m.registry.Requests())
	}
	origins, registries := count(func(m *mirrored) { m.apply(t) })
	mirrorOrigins, mirrorRegistries := count(func(m *mirrored) {
		var requirements []provider.Requirement
		for _, w := range m.wanted {
			requirements = append(requirements, w.Requirements[0].Requirement)
		}
		o := m.options()
		err := mirror.Run(t.Context(), o.Source, requirements, mirror.Options{Latest: 5, Target: func(a provider.Address) (repository.Repository, publish.Options, error) {
			repo, err := m.open(template.Reference{Registry: m.host, Name: "main/" + a.Type})
			return repo, publish.Options{Check: repository.DepthIndex, Verify: o.Policy.VerifyOffered}, err
		}})
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("sync: %d and %d requests, mirror: %d and %d", origins, registries, mirrorOrigins, mirrorRegistries)
	if origins > mirrorOrigins || registries*20 > mirrorRegistries*21 {
		t.Errorf("sync sends %d and %d requests, and mirror %d and %d", origins, registries, mirrorOrigins, mirrorRegistries)
	}
}

// TestApplyExtends checks that platforms that were added to the settings are published.
func TestApplyExtends(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"})
	m.publish(t, "rocket", "1.0.0")
	m.want(t, "rocket", sync.Settings{Platforms: platforms[:1]})
	m.expect(t, "mirror main 1.0.0, copy dr 1.0.0")
	m.want(t, "rocket", sync.Settings{Platforms: platforms})
	m.expect(t, "extend main 1.0.0, extend dr 1.0.0")
	if !bytes.Equal(m.registry.Manifest(t, "dr/rocket", "1.0.0"), m.registry.Manifest(t, "main/rocket", "1.0.0")) {
		t.Error("the copy differs")
	}
}

// TestApplyPlatforms checks that Apply omits platforms that a release doesn't have. A
// release that has none of the requested platforms fails.
func TestApplyPlatforms(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	m.publish(t, "rocket", "1.0.0")
	other := provider.Platform{OS: "windows", Arch: "arm64"}
	m.want(t, "rocket", sync.Settings{Platforms: append(slices.Clone(platforms), other)})
	m.expect(t, "mirror main 1.0.0")
	if p, _ := m.plan(t); p.Summary.Unchanged != 1 || len(p.Actions) != 0 {
		t.Errorf("%+v %+v", p.Summary, p.Actions)
	}
	m.publish(t, "anvil", "1.0.0")
	m.want(t, "anvil", sync.Settings{Platforms: []provider.Platform{other}})
	if _, results := m.apply(t); len(results) != 1 || !errors.As(results[0].Err, new(*provider.PlatformError)) || !strings.HasPrefix(results[0].Err.Error(), "mirroring ") {
		t.Errorf("%+v", results)
	}
}

// promote approves a version of rocket in the main target, and records a reason.
func (m *mirrored) promote(t *testing.T, version string) {
	t.Helper()
	if _, err := approval.Promote(t.Context(), m.repository(t, "main/rocket"), m.wanted[0].Address, nouns.Version(t, version), approval.PromoteOptions{Reason: "reviewed"}); err != nil {
		t.Fatal(err)
	}
}

// TestApplyStages checks that a staged release is copied after it has been approved.
func TestApplyStages(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"})
	m.publish(t, "rocket", "1.0.0")
	m.want(t, "rocket", sync.Settings{Stage: true})
	m.expect(t, "stage main pending-1.0.0, pending dr 1.0.0")
	m.promote(t, "1.0.0")
	m.expect(t, "copy dr 1.0.0")
}

// TestApplyStagesUnapproved checks that platforms that are added to an approved version wait
// for an approval, and aren't copied before.
func TestApplyStagesUnapproved(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"})
	m.publish(t, "rocket", "1.0.0")
	m.want(t, "rocket", sync.Settings{Platforms: platforms[:1]})
	m.expect(t, "mirror main 1.0.0, copy dr 1.0.0")
	m.promote(t, "1.0.0")
	m.want(t, "rocket", sync.Settings{})
	m.expect(t, "stage main pending-1.0.0")
	m.expect(t, "pending main pending-1.0.0")
	m.promote(t, "1.0.0")
	m.expect(t, "copy dr 1.0.0")
	m.expect(t, "")
}

func (m *mirrored) deny(t *testing.T, constraint string) {
	t.Helper()
	d := sync.Denial{Reason: "withdrawn", By: "security", Position: "mirror.hcl:9"}
	var err error
	if d.Versions, err = provider.ParseConstraint(constraint); err == nil {
		d.Pattern.Providers, err = provider.ParsePattern("*/*/*")
	}
	if err != nil {
		t.Fatal(err)
	}
	m.declaration.Denials = append(m.declaration.Denials, d)
}

// TestApplyDenies checks that deny blocks apply to existing, pending, and future versions.
func TestApplyDenies(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"})
	m.publish(t, "rocket", "1.0.0", "1.1.0")
	m.want(t, "rocket", sync.Settings{Latest: 1})
	m.expect(t, "mirror main 1.1.0, copy dr 1.1.0")
	m.deny(t, ">= 1.1.0")
	m.expect(t, "deny main 1.1.0, deny dr 1.1.0, mirror main 1.0.0, copy dr 1.0.0")
	m.publish(t, "rocket", "1.2.0")
	m.expect(t, "skip main 1.2.0, skip dr 1.2.0, skip main 1.1.0, skip dr 1.1.0")
	record, exists, err := repository.ReadDenial(t.Context(), m.repository(t, "dr/rocket"), nouns.Version(t, "1.1.0"))
	if err != nil || !exists || record.Reason != "withdrawn" || record.By != "security" {
		t.Errorf("%+v %t %v", record, exists, err)
	}
}

// TestApplyCopiesDenials checks that a version that a person denies in one target is also
// denied in the targets to which it was copied.
func TestApplyCopiesDenials(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"}, sync.Target{Name: "edge", From: "dr"})
	m.publish(t, "rocket", "1.0.0", "1.1.0")
	m.want(t, "rocket", sync.Settings{})
	m.expect(t, "mirror main 1.1.0, copy dr 1.1.0, copy edge 1.1.0, mirror main 1.0.0, copy dr 1.0.0, copy edge 1.0.0")
	v := nouns.Version(t, "1.1.0")
	_, err := approval.Deny(t.Context(), m.repository(t, "main/rocket"), nouns.Address(t, m.fromHost+"/acme/rocket"), v, approval.DenyOptions{Reason: "phones home", By: "jane"})
	if err != nil {
		t.Fatal(err)
	}
	m.expect(t, "skip main 1.1.0, deny dr 1.1.0, deny edge 1.1.0")
	for _, repo := range []string{"dr/rocket", "edge/rocket"} {
		record, exists, err := repository.ReadDenial(t.Context(), m.repository(t, repo), v)
		if err != nil || !exists || record.Reason != "phones home" || record.By != "jane" || strings.Contains(" "+m.tags(t, repo)+" ", " 1.1.0 ") {
			t.Errorf("%s: %+v %t %v, tags %s", repo, record, exists, err, m.tags(t, repo))
		}
	}
	m.expect(t, "skip main 1.1.0, skip dr 1.1.0, skip edge 1.1.0")
}

// TestApplyPrunes checks the stages of pruning, and that restored versions are
// complete.
func TestApplyPrunes(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	m.publish(t, "rocket", "1.0.0", "1.1.0", "1.2.0")
	m.want(t, "rocket", sync.Settings{})
	m.expect(t, "mirror main 1.2.0, mirror main 1.1.0, mirror main 1.0.0")
	m.declaration.Prune = &sync.Prune{Delete: true, KeepPrevious: 1, KeepFor: 30 * day, MaxDelete: 20}
	m.want(t, "rocket", sync.Settings{Latest: 1})
	m.expect(t, "mark main 1.0.0")
	m.now = m.now.Add(29 * day)
	m.expect(t, "hold main 1.0.0")
	m.now = m.now.Add(day)
	m.expect(t, "prune main 1.0.0")
	if got, want := m.tags(t, "main/rocket"), "1.1.0 1.2.0 pruned-1.0.0 tofu-oci-sync"; got != want {
		t.Errorf("got tags %s, want %s", got, want)
	}
	m.now = m.now.Add(29 * day)
	m.expect(t, "hold main pruned-1.0.0")
	m.want(t, "rocket", sync.Settings{Latest: 1}, "", "1.0.0")
	m.expect(t, "restore main pruned-1.0.0, unmark main 1.0.0")
	m.want(t, "rocket", sync.Settings{Latest: 1})
	m.expect(t, "mark main 1.0.0")
	m.now = m.now.Add(30 * day)
	m.expect(t, "prune main 1.0.0")
	m.now = m.now.Add(30 * day)
	m.expect(t, "delete main pruned-1.0.0")
	if got, want := m.tags(t, "main/rocket"), "1.1.0 1.2.0 tofu-oci-sync"; got != want {
		t.Errorf("got tags %s, want %s", got, want)
	}
	m.want(t, "rocket", sync.Settings{Latest: 1}, "", "1.0.0")
	m.expect(t, "mirror main 1.0.0, unmark main 1.0.0")
}

// TestApplyRestoresLostContent checks that a pruned release with lost content is
// mirrored or copied again. A target with a source copies the release only from this
// source.
func TestApplyRestoresLostContent(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"})
	m.publish(t, "rocket", "1.0.0")
	m.want(t, "rocket", sync.Settings{})
	m.expect(t, "mirror main 1.0.0, copy dr 1.0.0")
	for _, name := range []string{"main/rocket", "dr/rocket"} {
		repo := m.repository(t, name)
		if _, err := repository.Prune(t.Context(), repo, nouns.Version(t, "1.0.0"), ""); err != nil {
			t.Fatal(err)
		}
		i, err := repository.Inspect(t.Context(), repo, "pruned-1.0.0", repository.DepthManifests)
		if err != nil {
			t.Fatal(err)
		}
		m.registry.Delete(t, name, i.At(platforms[0]).Target.Descriptor.Digest.String())
	}
	m.expect(t, "restore main pruned-1.0.0, restore dr pruned-1.0.0")
	for _, name := range []string{"main/rocket", "dr/rocket"} {
		if got := m.tags(t, name); got != "1.0.0" {
			t.Errorf("got tags %s", got)
		}
	}
	m.expect(t, "")
}

// TestApplyExtendsRestored checks that a restored release gets the platforms that were
// selected after it was pruned.
func TestApplyExtendsRestored(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"})
	m.publish(t, "rocket", "1.0.0")
	m.want(t, "rocket", sync.Settings{Platforms: platforms[:1]})
	m.expect(t, "mirror main 1.0.0, copy dr 1.0.0")
	for _, name := range []string{"main/rocket", "dr/rocket"} {
		if _, err := repository.Prune(t.Context(), m.repository(t, name), nouns.Version(t, "1.0.0"), ""); err != nil {
			t.Fatal(err)
		}
	}
	m.want(t, "rocket", sync.Settings{})
	m.expect(t, "restore main pruned-1.0.0, restore dr pruned-1.0.0")
	for _, name := range []string{"main/rocket", "dr/rocket"} {
		i, err := repository.Inspect(t.Context(), m.repository(t, name), "1.0.0", repository.DepthIndex)
		if err != nil || !slices.Equal(i.Index.Platforms(), platforms) {
			t.Errorf("%s: got %v, %v", name, i.Index.Platforms(), err)
		}
	}
	m.expect(t, "")
}

// TestApplyPrunesNothingAfterFailures checks that a failed release prevents removals in
// its repository.
func TestApplyPrunesNothingAfterFailures(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	m.publish(t, "rocket", "1.0.0", "1.1.0", "1.2.0")
	m.want(t, "rocket", sync.Settings{}, "< 1.2.0")
	m.apply(t)
	m.declaration.Prune = &sync.Prune{Delete: true, KeepFor: day, MaxDelete: 20}
	m.want(t, "rocket", sync.Settings{Latest: 1})
	m.origin.Misbehave(origintest.Zip, origintest.Status(http.StatusNotFound), -1)
	if got, _ := m.apply(t); got != "mirror main 1.2.0 failed, mark main 1.0.0 failed" {
		t.Error(got)
	}
	if got := m.tags(t, "main/rocket"); got != "1.0.0 1.1.0" {
		t.Errorf("got tags %s", got)
	}
}

// TestApplyWithoutDeletion checks a registry that doesn't delete manifests. Runs report this
// once, don't fail, and nothing is lost.
func TestApplyWithoutDeletion(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	m.publish(t, "rocket", "1.0.0", "1.0.1", "1.1.0")
	m.want(t, "rocket", sync.Settings{})
	m.apply(t)
	m.declaration.Prune = &sync.Prune{Delete: true, KeepFor: day, MaxDelete: 20}
	m.want(t, "rocket", sync.Settings{Latest: 1})
	m.expect(t, "mark main 1.0.1, mark main 1.0.0")
	m.registry.Misbehave(registrytest.ManifestDelete, origintest.Status(http.StatusMethodNotAllowed), -1)
	m.now = m.now.Add(day)
	for range 2 {
		if got, results := m.apply(t); got != "hold main 1.0.1, hold main 1.0.0" || !errors.Is(results[0].Undeleted, repository.ErrTagNotDeleted) || results[1].Undeleted != nil {
			t.Errorf("got %q, %v", got, results)
		}
	}
	m.registry.Behave()
	m.expect(t, "prune main 1.0.1, prune main 1.0.0")
	m.registry.Misbehave(registrytest.ManifestDelete, origintest.Status(http.StatusMethodNotAllowed), -1)
	m.now = m.now.Add(day)
	if got, results := m.apply(t); got != "hold main pruned-1.0.1, hold main pruned-1.0.0" || !errors.Is(results[0].Undeleted, repository.ErrTagNotDeleted) || results[1].Undeleted != nil {
		t.Errorf("got %q, %v", got, results)
	}
	m.want(t, "rocket", sync.Settings{})
	m.registry.Behave()
	m.expect(t, "restore main pruned-1.0.1, restore main pruned-1.0.0, unmark main 1.0.1, unmark main 1.0.0")
}

// TestApplyOverwritten checks that a denied version whose tag can't be deleted fails in each
// run, until its tag points to an empty index.
func TestApplyOverwritten(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	m.publish(t, "rocket", "1.0.0", "1.1.0")
	m.want(t, "rocket", sync.Settings{})
	m.apply(t)
	m.registry.Misbehave(registrytest.ManifestDelete, origintest.Status(http.StatusMethodNotAllowed), -1)
	m.deny(t, ">= 1.1.0")
	for range 2 {
		if got, results := m.apply(t); got != "deny main 1.1.0 failed" || !errors.Is(results[0].Err, repository.ErrTagNotDeleted) {
			t.Errorf("got %q, %v", got, results)
		}
	}
	_, err := approval.Deny(t.Context(), m.repository(t, "main/rocket"), m.wanted[0].Address, nouns.Version(t, "1.1.0"), approval.DenyOptions{Reason: "withdrawn", Overwrite: true})
	if err != nil {
		t.Fatal(err)
	}
	m.expect(t, "skip main 1.1.0")
}

// TestApplyLayouts checks pruning in an image layout.
func TestApplyLayouts(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	dir := filepath.ToSlash(t.TempDir())
	var err error
	if m.declaration.Targets[0].Template, err = template.Parse("oci-layout:" + dir + "/{type}"); err != nil {
		t.Fatal(err)
	}
	m.publish(t, "rocket", "1.0.0", "1.1.0")
	m.want(t, "rocket", sync.Settings{})
	m.expect(t, "mirror main 1.1.0, mirror main 1.0.0")
	m.declaration.Prune = &sync.Prune{Delete: true, KeepFor: day, MaxDelete: 20}
	m.want(t, "rocket", sync.Settings{Latest: 1})
	m.expect(t, "mark main 1.0.0")
	blobs := func() int {
		files, err := os.ReadDir(filepath.Join(dir, "rocket", "blobs", "sha256"))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	before := blobs()
	for _, want := range []string{"prune main 1.0.0", "delete main pruned-1.0.0"} {
		m.now = m.now.Add(day)
		m.expect(t, want)
	}
	if after := blobs(); after >= before {
		t.Errorf("%d blobs before the deletion, %d after it", before, after)
	}
}

// TestApplyContinues checks that a run continues where a canceled run stopped, and that
// a failed provider does not stop other providers.
func TestApplyContinues(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	m.publish(t, "rocket", "1.0.0", "1.1.0", "1.2.0")
	m.want(t, "rocket", sync.Settings{})
	p, o := m.plan(t)
	ctx, cancel := context.WithCancel(t.Context())
	o.OnResult = func(sync.Result) { cancel() }
	if err := p.Apply(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	m.want(t, "unknown", sync.Settings{})
	m.apply(t)
	if got := m.tags(t, "main/rocket"); got != "1.0.0 1.1.0 1.2.0" {
		t.Errorf("got tags %s", got)
	}
	if got, results := m.apply(t); got != "fail   failed" || provider.KindOf(results[0].Err) != provider.NotFound {
		t.Errorf("got %q", got)
	}
}

// TestApplyTwice checks that two concurrent runs with the same plan are harmless.
func TestApplyTwice(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main, sync.Target{Name: "dr", From: "main"})
	m.publish(t, "rocket", "1.0.0", "1.1.0", "1.2.0", "1.3.0")
	m.want(t, "rocket", sync.Settings{})
	twice := func() {
		t.Helper()
		done := make(chan string)
		for range 2 {
			p, o := m.plan(t)
			go func() {
				failed := ""
				o.OnResult = func(r sync.Result) {
					if r.Err != nil {
						failed += fmt.Sprintf("%s %s: %v; ", r.Action.Kind, r.Action.Tag, r.Err)
					}
				}
				if err := p.Apply(context.WithoutCancel(t.Context()), o); err != nil {
					failed += err.Error()
				}
				done <- failed
			}()
		}
		for range 2 {
			if failed := <-done; failed != "" {
				t.Error(failed)
			}
		}
		if p, _ := m.plan(t); p.HasChanges() {
			t.Errorf("%+v", p.Actions)
		}
	}
	twice()
	m.declaration.Prune = &sync.Prune{Delete: true, KeepFor: day, MaxDelete: 20}
	m.want(t, "rocket", sync.Settings{Latest: 1})
	m.deny(t, "1.1.0")
	twice()
	for range 2 {
		m.now = m.now.Add(2 * day)
		twice()
	}
	for _, repo := range []string{"main/rocket", "dr/rocket"} {
		if got := m.tags(t, repo); got != "1.3.0 denied-1.1.0 tofu-oci-sync" {
			t.Errorf("%s has the tags %s", repo, got)
		}
	}
}

// TestPlanFile checks that only actions in an approved plan are performed.
func TestPlanFile(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	m.publish(t, "rocket", "1.0.0")
	m.want(t, "rocket", sync.Settings{})
	m.deny(t, "0.9.0")
	approved, _ := m.plan(t)
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := approved.Write(path); err != nil {
		t.Fatal(err)
	}
	read, err := sync.ReadPlan(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(approved.Actions, read.Actions, cmpopts.IgnoreUnexported(sync.Action{}), gocmp.Comparer(func(a, b provider.Version) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	// 1. A newer version is not in the plan.
	m.publish(t, "rocket", "1.1.0")
	p, o := m.plan(t)
	if err := p.Restrict(read); err != nil {
		t.Fatal(err)
	}
	if got, _ := applied(t, p, o); got != "mirror main 1.0.0" || p.Summary.Actions[sync.Mirror] != 1 {
		t.Errorf("got %q, %+v", got, p.Summary)
	}
	// 2. All actions in the plan are done.
	if p, _ = m.plan(t); p.Restrict(read) != nil || p.HasChanges() {
		t.Errorf("%+v", p.Actions)
	}
	// 3. The actions of a forged plan are ignored.
	forged := *read
	forged.Actions = slices.Clone(read.Actions)
	for _, k := range []sync.Kind{sync.PruneTag, sync.Delete, sync.Deny, sync.Mirror} {
		a := read.Actions[0]
		a.Kind, a.Version, a.Tag = k, nouns.Version(t, "0.9.0"), "0.9.0"
		forged.Actions = append(forged.Actions, a)
	}
	if p, _ = m.plan(t); p.Restrict(&forged) != nil || p.HasChanges() {
		t.Errorf("%+v", p.Actions)
	}
}

// TestStalePlan checks that a plan is rejected if the declaration, the trust file, or a
// tag has changed.
func TestStalePlan(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main)
	m.publish(t, "rocket", "1.0.0", "1.1.0")
	m.want(t, "rocket", sync.Settings{Platforms: platforms[:1]})
	m.apply(t)
	m.declaration.Prune = &sync.Prune{Delete: true, KeepFor: day, MaxDelete: 20}
	m.want(t, "rocket", sync.Settings{Latest: 1, Platforms: platforms[:1]})
	m.apply(t)
	m.now = m.now.Add(2 * day)
	approved, _ := m.plan(t)
	for name, change := range map[string]func(*sync.Plan){
		"another declaration": func(p *sync.Plan) { p.Declaration.Digest = "sha256:other" },
		"another trust file":  func(p *sync.Plan) { p.Trust = "sha256:other" },
		"another digest":      func(p *sync.Plan) { p.Actions = slices.Clone(p.Actions); p.Actions[0].From = "sha256:other" },
	} {
		other := *approved
		change(&other)
		p, _ := m.plan(t)
		err := p.Restrict(&other)
		if _, stale := errors.AsType[*sync.StaleError](err); !stale || provider.KindOf(err) != provider.Conflict {
			t.Errorf("%s: got %v", name, err)
		}
	}
	other := *approved
	other.Shard = sync.Shard{Index: 1, Count: 2}
	same, _ := m.plan(t)
	if err := same.Restrict(&other); provider.KindOf(err) != provider.Misuse || err.Error() != "the plan is for shard 1/2; add --shard 1/2" {
		t.Errorf("got %v", err)
	}
	if err := other.Restrict(same); provider.KindOf(err) != provider.Misuse || err.Error() != "the plan is for all shards; omit --shard 1/2" {
		t.Errorf("got %v", err)
	}
	// Another run extends the version that the plan prunes.
	if _, err := publish.Release(t.Context(), m.options().Source, m.repository(t, "main/rocket"), m.wanted[0].Address, nouns.Version(t, "1.0.0"), publish.Options{}); err != nil {
		t.Fatal(err)
	}
	p, _ := m.plan(t)
	if _, stale := errors.AsType[*sync.StaleError](p.Restrict(approved)); !stale {
		t.Errorf("%+v", p.Actions)
	}
	if got, results := applied(t, approved, m.options()); got != "prune main 1.0.0 failed" || !errors.Is(results[0].Err, repository.ErrTagMoved) {
		t.Errorf("got %q, %v", got, results)
	}
	if got := m.tags(t, "main/rocket"); got != "1.0.0 1.1.0 tofu-oci-sync" {
		t.Errorf("got tags %s", got)
	}
}

// TestReadPlan checks that invalid files are rejected.
func TestReadPlan(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON": "mirror", "an array": "[]", "a provider": `{"items":[{"action":"mirror","provider":"/"}]}`,
		"a version": `{"items":[{"action":"mirror","provider":"acme/rocket","version":"new"}]}`, "a shard": `{"shard":"9/2"}`,
		"a result": `{"$schema":"https://example.com/sync.schema.json","items":[],"summary":{"declaration":{"path":"mirror.hcl","digest":"sha256:1"},"check_level":"index"}}`,
	} {
		path := filepath.Join(t.TempDir(), "plan.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := sync.ReadPlan(path); provider.KindOf(err) != provider.Malformed {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
	}
	if _, err := sync.ReadPlan(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestSameRepository checks that two providers or targets can't share a repository.
func TestSameRepository(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, main, sync.Target{Name: "other"})
	m.declaration.Targets[1].Template = m.declaration.Targets[0].Template
	m.want(t, "rocket", sync.Settings{})
	if _, err := sync.NewPlan(t.Context(), m.options()); provider.KindOf(err) != provider.Misuse {
		t.Errorf("got %v", err)
	}
	m.want(t, "rocket", sync.Settings{Targets: []string{"main"}})
	if _, err := sync.NewPlan(t.Context(), m.options()); err != nil {
		t.Error(err)
	}
}
