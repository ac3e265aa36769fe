package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/doctor"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/cliconfig"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/installation"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// stub is a repository with manifests by tag and digest.
type stub struct {
	manifests map[string][]byte
	tags      []string
	noZips    bool
	err       error
}

func (r *stub) String() string { return "ghcr.io/acme/x" }

func (r *stub) Capabilities() repository.Capabilities { return repository.Capabilities{} }

func (r *stub) Blob(context.Context, ocispec.Descriptor) (io.ReadCloser, error) {
	return nil, repository.ErrNotFound
}

func (r *stub) Tags(context.Context) ([]string, error) { return r.tags, r.err }

func (r *stub) Manifest(_ context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	data, found := r.manifests[reference]
	if !found {
		return ocispec.Descriptor{}, nil, repository.ErrNotFound
	}
	return ocispec.Descriptor{Digest: digest.FromBytes(data), Size: int64(len(data))}, data, nil
}

func (r *stub) Stat(_ context.Context, d ocispec.Descriptor) (int64, error) {
	if d.Digest == ocispec.DescriptorEmptyJSON.Digest {
		return ocispec.DescriptorEmptyJSON.Size, nil
	}
	if r.noZips {
		return 0, repository.ErrNotFound
	}
	return 3, nil
}

// completeRepository returns a repository that contains acme/x 1.2.3 for hurd_ia64.
func completeRepository(t *testing.T, a provider.Address) *stub {
	t.Helper()
	v, err := provider.ParseVersion("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	p := provider.Platform{OS: "hurd", Arch: "ia64"}
	packed, err := artifact.Pack(provider.Release{Address: a, Version: v, Packages: []provider.Package{{
		Address: a, Version: v, Platform: p, Filename: provider.Filename(a, v, p), Digest: digest.FromString("zip"), Size: 3,
	}}}, artifact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &stub{manifests: map[string][]byte{"1.2.3": packed.Index.Bytes}, tags: []string{"1.2.3"}}
	for _, m := range packed.Manifests {
		r.manifests[m.Descriptor.Digest.String()] = m.Bytes
	}
	return r
}

// annotate changes a release's provider annotation.
func (r *stub) annotate(tag, address string) {
	r.manifests[tag] = bytes.ReplaceAll(r.manifests[tag], []byte(`"registry.opentofu.org/acme/x"`), []byte(`"`+address+`"`))
}

// rename replaces a string in the package's manifest with a string of the same length.
func (r *stub) rename(was, is string) {
	for reference, data := range r.manifests {
		if reference == "1.2.3" {
			continue
		}
		renamed := bytes.ReplaceAll(data, []byte(was), []byte(is))
		d := digest.FromBytes(renamed).String()
		delete(r.manifests, reference)
		r.manifests[d] = renamed
		r.manifests["1.2.3"] = bytes.ReplaceAll(r.manifests["1.2.3"], []byte(reference), []byte(d))
		return
	}
}

func TestExamine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage   func(*stub, *doctor.Options)
		platform string
		want     []string
	}{
		"well":             {func(*stub, *doctor.Options) {}, "hurd_ia64", []string{}},
		"another platform": {func(*stub, *doctor.Options) {}, "plan9_sparc", []string{"error platform-missing"}},
		"no index":         {func(r *stub, _ *doctor.Options) { r.manifests["1.2.3"] = []byte("{}") }, "hurd_ia64", []string{"error tag-not-provider"}},
		"no manifest": {func(r *stub, _ *doctor.Options) {
			r.manifests = map[string][]byte{"1.2.3": r.manifests["1.2.3"]}
		}, "hurd_ia64", []string{"error artifact-broken"}},
		"no zip":                 {func(r *stub, _ *doctor.Options) { r.noZips = true }, "hurd_ia64", []string{"error artifact-broken"}},
		"no credentials, denied": {func(r *stub, _ *doctor.Options) { r.err = provider.ErrForbidden }, "hurd_ia64", []string{"error login-missing"}},
		"denied": {func(r *stub, o *doctor.Options) {
			r.err = provider.ErrForbidden
			o.Login = func(context.Context, string) doctor.Login { return doctor.Login{Found: true, OpenTofu: true} }
		}, "hurd_ia64", []string{"error access-denied"}},
		"no repository": {func(r *stub, _ *doctor.Options) { r.err = repository.ErrNoRepository }, "hurd_ia64", []string{"error repository-missing"}},
		"out of order":  {func(r *stub, _ *doctor.Options) { r.err = fmt.Errorf("503") }, "hurd_ia64", []string{"error registry-failed"}},
		"plain HTTP":    {func(_ *stub, o *doctor.Options) { o.PlainHTTP = []string{"ghcr.io"} }, "hurd_ia64", []string{"error plain-http"}},
		"other plain":   {func(_ *stub, o *doctor.Options) { o.PlainHTTP = []string{"quay.io"} }, "hurd_ia64", []string{}},
		"a CA":          {func(_ *stub, o *doctor.Options) { o.CAFile = "ca.pem" }, "hurd_ia64", []string{"note ca-file"}},
		"a client certificate": {func(_ *stub, o *doctor.Options) {
			o.HasClientCertificate = func(registry string) (bool, error) { return registry == "ghcr.io", nil }
		}, "hurd_ia64", []string{"note client-certificate"}},
		"another namespace": {func(r *stub, _ *doctor.Options) { r.annotate("1.2.3", "example.com/other/x") }, "hurd_ia64", []string{"error provider-differs"}},
		"another type":      {func(r *stub, _ *doctor.Options) { r.annotate("1.2.3", "registry.opentofu.org/acme/y") }, "hurd_ia64", []string{"error provider-differs"}},
		"declared": {func(r *stub, o *doctor.Options) {
			r.annotate("1.2.3", "example.com/other/x")
			alias, err := provider.ParseAlias("acme/*=example.com/other/*")
			if err != nil {
				panic(err)
			}
			o.Aliases = provider.Aliases{alias}
		}, "hurd_ia64", []string{"note provider-aliased"}},
		"shared": {func(r *stub, _ *doctor.Options) {
			r.manifests["1.2.2"], r.tags = r.manifests["1.2.3"], []string{"1.2.2", "1.2.3"}
			r.annotate("1.2.2", "registry.opentofu.org/acme/y")
		}, "hurd_ia64", []string{"error repository-shared"}},
		"shared, lost": {func(r *stub, _ *doctor.Options) { r.tags = []string{"1.2.2", "1.2.3"} }, "hurd_ia64", []string{}},
		"another name": {func(r *stub, _ *doctor.Options) {
			r.rename("terraform-provider-x_1.2.3_", "terraform-provider-x_1.2.0_")
		}, "hurd_ia64", []string{"error name-differs"}},
		"not for others": {func(_ *stub, o *doctor.Options) { o.Wanted.Address.Namespace = "other" }, "hurd_ia64", []string{"error no-method"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, repo := options(t)
			var err error
			if o.Platform, err = provider.ParsePlatform(test.platform); err != nil {
				t.Fatal(err)
			}
			test.damage(repo, &o)
			report, err := doctor.Examine(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, codes(report.Findings)); diff != "" {
				t.Error(diff)
			}
			if _, err := json.Marshal(report); err != nil {
				t.Error(err)
			}
		})
	}
}

func options(t *testing.T) (doctor.Options, *stub) {
	t.Helper()
	wanted, err := provider.ParseRequirement("acme/x")
	if err != nil {
		t.Fatal(err)
	}
	config, err := cliconfig.Parse("t.tfrc", []byte(block("oci_mirror {\n  repository_template = \"ghcr.io/acme/${type}\"\n  include = [\"acme/*\"]\n}")))
	if err != nil {
		t.Fatal(err)
	}
	i, err := installation.New(installation.Options{Config: config, OCI: func(template.Template) provider.Source { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	repo := completeRepository(t, wanted.Address)
	open := func(template.Reference) (repository.Reader, error) { return repo, nil }
	return doctor.Options{
		Wanted: wanted, Config: config, Installation: i, Repository: open, Anonymous: open,
		Login: func(context.Context, string) doctor.Login { return doctor.Login{OpenTofu: true} },
	}, repo
}
