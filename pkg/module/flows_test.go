package module_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/internal/verify"
	"github.com/tofu-oci/tofu-oci/pkg/approval"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/module"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// pushed is a repository with versions of a module.
type pushed struct {
	repository.Repository
	ref module.Reference
	// server is nil for layouts.
	server *registrytest.Registry
}

// layout returns an empty repository.
func layout(t *testing.T) pushed {
	t.Helper()
	r, err := module.ParseReference("oci-layout:" + filepath.ToSlash(filepath.Join(t.TempDir(), "vpc")))
	if err != nil {
		t.Fatal(err)
	}
	repo, err := repository.Open(r.Repository, repository.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return pushed{repo, r, nil}
}

// registry returns an empty repository in a registry.
func registry(t *testing.T) pushed {
	t.Helper()
	ca, err := testca.New()
	if err != nil {
		t.Fatal(err)
	}
	server := registrytest.New(registrytest.Options{})
	host := registrytest.Serve(t, ca, server)
	r, err := module.ParseReference("oci://" + host + "/modules/vpc")
	if err != nil {
		t.Fatal(err)
	}
	repo, err := repository.Open(r.Repository, repository.Options{HTTP: registrytest.Client(t, ca)})
	if err != nil {
		t.Fatal(err)
	}
	return pushed{repo, r, server}
}

// push pushes a version with the given content.
func (p pushed) push(t *testing.T, v, content string, o module.PushOptions) module.Result {
	t.Helper()
	pkg := vpc(t, content)
	pkg.Version = version(t, v)
	return push(t, p, pkg, o)
}

// at returns the reference of a version.
func (p pushed) at(t *testing.T, text string) provider.Requirement {
	t.Helper()
	v := version(t, text)
	r := p.ref
	r.Version = &v
	return r.Release()
}

// repositories calls test with an empty layout and an empty registry.
func repositories(t *testing.T, test func(t *testing.T, p pushed)) {
	t.Helper()
	for name, empty := range map[string]func(*testing.T) pushed{"layout": layout, "registry": registry} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, empty(t))
		})
	}
}

// TestDenyInterrupted checks that repeating a denial deletes the latest tag if an earlier run
// has deleted only the version's tag.
func TestDenyInterrupted(t *testing.T) {
	t.Parallel()
	repositories(t, func(t *testing.T, p pushed) {
		v := p.push(t, "1.0.0", "# 1", module.PushOptions{Latest: true}).Zip.Version
		failing := latestStays{p}
		if _, err := approval.Deny(t.Context(), failing, p.ref.Release().Address, v, approval.DenyOptions{Reason: "test"}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
		if _, err := approval.Deny(t.Context(), p, p.ref.Release().Address, v, approval.DenyOptions{Reason: "test"}); err != nil {
			t.Error(err)
		}
		if tags, err := p.Tags(t.Context()); err != nil || slices.Contains(tags, "latest") {
			t.Errorf("got tags %v, %v", tags, err)
		}
	})
}

// latestStays is a repository that loses the connection when the latest tag is deleted.
type latestStays struct{ repository.Repository }

func (l latestStays) Capabilities() repository.Capabilities {
	can := l.Repository.Capabilities()
	deleteTag := can.DeleteTag
	can.DeleteTag = func(ctx context.Context, tag string, was digest.Digest) error {
		if tag == "latest" {
			return io.ErrUnexpectedEOF
		}
		return deleteTag(ctx, tag, was)
	}
	return can
}

// TestHeadLies checks that a push sends the zip again if the registry reports that it has
// the zip, but misses the zip when it checks the manifest.
func TestHeadLies(t *testing.T) {
	t.Parallel()
	p, name := registry(t), "modules/vpc"
	zip := p.push(t, "1.0.0", "# 1", module.PushOptions{DryRun: true}).Zip
	p.server.Misbehave(registrytest.BlobHead, registrytest.Claim(artifact.ZipDescriptor(zip)), -1)
	if r := p.push(t, "1.0.0", "# 1", module.PushOptions{Latest: true}); r.Status != publish.Created {
		t.Errorf("%+v", r)
	}
	if !p.server.HasBlob(name, zip.Digest.String()) {
		t.Error("the zip is missing")
	}
}

// TestApproval checks that Promote and Deny process modules.
func TestApproval(t *testing.T) {
	t.Parallel()
	repositories(t, func(t *testing.T, p pushed) {
		r := p.at(t, "1.0.0")
		v := version(t, "1.0.0")
		staged := p.push(t, "1.0.0", "# 1", module.PushOptions{Stage: true})
		if staged.Tag != "pending-1.0.0" {
			t.Fatalf("got %+v", staged)
		}
		entries, err := approval.List(t.Context(), p)
		if err != nil || len(entries) != 1 || entries[0].State != publish.Pending {
			t.Fatalf("got %+v, %v", entries, err)
		}
		promoted, err := approval.Promote(t.Context(), p, r.Address, v, approval.PromoteOptions{By: "jane"})
		if err != nil || promoted.Status != publish.Promoted || promoted.Digest != staged.Digest || promoted.Packages[0].Filename != "vpc_1.0.0.zip" {
			t.Fatalf("got %+v, %v", promoted, err)
		}
		again, err := approval.Promote(t.Context(), p, r.Address, v, approval.PromoteOptions{})
		if err != nil || again.Status != publish.Unchanged {
			t.Errorf("got %+v, %v", again, err)
		}
		// A provider is not a module.
		a, err := provider.ParseAddress("acme/vpc")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = approval.Promote(t.Context(), p, a, v, approval.PromoteOptions{}); err == nil {
			t.Error("a module was promoted as a provider")
		}
		p.push(t, "1.0.0", "# 1", module.PushOptions{Latest: true})
		denied, err := approval.Deny(t.Context(), p, r.Address, v, approval.DenyOptions{Reason: "leaks a password"})
		if err != nil || denied.Status != publish.Denied {
			t.Fatalf("got %+v, %v", denied, err)
		}
		tags, err := p.Tags(t.Context())
		if err != nil || slices.Contains(tags, "1.0.0") || slices.Contains(tags, "latest") || !slices.Contains(tags, "denied-1.0.0") {
			t.Errorf("%v, %v", tags, err)
		}
		if _, err := pullTo(t, p, p.ref, filepath.Join(t.TempDir(), "out"), r.Constraint); !errors.As(err, new(*repository.DeniedError)) {
			t.Errorf("got %v", err)
		}
	})
}

// TestPromoteConflict checks that a pending module doesn't replace different content.
func TestPromoteConflict(t *testing.T) {
	t.Parallel()
	p := layout(t)
	r, v := p.at(t, "1.0.0"), version(t, "1.0.0")
	other := layout(t)
	other.push(t, "1.0.0", "# other", module.PushOptions{Stage: true})
	p.push(t, "1.0.0", "# 1", module.PushOptions{})
	if _, err := repository.Copy(t.Context(), other, p, "pending-1.0.0", repository.CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := approval.Promote(t.Context(), p, r.Address, v, approval.PromoteOptions{})
	if _, ok := errors.AsType[*repository.ConflictError](err); !ok {
		t.Errorf("got %v", err)
	}
	forced, err := approval.Promote(t.Context(), p, r.Address, v, approval.PromoteOptions{Force: true})
	if err != nil || forced.Status != publish.Replaced {
		t.Errorf("got %+v, %v", forced, err)
	}
}

// TestCopy checks that a module keeps its digest, and that an unsigned approval stays
// behind.
func TestCopy(t *testing.T) {
	t.Parallel()
	repositories(t, func(t *testing.T, to pushed) {
		from := layout(t)
		from.push(t, "1.0.0", "# 1", module.PushOptions{Stage: true})
		a, v := from.ref.Release().Address, version(t, "1.0.0")
		decided, err := approval.Promote(t.Context(), from, a, v, approval.PromoteOptions{By: "jane"})
		if err != nil {
			t.Fatal(err)
		}
		publisher := &publish.Publisher{}
		copied, err := publisher.Copy(t.Context(), from, to, a, v, publish.Options{})
		if err != nil || copied.Status != publish.Created || copied.Digest != decided.Digest || len(copied.Attached) != 0 || !copied.Packages[0].Sent {
			t.Fatalf("got %+v, %v", copied, err)
		}
		again, err := publisher.Copy(t.Context(), from, to, a, v, publish.Options{})
		if err != nil || again.Status != publish.Unchanged {
			t.Errorf("got %+v, %v", again, err)
		}
		// A tag with a different zip is a conflict.
		other := layout(t)
		other.push(t, "1.0.0", "# other", module.PushOptions{})
		_, err = publisher.Copy(t.Context(), other, to, a, v, publish.Options{})
		if _, ok := errors.AsType[*repository.ConflictError](err); !ok {
			t.Errorf("got %v", err)
		}
		replaced, err := publisher.Copy(t.Context(), other, to, a, v, publish.Options{Force: true})
		if err != nil || replaced.Status != publish.Replaced {
			t.Errorf("got %+v, %v", replaced, err)
		}
		// A provider address doesn't select a module.
		owner, err := provider.ParseAddress("acme/vpc")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := publisher.Copy(t.Context(), from, layout(t), owner, v, publish.Options{}); !errors.As(err, new(*artifact.FormatError)) {
			t.Errorf("got %v", err)
		}
	})
}

// TestPrune checks that a module can be pruned, restored, and deleted.
func TestPrune(t *testing.T) {
	t.Parallel()
	repositories(t, func(t *testing.T, p pushed) {
		v := version(t, "1.0.0")
		was := p.push(t, "1.0.0", "# 1", module.PushOptions{}).Digest
		p.push(t, "1.1.0", "# 2", module.PushOptions{})
		if pruned, err := repository.Prune(t.Context(), p, v, was); err != nil || pruned != was {
			t.Fatalf("%s, %v", pruned, err)
		}
		restored, err := approval.Restore(t.Context(), p, p.ref.Release().Address, v, publish.ActionModule, approval.PromoteOptions{})
		if err != nil || restored.Digest != was {
			t.Fatalf("%+v, %v", restored, err)
		}
		if _, err := repository.Prune(t.Context(), p, v, was); err != nil {
			t.Fatal(err)
		}
		if err := repository.DeletePruned(t.Context(), p, v, was); err != nil {
			t.Fatal(err)
		}
		tags, err := p.Tags(t.Context())
		if err != nil || !slices.Equal(tags, []string{"1.1.0"}) {
			t.Errorf("%v, %v", tags, err)
		}
		if _, err := pullTo(t, p, p.ref, filepath.Join(t.TempDir(), "out"), provider.Constraint{}); err != nil {
			t.Error(err)
		}
	})
}

// TestVerify checks the findings about modules.
func TestVerify(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		damage func(t *testing.T, p pushed, zip string)
		want   []string
	}{
		"intact": {func(*testing.T, pushed, string) {}, nil},
		"missing zip": {func(t *testing.T, p pushed, zip string) {
			t.Helper()
			if err := os.Remove(zip); err != nil {
				t.Fatal(err)
			}
		}, []string{"blob-missing"}},
		"damaged zip": {func(t *testing.T, p pushed, zip string) {
			t.Helper()
			data, err := os.ReadFile(zip)
			if err != nil {
				t.Fatal(err)
			}
			data[40] ^= 1
			if err := os.WriteFile(zip, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"blob-damaged"}},
		"not a module": {func(t *testing.T, p pushed, _ string) {
			t.Helper()
			index := artifact.NewDocument("x", "", []byte(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`))
			d, _, err := p.Manifest(t.Context(), "1.0.0")
			if err != nil {
				t.Fatal(err)
			}
			blob := artifact.Blob{Descriptor: d, Bytes: index.Bytes}
			blob.Descriptor.MediaType, blob.Descriptor.ArtifactType = "application/vnd.oci.image.index.v1+json", ""
			blob.Descriptor.Digest, blob.Descriptor.Size = index.Digest, index.Size
			if err := p.PushTag(t.Context(), blob, "1.0.0", d.Digest); err != nil {
				t.Fatal(err)
			}
		}, []string{"index-format"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := layout(t)
			r := p.push(t, "1.0.0", "# 1", module.PushOptions{})
			test.damage(t, p, filepath.Join(p.Repository.String()[len("oci-layout:"):], "blobs", "sha256", r.Zip.Digest.Encoded()))
			report, err := verify.Repository(t.Context(), p, []provider.Requirement{p.ref.Release()}, verify.Options{Deep: true})
			if err != nil || len(report.Failed) > 0 {
				t.Fatalf("%+v, %v", report.Failed, err)
			}
			var got []string
			for _, f := range report.Findings {
				if f.Severity == finding.Error {
					got = append(got, f.Code)
				}
				if strings.Contains(f.Remedy.Command, "tofu-oci mirror") {
					t.Errorf("got the remedy %+v", f.Remedy)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v", report.Findings)
			}
		})
	}
}

// TestVerifyUnsigned checks that the remedy for an unsigned module is not a command for
// providers.
func TestVerifyUnsigned(t *testing.T) {
	t.Parallel()
	p := layout(t)
	p.push(t, "1.0.0", "# 1", module.PushOptions{})
	report, err := verify.Repository(t.Context(), p, []provider.Requirement{p.ref.Release()}, verify.Options{Verify: trust.Policy{Mode: trust.ModeRequire}.Verify})
	if err != nil || len(report.Findings) != 1 {
		t.Fatalf("%+v, %v", report.Findings, err)
	}
	if f := report.Findings[0]; f.Code != "signature-unsigned" || f.Remedy != (finding.Remedy{Hint: "push the module again with --sign-key FILE"}) {
		t.Errorf("got %+v", f)
	}
}

// pullTo pulls a module to a directory.
func pullTo(t *testing.T, repo repository.Reader, r module.Reference, dir string, c provider.Constraint) (pulled pull.Pulled, err error) {
	t.Helper()
	src, wanted, err := module.Source(t.Context(), repo, r)
	if err != nil {
		return pulled, err
	}
	if wanted.Constraint.IsZero() {
		wanted.Constraint = c
	}
	err = module.Pull(t.Context(), src, wanted, dir, pull.ManyOptions{OnResult: func(p pull.Pulled) { pulled = p }})
	return pulled, errors.Join(err, pulled.Err)
}

// TestPull checks each form of a reference.
func TestPull(t *testing.T) {
	t.Parallel()
	repositories(t, func(t *testing.T, p pushed) {
		p.push(t, "1.0.0", "# 1", module.PushOptions{Latest: true})
		second := p.push(t, "1.1.0", "# 2", module.PushOptions{})
		v := version(t, "1.0.0")
		for text, test := range map[string]struct {
			module.Reference
			version, content string
		}{
			"newest":  {p.ref, "1.1.0", "# 2"},
			"version": {module.Reference{Repository: p.ref.Repository, Version: &v}, "1.0.0", "# 1"},
			"tag":     {module.Reference{Repository: p.ref.Repository, Tag: "latest"}, "1.0.0", "# 1"},
			"digest":  {module.Reference{Repository: p.ref.Repository, Digest: second.Digest}, "1.1.0", "# 2"},
		} {
			dir := filepath.Join(t.TempDir(), "modules", "vpc")
			for _, kept := range []bool{false, true} {
				got, err := pullTo(t, p, test.Reference, dir, provider.Constraint{})
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				if r := got.Packages[0]; got.Version.String() != test.version || r.Kept != kept || r.Path != dir {
					t.Errorf("%s: got %+v", text, got)
				}
			}
			content, err := os.ReadFile(filepath.Join(dir, "main.tf"))
			if err != nil || !bytes.Equal(content, []byte(test.content)) {
				t.Errorf("%s: %q, %v", text, content, err)
			}
			names, err := os.ReadDir(filepath.Dir(dir))
			if err != nil || len(names) != 1 {
				t.Errorf("%s: got %v, %v", text, names, err)
			}
		}
		missing := module.Reference{Repository: p.ref.Repository, Tag: "none"}
		if _, err := pullTo(t, p, missing, t.TempDir(), provider.Constraint{}); !errors.Is(err, provider.ErrVersionNotFound) {
			t.Errorf("got %v", err)
		}
	})
}

// TestOtherVersion checks that a tag can't pass off an old package as a new version.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	p := layout(t)
	p.push(t, "1.0.0", "# 1", module.PushOptions{})
	d, data, err := p.Manifest(t.Context(), "1.0.0")
	if err == nil {
		err = p.PushTag(t.Context(), artifact.Blob{Descriptor: d, Bytes: data}, "2.0.0", "")
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if _, err := pullTo(t, p, p.ref, dir, provider.Constraint{}); !errors.As(err, new(*provider.IdentityError)) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the package was unpacked")
	}
}
