package publish_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// TestEvaluate checks which candidates get their tag, depending on the denial, the pending
// release, and the approvals of the version.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	inspect := func(platforms ...provider.Platform) repository.Inspection {
		t.Helper()
		to := w.layout(t)
		w.publish(t, to, publish.Created, publish.Options{Platforms: platforms})
		i, err := repository.Inspect(t.Context(), to.open(t), "1.2.3", repository.DepthIndex)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	some, more := inspect(haiku), inspect(haiku, minix)
	lost := repository.Inspection{Tag: "pending-1.2.3", Digest: some.Digest, Dangling: true}
	w.zips[haiku] = zipOf(t, "republished")
	w.offer(t, w.release(all...))
	other := inspect(haiku)
	denial := func(text string) *repository.DecisionRecord {
		return &repository.DecisionRecord{Digest: digest.FromString(text)}
	}
	g, _ := gateOf(t, allows)
	for name, test := range map[string]struct {
		denial            *repository.DecisionRecord
		pending, existing repository.Inspection
		unapproved        bool
		candidate         publish.Candidate
		held, denied      bool
	}{
		"new":                            {},
		"denied":                         {denial: denial("one"), denied: true},
		"denied, staged":                 {denial: denial("one"), candidate: publish.Candidate{Stage: true}, denied: true},
		"denied, with gates":             {denial: denial("one"), candidate: publish.Candidate{Gates: gate.Gates{g}}, denied: true},
		"denied, approval not required":  {denial: denial("one"), candidate: publish.Candidate{AllowPending: true}, denied: true},
		"overrides the denial":           {denial: denial("one"), candidate: publish.Candidate{Denial: denial("one")}},
		"denied again":                   {denial: denial("two"), candidate: publish.Candidate{Denial: denial("one")}, denied: true},
		"the denial is gone":             {candidate: publish.Candidate{Denial: denial("one")}},
		"pending":                        {pending: some, held: true},
		"pending, staged":                {pending: some, candidate: publish.Candidate{Stage: true}},
		"pending, with gates":            {pending: some, candidate: publish.Candidate{Gates: gate.Gates{g}}},
		"pending, with Force":            {pending: some, candidate: publish.Candidate{AllowPending: true}},
		"more is pending":                {pending: more, existing: some, held: true},
		"another zip is pending":         {pending: other, existing: some, held: true},
		"a part of the release":          {pending: some, existing: more},
		"approved, but not deleted":      {pending: some, existing: some},
		"the pending index is missing":   {pending: lost, existing: some, held: true},
		"approved without these zips":    {unapproved: true, held: true},
		"unapproved zips, with gates":    {unapproved: true, candidate: publish.Candidate{Gates: gate.Gates{g}}, held: true},
		"unapproved zips, staged":        {unapproved: true, candidate: publish.Candidate{Stage: true}},
		"unapproved zips, with Force":    {unapproved: true, candidate: publish.Candidate{AllowPending: true}},
		"pending, and overrides denials": {denial: denial("one"), pending: some, candidate: publish.Candidate{Denial: denial("one")}, held: true},
	} {
		c := test.candidate
		c.Release, c.Existing = provider.Release{Address: w.address, Version: w.version}, test.existing
		held, err := publish.Evaluate(publish.StateForTest{Denial: test.denial, Pending: test.pending, IsUnapproved: test.unapproved}, c)
		if denied := errors.As(err, new(*repository.DeniedError)); (held != nil) != test.held || denied != test.denied || err != nil && !denied {
			t.Errorf("%s: held %v, error %v", name, held, err)
		}
	}
}

// TestIsUnapproved checks which decisions about the existing release require another approval
// of the candidate, and that an approval of the candidate suffices.
func TestIsUnapproved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.layout(t)
	w.publish(t, to, publish.Created, publish.Options{Platforms: []provider.Platform{haiku}})
	existing, err := repository.Inspect(t.Context(), to.open(t), "1.2.3", repository.DepthManifests)
	if err != nil {
		t.Fatal(err)
	}
	has := existing.Packages(w.address, w.version)
	wants := append(slices.Clone(has), provider.Package{Platform: minix, Digest: digest.FromString("another zip")})
	decision := func(kind, verdict string, about []provider.Package) repository.DecisionRecord {
		d := repository.NewDecision(to.open(t), kind, verdict, w.address, w.version)
		d.Index, d.Packages = digest.FromString("an earlier index"), artifact.PackageDigests(about)
		return repository.DecisionRecord{Decision: d}
	}
	promoted, signed := decision(artifact.DecisionPromote, artifact.VerdictAllow, has), decision(artifact.DecisionForce, artifact.VerdictAllow, has)
	signed.Signature = []byte("a signature")
	for name, test := range map[string]struct {
		decisions []repository.DecisionRecord
		packages  []provider.Package
		want      bool
	}{
		"no decision":             {nil, wants, false},
		"approved":                {[]repository.DecisionRecord{promoted}, wants, true},
		"approved, the same zips": {[]repository.DecisionRecord{promoted}, has, false},
		"approved twice":          {[]repository.DecisionRecord{promoted, decision(artifact.DecisionPromote, artifact.VerdictAllow, wants)}, wants, false},
		"signed use of Force":     {[]repository.DecisionRecord{signed}, wants, true},
		"unsigned use of Force":   {[]repository.DecisionRecord{decision(artifact.DecisionForce, artifact.VerdictAllow, has)}, wants, false},
		"allowed by a gate":       {[]repository.DecisionRecord{decision(artifact.DecisionGate, artifact.VerdictAllow, has)}, wants, false},
		"denied":                  {[]repository.DecisionRecord{decision(artifact.DecisionDeny, artifact.VerdictDeny, has)}, wants, false},
	} {
		c := publish.Candidate{Existing: existing, Release: provider.Release{Address: w.address, Version: w.version, Packages: test.packages}}
		if got := publish.IsUnapproved(test.decisions, to.open(t), c); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// TestPendingIsNotPublished checks that no flow publishes a version that waits for its
// approval, even if it was staged after the flow has listed the tags.
func TestPendingIsNotPublished(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		from := w.layout(t)
		w.publish(t, from, publish.Created, publish.Options{})
		for name, flow := range map[string]func(repository.Repository, publish.Options) (publish.Result, error){
			"publish": func(repo repository.Repository, o publish.Options) (publish.Result, error) {
				return w.runOver(t.Context(), repo, o)
			},
			"copy": func(repo repository.Repository, o publish.Options) (publish.Result, error) {
				return w.publisher().Copy(t.Context(), from.open(t), repo, w.address, w.version, o)
			},
		} {
			for _, late := range []bool{false, true} {
				stage := func() { w.stage(t, to, publish.Created, pendingTag, publish.Options{}) }
				repo := to.open(t)
				if late {
					repo = staging{repo, stage}
				} else {
					stage()
				}
				r, err := flow(repo, publish.Options{})
				if err != nil || r.Held == nil || r.Tag != pendingTag || to.digest(t) != "" {
					t.Errorf("%s, staged late %t: %+v, %v", name, late, r, err)
				}
				// Gates, and people, decide about pending versions.
				if !late {
					g, _ := gateOf(t, allows)
					if r, err := flow(to.open(t), publish.Options{Gates: gate.Gates{g}}); err != nil || r.Held != nil || to.digest(t) == "" || to.at(t, pendingTag) != "" {
						t.Errorf("%s, allowed by a gate: %+v, %v", name, r, err)
					}
				} else {
					w.promote(t, to, publish.Promoted)
				}
				if _, err := repository.Prune(t.Context(), to.open(t), w.version, ""); err != nil {
					t.Fatal(err)
				}
				if err := repository.DeletePruned(t.Context(), to.open(t), w.version, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// staging stages a version after its tags were listed.
type staging struct {
	repository.Repository
	stage func()
}

func (s staging) Tags(ctx context.Context) ([]string, error) {
	tags, err := s.Repository.Tags(ctx)
	s.stage()
	return tags, err
}

// TestDeniedDuringRun checks that a denial takes effect in runs that have already started,
// even if they override an earlier denial.
func TestDeniedDuringRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	to := w.registry(t, registrytest.Options{})
	w.stage(t, to, publish.Created, pendingTag, publish.Options{})
	deny := func(reason string) {
		t.Helper()
		if _, err := approval.Deny(t.Context(), to.open(t), w.address, w.version, approval.DenyOptions{Reason: reason}); err != nil {
			t.Fatal(err)
		}
	}
	deny("first")
	again := false
	o := publish.Options{Force: true, Verify: func(context.Context, provider.Release) (provider.Verdict, error) {
		if !again { // another person lifts the denial, and then denies the version again
			again = true
			w.stage(t, to, publish.Created, pendingTag, publish.Options{Force: true})
			if _, err := approval.Promote(t.Context(), to.open(t), w.address, w.version, approval.PromoteOptions{Force: true}); err != nil {
				t.Error(err)
			}
			deny("second")
		}
		return provider.Verdict{}, nil
	}}
	_, err := w.run(t, to, o)
	denied, ok := errors.AsType[*repository.DeniedError](err)
	if !ok || denied.Record.Reason != "second" || to.digest(t) != "" {
		t.Errorf("got %v", err)
	}
}

// TestOverrideOfUnchangedCopy checks that Force lifts a denial, and is recorded, even if the
// target already has the release under its tag.
func TestOverrideOfUnchangedCopy(t *testing.T) {
	t.Parallel()
	eachTarget(t, origintest.Options{}, func(t *testing.T, w *world, to *target) {
		from := w.layout(t)
		w.publish(t, from, publish.Created, publish.Options{})
		w.wantCopy(t, from, to, publish.Created, publish.Options{})
		index := to.digest(t)
		if _, err := approval.Deny(t.Context(), to.open(t), w.address, w.version, approval.DenyOptions{Reason: "withdrawn"}); err != nil {
			t.Fatal(err)
		}
		to.tag(t, "1.2.3", index) // another run has published the version at the same time
		w.wantCopy(t, from, to, publish.Unchanged, publish.Options{Force: true})
		records, err := repository.Decisions(t.Context(), to.open(t), index, artifact.DecisionForce)
		if err != nil || len(records) != 1 || to.at(t, "denied-1.2.3") != "" {
			t.Errorf("got %+v, %v, denied by %q", records, err, to.at(t, "denied-1.2.3"))
		}
	})
}
