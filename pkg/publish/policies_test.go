package publish_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	svchost "github.com/hashicorp/terraform-svchost"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/bundle"
	"github.com/tofu-oci/tofu-oci/internal/gate"
	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/internal/sync"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// path is a way to get a release under the tag of its version.
type path struct {
	// like is the name of a path with the same exceptions, if any.
	like string
	// isModule reports whether the release is a module, which has no signature.
	isModule bool
	// prepare creates the state of the repository in which the path starts.
	prepare func(p *policies)
	run     func(p *policies, o publish.Options) error
}

// policies is a cell of the matrix in TestPoliciesOnAllPaths.
type policies struct {
	*testing.T
	*world
	path path
	to   *target
	// from contains the release, or the module.
	from *target
}

func (p *policies) promoteOptions(o publish.Options) approval.PromoteOptions {
	return approval.PromoteOptions{Gates: o.Gates, Verify: o.Verify}
}

func (p *policies) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *policies) pushModule(to *target, content string, o module.PushOptions) (module.Result, error) {
	files := []module.File{{Path: "main.tf", Size: int64(len(content)), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(content)), nil
	}}}
	return module.Push(p.Context(), to.open(p.T), module.Package{Name: "vpc", Version: p.version, Files: files}, o)
}

// decided returns the address for decisions.
func (p *policies) decided() provider.Address {
	if p.path.isModule {
		return provider.ModuleAddress("vpc")
	}
	return p.address
}

// store publishes the release or, if other is set, a release with other zips.
func (p *policies) store(to *target, other bool, o publish.Options) {
	p.Helper()
	if p.path.isModule {
		content := map[bool]string{true: "# other", false: "# module"}[other]
		_, err := p.pushModule(to, content, module.PushOptions{Stage: o.Stage, Force: o.Force})
		p.must(err)
		return
	}
	w := p.world
	if other {
		w = newWorld(p.T, origintest.Options{})
		w.zips[haiku] = zipOf(p.T, "republished")
		w.offerUnsigned(p.T)
	}
	_, err := w.run(p.T, to, o)
	p.must(err)
}

func (p *policies) deny() {
	p.Helper()
	_, err := approval.Deny(p.Context(), p.to.open(p.T), p.decided(), p.version, approval.DenyOptions{Reason: "withdrawn"})
	p.must(err)
}

// importBundle imports a bundle that contains the release.
func (p *policies) importBundle(o publish.Options) (failed error) {
	p.Helper()
	file := filepath.Join(p.TempDir(), "up.tar")
	_, err := bundle.Create(p.Context(), []provider.Requirement{{Address: p.address}}, bundle.CreateOptions{
		File: file, From: func(provider.Address) (repository.Reader, error) { return p.from.open(p.T), nil },
	})
	p.must(err)
	b, err := bundle.Open(p.Context(), []string{file}, nil)
	p.must(err)
	defer func() { _ = b.Close() }()
	_, err = bundle.Import(p.Context(), b, mirror.Options{
		Target: func(provider.Address) (repository.Repository, publish.Options, error) { return p.to.open(p.T), o, nil },
		OnResult: func(r mirror.Result) {
			if failed = errors.Join(failed, r.Err); r.Published.Status == publish.Denied {
				failed = &repository.DeniedError{} // the version was not requested exactly
			}
		},
	})
	return errors.Join(failed, err)
}

// pullThrough mirrors the release like a server that a client requests it from.
func (p *policies) pullThrough(o publish.Options) error {
	p.Helper()
	pattern, err := provider.ParsePattern(originHost + "/*/*")
	p.must(err)
	ended := make(chan error, 1)
	puller, err := pullthrough.New(pullthrough.Options{
		Patterns: []provider.Pattern{pattern}, Source: p.source(), Publish: o, Dir: p.TempDir(),
		Open: func(template.Reference) (repository.Repository, error) { return p.to.open(p.T), nil },
		OnEvent: func(e pullthrough.Event) {
			if e.Stage != pullthrough.StageStarted {
				ended <- e.Err
			}
		},
	})
	p.must(err)
	defer puller.Close()
	r, err := puller.Release(p.Context(), p.address, p.version)
	if err != nil {
		return err
	}
	zip, err := puller.Fetch(p.Context(), template.Reference{Registry: "main.example.com", Name: repositoryName}, r, haiku, nil)
	if err == nil && zip.File != nil {
		_, err = io.Copy(io.Discard, io.NewSectionReader(zip.File, 0, zip.Package.Size))
		zip.Close()
		p.must(err)
	}
	err = <-ended
	if held, ok := errors.AsType[*publish.HeldError](err); ok {
		return held.Failure() // the client gets an error, because the release is pending
	}
	return err
}

// mirrorModule mirrors the module from a registry that refers to an OCI repository.
func (p *policies) mirrorModule(o publish.Options) (failed error) {
	p.Helper()
	p.origin.AddModule(origintest.Module{Name: "acme/vpc/aws", Version: "1.2.3", Location: "oci://source.example.com/vpc?tag=1.2.3"})
	address, err := module.ParseAddress(originHost + "/acme/vpc/aws")
	p.must(err)
	from := origin.NewModules(origin.Options{HTTP: p.client, Services: map[svchost.Hostname]string{originHost: p.url + "/v1/modules/"}})
	err = module.Mirror(p.Context(), from, []module.Requirement{{Address: address, Constraint: provider.ExactConstraint(p.version)}}, module.MirrorOptions{
		Options: mirror.Options{
			Target:   func(provider.Address) (repository.Repository, publish.Options, error) { return p.to.open(p.T), o, nil },
			OnResult: func(r mirror.Result) { failed = r.Err },
		},
		Open: func(template.Reference) (repository.Reader, error) { return p.from.open(p.T), nil },
	})
	return errors.Join(failed, err)
}

// sync applies a declaration. arguments are arguments of the target.
func (p *policies) sync(arguments string, o publish.Options) (failed error) {
	p.Helper()
	var text strings.Builder
	text.WriteString("version = 1\n")
	if arguments != "" {
		text.WriteString("target \"source\" {\n  repository = \"source.example.com/{type}\"\n}\n")
	}
	fmt.Fprintf(&text, "target \"main\" {\n  repository = \"main.example.com/{type}\"\n  %s\n}\n", arguments)
	mode := "off"
	if o.Verify != nil {
		mode = "require"
	}
	fmt.Fprintf(&text, "provider %q {\n  versions = \"1.2.3\"\n  signatures = %q\n}\n", p.address, mode)
	gates, _ := o.Gates.(gate.Gates)
	for _, g := range gates {
		command, err := json.Marshal(g.Command)
		p.must(err)
		on := ""
		if len(g.On) > 0 {
			on = fmt.Sprintf("  on = [%q]\n", g.On[0])
		}
		fmt.Fprintf(&text, "gate %q {\n  command = %s\n%s}\n", g.Name, command, on)
	}
	path := filepath.Join(p.TempDir(), "mirror.hcl")
	p.must(os.WriteFile(path, []byte(text.String()), 0o600))
	d, err := sync.Read(path, os.LookupEnv)
	p.must(err)
	wanted, problems := d.Wanted(p.Context(), nil)
	options := sync.Options{
		Declaration: d, Wanted: wanted, Problems: problems, Source: p.source(), Publisher: p.publisher(), TempDir: p.TempDir(),
		Open: func(ref template.Reference) (repository.Repository, error) {
			if ref.Registry == "source.example.com" {
				return named{p.from.open(p.T), "source"}, nil
			}
			return p.to.open(p.T), nil
		},
		OnResult: func(r sync.Result) {
			p.Logf("%s %s %s %v", r.Action.Kind, r.Action.Tag, r.Action.Reason, r.Err)
			switch r.Action.Kind {
			case sync.Skip:
				failed = &repository.DeniedError{}
			case sync.Hold:
				failed = &publish.HeldError{Reason: r.Action.Reason}
			}
			failed = errors.Join(failed, r.Err)
		},
	}
	plan, err := sync.NewPlan(p.Context(), options)
	p.must(err)
	return errors.Join(plan.Apply(p.Context(), options), failed)
}

// named is a repository with a different name.
type named struct {
	repository.Repository
	name string
}

func (n named) String() string { return n.name }

// offerUnsigned offers the release without a signature.
func (w *world) offerUnsigned(t *testing.T) {
	t.Helper()
	r := w.release(all...)
	r.Signature, r.Keys = nil, nil
	w.offer(t, r)
}

// unpublished hides that a source contains published releases, as for local builds.
type unpublished struct{ provider.Source }

var paths = map[string]path{
	"mirror": {run: func(p *policies, o publish.Options) error {
		_, err := p.world.run(p.T, p.to, o)
		return err
	}},
	"publish": {run: func(p *policies, o publish.Options) error {
		_, err := publish.Release(p.Context(), unpublished{p.source()}, p.to.open(p.T), p.world.address, p.version, o)
		return err
	}},
	"copy": {run: func(p *policies, o publish.Options) error {
		_, err := p.copy(p.T, p.from, p.to, o)
		return err
	}},
	"import": {run: func(p *policies, o publish.Options) error {
		o.Import = true
		_, err := p.copy(p.T, p.from, p.to, o)
		return err
	}},
	"bundle import": {run: func(p *policies, o publish.Options) error {
		return p.importBundle(o)
	}},
	"pull-through": {run: func(p *policies, o publish.Options) error {
		return p.pullThrough(o)
	}},
	"sync mirror": {run: func(p *policies, o publish.Options) error {
		return p.sync("", o)
	}},
	"sync copy": {run: func(p *policies, o publish.Options) error {
		return p.sync(`from = "source"`, o)
	}},
	"sync restore": {like: "restore", prepare: func(p *policies) {
		p.store(p.to, false, publish.Options{})
		_, err := repository.Prune(p.Context(), p.to.open(p.T), p.version, "")
		p.must(err)
	}, run: func(p *policies, o publish.Options) error {
		return p.sync("", o)
	}},
	"promote": {prepare: func(p *policies) { p.store(p.to, false, publish.Options{Stage: true}) }, run: func(p *policies, o publish.Options) error {
		_, err := approval.Promote(p.Context(), p.to.open(p.T), p.world.address, p.version, p.promoteOptions(o))
		return err
	}},
	"restore": {prepare: func(p *policies) {
		p.store(p.to, false, publish.Options{})
		_, err := repository.Prune(p.Context(), p.to.open(p.T), p.version, "")
		p.must(err)
	}, run: func(p *policies, o publish.Options) error {
		_, err := approval.Restore(p.Context(), p.to.open(p.T), p.world.address, p.version, publish.ActionMirror, p.promoteOptions(o))
		return err
	}},
	"module push": {isModule: true, run: func(p *policies, o publish.Options) error {
		_, err := p.pushModule(p.to, "# module", module.PushOptions{Gates: o.Gates, Latest: true})
		return err
	}},
	"module mirror": {isModule: true, run: (*policies).mirrorModule},
	"module copy": {isModule: true, run: func(p *policies, o publish.Options) error {
		o.Verify = nil
		_, err := p.publisher().Copy(p.Context(), p.from.open(p.T), p.to.open(p.T), p.decided(), p.version, o)
		return err
	}},
	"module promote": {isModule: true, prepare: func(p *policies) { p.store(p.to, false, publish.Options{Stage: true}) }, run: func(p *policies, o publish.Options) error {
		_, err := approval.Promote(p.Context(), p.to.open(p.T), p.decided(), p.version, approval.PromoteOptions{Gates: o.Gates})
		return err
	}},
}

// rules are the rows of the matrix. The outcome is the kind of error, if any, and the tags
// of the version that exist afterwards.
var rules = map[string]struct {
	apply func(p *policies, o *publish.Options)
	// outcome is the outcome of all paths that except doesn't contain. An empty string in
	// except means that the rule doesn't apply to the path.
	outcome string
	except  map[string]string
}{
	"none": {outcome: "1.2.3"},
	"denied": {func(p *policies, _ *publish.Options) {
		if p.path.prepare == nil {
			p.store(p.to, false, publish.Options{Stage: true})
		}
		p.deny()
	}, "denied denied-1.2.3", map[string]string{"restore": "denied denied-1.2.3 pruned-1.2.3"}},
	"pending": {func(p *policies, _ *publish.Options) {
		p.store(p.to, false, publish.Options{Stage: true})
	}, "pending-1.2.3", map[string]string{"promote": "1.2.3", "module promote": "1.2.3", "restore": "1.2.3"}},
	"pending, and a gate that does not apply": {func(p *policies, o *publish.Options) {
		p.store(p.to, false, publish.Options{Stage: true})
		g, _ := gateOf(p.T, allows)
		g.On = []string{publish.ActionPromote}
		o.Gates = gate.Gates{g}
	}, "pending-1.2.3", map[string]string{"promote": "1.2.3", "module promote": "1.2.3", "restore": "1.2.3"}},
	"held by a gate": {func(p *policies, o *publish.Options) {
		g, _ := gateOf(p.T, holds)
		o.Gates = gate.Gates{g}
	}, "pending-1.2.3", map[string]string{"promote": "held pending-1.2.3", "module promote": "held pending-1.2.3", "restore": "held pruned-1.2.3"}},
	"gate denies": {func(p *policies, o *publish.Options) {
		g, _ := gateOf(p.T, denies)
		o.Gates = gate.Gates{g}
	}, "denied", map[string]string{"promote": "denied pending-1.2.3", "module promote": "denied pending-1.2.3", "restore": "denied pruned-1.2.3"}},
	"gate crashes": {func(p *policies, o *publish.Options) {
		g, _ := gateOf(p.T, "crash")
		o.Gates = gate.Gates{g}
	}, "held pending-1.2.3", map[string]string{"restore": "held pruned-1.2.3"}},
	"unsigned": {func(_ *policies, o *publish.Options) {
		o.Verify = trust.Policy{Mode: trust.ModeRequire}.Verify
	}, "refused", map[string]string{
		"promote": "refused pending-1.2.3", "restore": "refused pruned-1.2.3", "module push": "", "module mirror": "", "module copy": "", "module promote": "",
	}},
	"approved without a platform": {func(p *policies, _ *publish.Options) {
		p.store(p.to, false, publish.Options{Platforms: []provider.Platform{haiku}})
		_, err := approval.Promote(p.Context(), p.to.open(p.T), p.decided(), p.version, approval.PromoteOptions{Reason: "reviewed"})
		p.must(err)
	}, "1.2.3 pending-1.2.3", map[string]string{"promote": "", "restore": "", "module push": "", "module mirror": "", "module copy": "", "module promote": ""}},
	"other bytes": {func(p *policies, o *publish.Options) {
		o.AgainstOrigin = true
		p.store(p.to, true, publish.Options{Force: true})
	}, "conflict 1.2.3", map[string]string{"promote": "conflict 1.2.3 pending-1.2.3", "module promote": "conflict 1.2.3 pending-1.2.3", "restore": "1.2.3",
		"sync mirror": "1.2.3", // the default check level doesn't ask the origin
	}},
}

// TestPoliciesOnAllPaths checks that denials, missing approvals, gates, signatures, and
// conflicts have the same effect on each path to the tag of a version, and in each kind of
// repository.
func TestPoliciesOnAllPaths(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	for kind, o := range map[string]*registrytest.Options{
		"layout": nil, "registry": {}, "immutable tags": {ImmutableTags: true}, "no deletion": {NoDelete: http.StatusMethodNotAllowed},
	} {
		for name, path := range paths {
			for rule, row := range rules {
				want, excepted := row.except[cmp.Or(path.like, name)]
				if !excepted {
					want = row.outcome
				}
				cannotPrune := strings.HasSuffix(name, "restore") && kind == "no deletion"
				if want == "" || cannotPrune {
					continue
				}
				t.Run(kind+"/"+name+"/"+rule, func(t *testing.T) {
					t.Parallel()
					p := &policies{T: t, world: newWorld(t, origintest.Options{}), path: path}
					p.offerUnsigned(t)
					p.from = p.layout(t)
					p.store(p.from, false, publish.Options{})
					if p.to = p.layout(t); o != nil {
						p.to = p.registry(t, *o)
					}
					if path.prepare != nil {
						path.prepare(p)
					}
					var options publish.Options
					if row.apply != nil {
						row.apply(p, &options)
					}
					got := strings.TrimSpace(outcome(path.run(p, options)) + " " + strings.Join(p.existing(kind), " "))
					if got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				})
			}
		}
	}
}

// outcome returns the kind of an error.
func outcome(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.As(err, new(*repository.DeniedError)):
		return "denied"
	case errors.As(err, new(*publish.HeldError)):
		return "held"
	case errors.As(err, new(*repository.ConflictError)):
		return "conflict"
	case errors.As(err, new(*trust.RefusedError)):
		return "refused"
	}
	return err.Error()
}

// existing returns the tags of the version. If the repository can't delete tags, pending tags
// that point to the release or to the denial don't count.
func (p *policies) existing(kind string) (tags []string) {
	p.Helper()
	repo := p.to.open(p.T)
	live := p.to.at(p.T, "1.2.3")
	for _, tag := range []string{"1.2.3", "pending-1.2.3", "denied-1.2.3", "pruned-1.2.3"} {
		i, err := repository.Inspect(p.Context(), repo, tag, repository.DepthIndex)
		p.must(err)
		isLeft := tag == artifact.PendingTag(p.version) && (i.Digest == live || i.IsDenial())
		if i.Exists() && (kind != "no deletion" || !isLeft) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// TestOlderModuleKeepsLatest checks that a copy of an older version, such as from an older
// bundle, doesn't move the latest tag back.
func TestOlderModuleKeepsLatest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, origintest.Options{})
	p := &policies{T: t, world: w, path: paths["module copy"], to: w.layout(t), from: w.layout(t)}
	copyFrom := func(version, content string) {
		t.Helper()
		v, err := provider.ParseVersion(version)
		p.must(err)
		p.version = v
		_, err = p.pushModule(p.from, content, module.PushOptions{Latest: true})
		p.must(err)
		p.must(p.path.run(p, publish.Options{}))
	}
	copyFrom("1.2.3", "# 1")
	copyFrom("1.10.0", "# 2")
	newest := p.to.at(t, "1.10.0")
	older := w.layout(t)
	p.from = older
	copyFrom("1.9.0", "# 1.9")
	if got := p.to.at(t, "latest"); got != newest || p.to.at(t, "1.9.0") == "" {
		t.Errorf("latest is %s, want %s", got, newest)
	}
}

// TestCopiedModuleAndLatestOfOtherTool checks that the latest tag is compared by its digest if
// another tool wrote it without an annotation for the version.
func TestCopiedModuleAndLatestOfOtherTool(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tag, other string // the tag for the same manifest as latest, and a version with another manifest
		moves      bool
	}{
		"newer":                       {tag: "2.0.0"},
		"newer, with a prefix":        {tag: "v2.0.0"},
		"older":                       {tag: "1.0.0", moves: true},
		"older than a newer version":  {tag: "1.0.0", other: "2.0.0-beta1", moves: true},
		"the replaced version":        {tag: "1.5.0", moves: true},
		"no version, newest is newer": {tag: "edge", other: "2.0.0"},
		"no version, newest is older": {tag: "edge", other: "1.0.0", moves: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, origintest.Options{})
			p := &policies{T: t, world: w, path: paths["module copy"], to: w.layout(t), from: w.layout(t)}
			push := func(to *target, version, content string) digest.Digest {
				t.Helper()
				v, err := provider.ParseVersion(version)
				p.must(err)
				p.version = v
				r, err := p.pushModule(to, content, module.PushOptions{Latest: true})
				p.must(err)
				return r.Digest
			}
			was := p.withoutVersion(p.to, push(p.to, "0.1.0", "# other tool"), test.tag)
			if test.other != "" {
				push(p.to, test.other, "# other version")
			}
			p.withoutVersion(p.to, p.to.at(t, "0.1.0"), "latest")
			want := push(p.from, "1.5.0", "# copied")
			if !test.moves {
				want = was
			}
			for range 2 {
				p.must(p.path.run(p, publish.Options{Force: true}))
				if got := p.to.at(t, "latest"); got != want {
					t.Errorf("latest is %s, want %s", got, want)
				}
			}
		})
	}
}

// withoutVersion points a tag to a copy of a module's manifest without the annotation for
// the version.
func (p *policies) withoutVersion(to *target, from digest.Digest, tag string) digest.Digest {
	p.Helper()
	repo := to.open(p.T)
	d, data, err := repo.Manifest(p.Context(), from.String())
	p.must(err)
	var manifest ocispec.Manifest
	p.must(json.Unmarshal(data, &manifest))
	delete(manifest.Annotations, ocispec.AnnotationVersion)
	data, err = json.Marshal(manifest)
	p.must(err)
	d.Digest, d.Size = digest.FromBytes(data), int64(len(data))
	p.must(repo.PushTag(p.Context(), artifact.Blob{Descriptor: d, Bytes: data}, tag, to.at(p.T, tag)))
	return d.Digest
}
