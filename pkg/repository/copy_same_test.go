package repository_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/registrytest"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// without returns a function that removes the release's documents whose names end in
// suffix.
func without(suffix string) func(*provider.Release) {
	return func(r *provider.Release) {
		r.Documents = slices.DeleteFunc(slices.Clone(r.Documents), func(d provider.Document) bool { return strings.HasSuffix(d.Name, suffix) })
	}
}

// resigned replaces the signature with a different signature of the same name.
func resigned(r *provider.Release) {
	r.Documents = slices.Clone(r.Documents)
	r.Documents[1] = artifact.NewDocument(r.Documents[1].Name, artifact.MediaTypeSignature, []byte("a newer signature"))
}

func asItIs(*provider.Release) {}

// TestCopySameRelease checks how Copy treats an existing tag. Two releases are the same
// if their zips are the same. Copy loses no existing content.
func TestCopySameRelease(t *testing.T) {
	t.Parallel()
	haikuOnly := map[provider.Platform]string{haiku: twoZips[haiku]}
	for name, test := range map[string]struct {
		zips, there map[provider.Platform]string
		is, was     func(*provider.Release)
		// kept is set if the tag is kept. Otherwise, Copy moves the tag or, if refused
		// is not empty, returns a conflict with the reasons in refused.
		kept    bool
		refused []string
	}{
		"fewer platforms":                        {twoZips, haikuOnly, asItIs, asItIs, false, nil},
		"fewer platforms, other signature":       {twoZips, haikuOnly, asItIs, resigned, false, nil},
		"fewer platforms, more documents":        {twoZips, haikuOnly, without(".sig"), asItIs, false, []string{"terraform-provider-thing_1.2.3_SHA256SUMS.sig for haiku_riscv64 exists in the target but not in the source"}},
		"more platforms":                         {haikuOnly, twoZips, asItIs, asItIs, true, nil},
		"more platforms, less documents":         {haikuOnly, twoZips, asItIs, without(".sig"), true, nil},
		"less documents":                         {twoZips, twoZips, asItIs, without(".sig"), false, nil},
		"more documents":                         {twoZips, twoZips, without(".sig"), asItIs, true, nil},
		"some documents more, some less":         {twoZips, twoZips, without(".sig"), without(".asc"), true, nil},
		"other documents under the same names":   {twoZips, twoZips, resigned, asItIs, true, nil},
		"other annotations":                      {twoZips, twoZips, func(r *provider.Release) { r.Protocols = []string{"5.0"} }, asItIs, true, nil},
		"another zip":                            {haikuOnly, map[provider.Platform]string{haiku: "built again"}, asItIs, asItIs, false, []string{"haiku_riscv64 has zip "}},
		"another zip, and one platform more":     {haikuOnly, map[provider.Platform]string{haiku: "built again", plan9: "x"}, asItIs, asItIs, false, []string{"haiku_riscv64 has zip ", "plan9_mips64 exists in the target but not in the source"}},
		"one platform each that the other lacks": {haikuOnly, map[provider.Platform]string{plan9: twoZips[plan9]}, asItIs, asItIs, false, []string{"plan9_mips64 exists in the target but not in the source"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := newEnd(t, nil), newEnd(t, nil)
			for _, zips := range []map[provider.Platform]string{test.zips, test.there} {
				for _, zip := range zips {
					pushBlob(t, from.open(t), blob(zip))
					pushBlob(t, to.open(t), blob(zip))
				}
			}
			index := from.pushPacked(t, packEdited(t, test.zips, test.is))
			was := to.pushPacked(t, packEdited(t, test.there, test.was))
			from.attach(t, index, sbom(1))
			before := to.state(t)
			for _, dry := range []bool{true, false} {
				done, err := from.copyTo(t, to, repository.CopyOptions{DryRun: dry})
				if done.Was != was.Digest || done.Source != index.Digest || done.Forced || done.Repaired {
					t.Errorf("%+v", done)
				}
				if test.refused != nil {
					wantConflict(t, err, test.refused)
				} else if err != nil {
					t.Fatal(err)
				}
				stays := test.kept || test.refused != nil
				if done.Kept != test.kept || done.Tagged == (dry || stays) || stays != (done.Digest == was.Digest) {
					t.Errorf("dry %t: %+v", dry, done)
				}
				if (dry || stays) && to.state(t) != before {
					t.Errorf("dry %t: something was written", dry)
				}
			}
			if !test.kept && test.refused == nil {
				from.wantSame(t, to)
				return
			}
			if done := from.wantCopied(t, to, repository.CopyOptions{Force: true}); !done.Forced || !done.Tagged || done.Kept || done.Digest != index.Digest {
				t.Errorf("by force: %+v", done)
			}
		})
	}
}

func wantConflict(t *testing.T, err error, reasons []string) {
	t.Helper()
	conflict, ok := errors.AsType[*repository.ConflictError](err)
	if !ok || !slices.EqualFunc(conflict.Reasons, reasons, strings.HasPrefix) {
		t.Errorf("got %v", err)
	}
}

// TestCopyIncompleteTarget checks that Copy replaces an incomplete release with the
// source's release, unless the replacement would lose content.
func TestCopyIncompleteTarget(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		index := from.push(t, twoZips)
		to.push(t, twoZips)
		was := to.pushPacked(t, packEdited(t, twoZips, func(r *provider.Release) { r.Protocols = []string{"5.0"} }))
		to.lose(t, digest.FromString(twoZips[plan9]))
		done := from.wantCopied(t, to, repository.CopyOptions{})
		if !done.Repaired || !done.Tagged || done.Blobs != 1 || done.Was != was.Digest || done.Digest != index.Digest {
			t.Errorf("%+v", done)
		}
		to.pushPacked(t, packEdited(t, twoZips, func(r *provider.Release) {
			r.Documents = append(slices.Clone(r.Documents), artifact.NewDocument("terraform-provider-thing_1.2.3.intoto.jsonl", "application/vnd.in-toto+json", []byte("keys")))
			r.Documents[len(r.Documents)-1].Scope = provider.ScopeRelease
		}))
		to.lose(t, digest.FromString(twoZips[plan9]))
		_, err := from.copyTo(t, to, repository.CopyOptions{})
		conflict, ok := errors.AsType[*repository.ConflictError](err)
		if !ok || conflict.Reasons[len(conflict.Reasons)-1] != "existing package for plan9_mips64 is incomplete" {
			t.Errorf("got %v", err)
		}
	})
}

// TestCopyRepairs checks that Copy reports repairs, with and without DryRun.
func TestCopyRepairs(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		from.fill(t)
		from.wantCopied(t, to, repository.CopyOptions{})
		for _, lost := range []digest.Digest{pack(t, twoZips).Manifests[1].Descriptor.Digest, digest.FromString(twoZips[haiku])} {
			to.lose(t, lost)
			before := to.state(t)
			dry, err := from.copyTo(t, to, repository.CopyOptions{DryRun: true})
			if err != nil || !dry.Repaired || dry.Blobs != 0 || to.state(t) != before {
				t.Errorf("%+v, %v", dry, err)
			}
			if done := from.wantCopied(t, to, repository.CopyOptions{}); !done.Repaired || done.Tagged || done.Attached != nil {
				t.Errorf("%+v", done)
			}
		}
	})
}

// TestCopyRereads checks that Reread finds corrupted content of the correct size.
func TestCopyRereads(t *testing.T) {
	t.Parallel()
	from, to := newEnd(t, nil), newEnd(t, &registrytest.Options{})
	from.fill(t)
	from.wantCopied(t, to, repository.CopyOptions{})
	to.damage(t, blob(twoZips[haiku]), "")
	if done, err := from.copyTo(t, to, repository.CopyOptions{}); err != nil || done.Repaired {
		t.Errorf("%+v, %v", done, err)
	}
	dry, err := from.copyTo(t, to, repository.CopyOptions{Reread: true, DryRun: true})
	if err != nil || !dry.Repaired || dry.Blobs != 0 {
		t.Errorf("%+v, %v", dry, err)
	}
	if done := from.wantCopied(t, to, repository.CopyOptions{Reread: true}); !done.Repaired || done.Blobs != 1 || !done.Packages[0].Sent || done.Packages[1].Sent {
		t.Errorf("%+v", done)
	}
}

// TestCopyExpectedProvider checks that the source and the target must contain the requested
// provider, or a provider that an alias allows.
func TestCopyExpectedProvider(t *testing.T) {
	t.Parallel()
	from, to := newEnd(t, nil), newEnd(t, nil)
	from.fill(t)
	a, v := thing(t)
	other, err := provider.ParseAddress("registry.example.org/else/thing")
	if err != nil {
		t.Fatal(err)
	}
	_, err = from.copyTo(t, to, repository.CopyOptions{Provider: other, Force: true})
	if e, ok := errors.AsType[*repository.ProviderMismatchError](err); !ok || e.Wanted != other || to.at(t, tag) != "" {
		t.Fatalf("got %v", err)
	}
	alias, err := provider.ParseAlias(other.String() + "=" + a.String())
	if err != nil {
		t.Fatal(err)
	}
	done := from.wantCopied(t, to, repository.CopyOptions{Provider: other, Aliases: provider.Aliases{alias}})
	if p := done.Packages[0].Package; p.Address != other || p.Version != v || p.Filename != "terraform-provider-thing_1.2.3_haiku_riscv64.zip" {
		t.Errorf("%+v", p)
	}
	if diff := cmp.Diff(copied(t, true)[1].Package.Digest, done.Packages[1].Package.Digest); diff != "" {
		t.Error(diff)
	}
}

// TestCopyDryRunReportsReferrers checks that a dry run reports new referrers and writes
// nothing.
func TestCopyDryRunReportsReferrers(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, from, to *end) {
		index := from.push(t, twoZips)
		from.wantCopied(t, to, repository.CopyOptions{})
		from.attach(t, index, sbom(1))
		before := to.state(t)
		dry, err := from.copyTo(t, to, repository.CopyOptions{DryRun: true})
		if err != nil || dry.Repaired || !slices.Equal(dry.Attached, []string{sbom(1).Name}) || to.state(t) != before {
			t.Errorf("%+v, %v", dry, err)
		}
		done := from.wantCopied(t, to, repository.CopyOptions{})
		if done.Repaired || !slices.Equal(done.Attached, dry.Attached) {
			t.Errorf("%+v", done)
		}
	})
}
