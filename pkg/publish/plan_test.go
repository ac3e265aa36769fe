package publish_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// planCase describes the content of a tag, the content of the source, and the expected
// plan.
type planCase struct {
	name string
	// tag describes the content of the tag as a list of "platform=zip". A mark can
	// follow the platform: "!" if its zip is lost, "?" if its manifest is lost, "~" if
	// its manifest has a different format, and "@" if its zip has the name of a
	// different provider. A description in brackets applies to the entire tag: [none],
	// [index lost], [other format], or [other provider].
	tag string
	// tagSums and sourceSums describe SHA256SUMS: "" means that it is missing, "ours"
	// is generated, "theirs" is from a publisher, and "signed" has a signature. By
	// default, SHA256SUMS lists all packages. "theirs:linux" lists only the package for
	// linux.
	tagSums, sourceSums string
	// source describes the source's packages in the same form as tag. extra describes
	// packages that the source can restore but that were not requested.
	source, extra string
	force         bool
	// around lists further conditions. "denied" means that the version is denied.
	// "skipped" means that denied versions are skipped even with force. "listed" checks
	// only the list of tags, which contains the version. "published" means that the
	// platforms of the source are known. "other owner" means that the repository
	// belongs to a different provider. "stage" stages the release, so tag describes the
	// published release.
	around string

	status   publish.Status
	send     string
	release  string // platforms in the release that the tag will point to
	sums     string // kind of SHA256SUMS in that release: "", "ours", "theirs", "signed"
	dropped  string
	added    string // suffixes of the added file names
	conflict string // part of the conflict; if set, the plan does nothing
	requests bool   // whether the source's release is read even though nothing is sent
	planned  string // tag of the plan if it differs from the version's tag
}

var planManual = []planCase{
	// created: the tag did not exist.
	{name: "a new tag", tag: "[none]", source: "linux=a plan9=b", sourceSums: "signed", status: publish.Created, send: "linux plan9", release: "linux plan9", sums: "signed"},
	{name: "without sums", tag: "[none]", source: "linux=a", status: publish.Created, send: "linux", release: "linux"},

	// unchanged: every requested platform exists, has the same zip, and is complete.
	{name: "the same", tag: "linux=a plan9=b", tagSums: "theirs", source: "linux=a plan9=b", sourceSums: "theirs", status: publish.Unchanged},
	{name: "a part of it", tag: "linux=a plan9=b", tagSums: "theirs", source: "plan9=b", sourceSums: "theirs", status: publish.Unchanged},
	{name: "other sums do not count", tag: "linux=a", tagSums: "ours", source: "linux=a", sourceSums: "theirs", status: publish.Unchanged},
	{name: "nor do those that are signed again", tag: "linux=a", tagSums: "signed", source: "linux=a", sourceSums: "signed:linux", status: publish.Unchanged},
	{name: "force changes nothing", tag: "linux=a", tagSums: "ours", source: "linux=a", sourceSums: "ours", force: true, status: publish.Unchanged},
	{name: "platform that was not requested is damaged", tag: "linux=a plan9!=b", tagSums: "theirs", source: "linux=a", sourceSums: "theirs", status: publish.Unchanged},

	// extended: platforms are added, and the packages of the other platforms are equal.
	{name: "a new platform", tag: "linux=a", tagSums: "theirs", source: "linux=a plan9=b", sourceSums: "theirs", status: publish.Extended, send: "plan9", release: "linux plan9", sums: "theirs"},
	{name: "only the new one", tag: "linux=a", tagSums: "theirs", source: "plan9=b", sourceSums: "theirs:linux,plan9", status: publish.Extended, send: "plan9", release: "linux plan9", sums: "theirs"},
	{name: "the new sums leave out the old", tag: "linux=a", tagSums: "theirs", source: "plan9=b", sourceSums: "theirs:plan9", conflict: "the new terraform-provider-thing_1.2.3_SHA256SUMS does not match the stored package for linux_amd64"},
	{name: "by force they do", tag: "linux=a", tagSums: "theirs", source: "plan9=b", sourceSums: "theirs:plan9", force: true, status: publish.Replaced, send: "plan9", release: "plan9", sums: "theirs", dropped: "linux"},
	{name: "generated sums are generated again", tag: "linux=a", tagSums: "ours", source: "plan9=b", sourceSums: "ours", status: publish.Extended, send: "plan9", release: "linux plan9", sums: "ours"},
	{name: "stored sums that list all stay", tag: "linux=a", tagSums: "signed:linux,plan9", source: "plan9=b", sourceSums: "ours", status: publish.Extended, send: "plan9", release: "linux plan9", sums: "signed"},
	{name: "stored signed sums are not given up", tag: "linux=a", tagSums: "signed:linux", source: "plan9=b", sourceSums: "ours", conflict: "the stored terraform-provider-thing_1.2.3_SHA256SUMS does not match the package for plan9_mips, and the source has no replacement"},
	{name: "by force they are", tag: "linux=a", tagSums: "signed:linux", source: "plan9=b", sourceSums: "ours", force: true, status: publish.Replaced, send: "plan9", release: "linux plan9", sums: "ours"},
	{name: "no SHA256SUMS", tag: "linux=a", source: "plan9=b", status: publish.Extended, send: "plan9", release: "linux plan9"},

	// extended: documents that match the stored zips are added.
	{name: "a signature comes later", tag: "linux=a plan9=b", tagSums: "ours", source: "linux=a plan9=b", sourceSums: "signed", status: publish.Extended, release: "linux plan9", sums: "signed", added: "SHA256SUMS.sig"},
	{name: "sums come later", tag: "linux=a", source: "linux=a", sourceSums: "theirs", status: publish.Extended, release: "linux", sums: "theirs", added: "SHA256SUMS"},
	{name: "signed sums that do not list all", tag: "linux=a plan9=b", tagSums: "ours", source: "linux=a", sourceSums: "signed:linux", conflict: "the new terraform-provider-thing_1.2.3_SHA256SUMS does not match the stored package for plan9_mips"},
	{name: "sums of our own are no documents", tag: "linux=a", source: "linux=a", sourceSums: "ours", status: publish.Unchanged},

	// repaired: missing content is restored.
	{name: "the index is lost", tag: "[index lost]", source: "linux=a", sourceSums: "theirs", status: publish.Repaired, send: "linux", release: "linux", sums: "theirs"},
	{name: "a zip is lost", tag: "linux!=a plan9=b", tagSums: "theirs", source: "linux=a plan9=b", sourceSums: "theirs", status: publish.Repaired, send: "linux", release: "linux plan9", sums: "theirs"},
	{name: "a manifest is lost", tag: "linux?=a plan9=b", tagSums: "theirs", source: "linux=a plan9=b", sourceSums: "theirs", status: publish.Repaired, send: "linux", release: "linux plan9", sums: "theirs"},
	{name: "platform that was not requested is restored", tag: "linux!=a plan9!=b", tagSums: "theirs", source: "linux=a", extra: "plan9=b", sourceSums: "theirs:linux,plan9", status: publish.Repaired, send: "linux plan9", release: "linux plan9", sums: "theirs"},
	{name: "a new one counts more", tag: "linux!=a", tagSums: "theirs", source: "linux=a plan9=b", sourceSums: "theirs", status: publish.Extended, send: "linux plan9", release: "linux plan9", sums: "theirs"},
	{name: "damaged package that the source does not have", tag: "linux!=a plan9!=b", tagSums: "ours", source: "linux=a", sourceSums: "ours", conflict: "the package for plan9_mips is damaged in the repository, and the source does not have it"},
	{name: "is dropped by force", tag: "linux!=a plan9!=b", tagSums: "ours", source: "linux=a", sourceSums: "ours", force: true, status: publish.Replaced, send: "linux", release: "linux", sums: "ours", dropped: "plan9"},
	{name: "restored with other bytes", tag: "linux!=a plan9!=b", tagSums: "theirs", source: "linux=a", extra: "plan9=c", sourceSums: "theirs:linux,plan9", conflict: "plan9_mips has zip"},

	// conflict: the content or the provider differs. With force, the release is
	// replaced.
	{name: "another zip", tag: "linux=a", tagSums: "theirs", source: "linux=c", sourceSums: "theirs", conflict: "linux_amd64 has zip"},
	{name: "another zip, by force", tag: "linux=a", tagSums: "theirs", source: "linux=c", sourceSums: "theirs", force: true, status: publish.Replaced, send: "linux", release: "linux", sums: "theirs"},
	{name: "another zip with an equal one, by force", tag: "linux=a plan9=b", tagSums: "theirs", source: "linux=c plan9=b", sourceSums: "theirs", force: true, status: publish.Replaced, send: "linux", release: "linux plan9", sums: "theirs"},
	{name: "a manifest of another format", tag: "linux~=a", source: "linux=a", conflict: "linux_amd64: not a provider artifact"},
	{name: "a package of another name", tag: "linux@=a", source: "linux=a", conflict: `linux_amd64: "terraform-provider-other_1.2.3_linux_amd64.zip" is the name of other 1.2.3`},
	{name: "a package of another name, by force", tag: "linux@=a", source: "linux=a", force: true, status: publish.Replaced, send: "linux", release: "linux"},
	{name: "another provider", tag: "[other provider]", source: "linux=a", conflict: "tag 1.2.3 points to provider registry.example.org/acme/other"},
	{name: "another provider, by force", tag: "[other provider]", source: "linux=a", force: true, status: publish.Replaced, send: "linux", release: "linux"},
	{name: "other format", tag: "[other format]", source: "linux=a", conflict: "tag 1.2.3 does not point to a provider"},
	{name: "other format, force", tag: "[other format]", source: "linux=a", force: true, status: publish.Replaced, send: "linux", release: "linux"},

	// Shortcuts: Release does not read the source's release if the existing content is
	// known to be complete.
	{name: "listed", around: "listed", tag: "[none]", source: "linux=a", status: publish.Unchanged},
	{name: "complete", around: "published", tag: "linux=a", source: "linux=a", status: publish.Unchanged},
	{name: "not looked at closely", around: "published", tag: "linux?=a", source: "linux=a", status: publish.Repaired, send: "linux", release: "linux"},
	{name: "local builds are read", tag: "linux=a", source: "linux=a", status: publish.Unchanged, requests: true},

	// Ownership: no tag is written in a different provider's repository.
	{name: "another owner", around: "other owner", tag: "[none]", source: "linux=a", conflict: "tag 1.2.2 points to provider"},

	// Denial: a denial takes precedence. Force overrides it unless denied versions are
	// skipped.
	{name: "denied", around: "denied", tag: "linux=a", source: "linux=a", status: publish.Denied},
	{name: "denied and listed", around: "denied listed", tag: "linux=a", source: "linux=a", status: publish.Denied},
	{name: "denied, by force", around: "denied", tag: "[none]", source: "linux=a", force: true, status: publish.Created, send: "linux", release: "linux"},
	{name: "denied, by force, and not named", around: "denied skipped", tag: "[none]", source: "linux=a", force: true, status: publish.Denied},

	// Staging: a published release is unchanged, and a pending release can be extended.
	{name: "nothing is staged yet", around: "stage", tag: "[none]", source: "linux=a", status: publish.Created, send: "linux", release: "linux", planned: "pending-1.2.3"},
	{name: "released already", around: "stage", tag: "linux=a", source: "linux=a", status: publish.Unchanged, requests: true, planned: "1.2.3"},
	{name: "more than is released", around: "stage", tag: "linux=a", source: "linux=a plan9=b", status: publish.Extended, send: "plan9", release: "linux plan9", planned: "pending-1.2.3"},
	{name: "conflicts with the released version", around: "stage", tag: "linux=a", source: "linux=c", conflict: "linux_amd64 has zip"},
}

func TestPlan(t *testing.T) {
	t.Parallel()
	for _, test := range planManual {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			old, source := test.facts(t), test.sourceRelease(t)
			o := test.apply(t, &old)
			before := fmt.Sprint(source)
			got, requested := publish.NewPlan(old, source, o)
			if fmt.Sprint(source) != before {
				t.Error("the argument was changed")
			}
			if test.conflict != "" {
				if len(got.Conflicts) == 0 || !strings.Contains(strings.Join(got.Conflicts, "; "), test.conflict) {
					t.Errorf("got conflicts %q, want %q", got.Conflicts, test.conflict)
				}
				return
			}
			if got.Status != test.status || got.Conflicts != nil {
				t.Fatalf("got status %s, conflicts %q, want %s", got.Status, got.Conflicts, test.status)
			}
			if test.planned != "" && got.Tag != test.planned {
				t.Errorf("got a plan for tag %s, want %s", got.Tag, test.planned)
			}
			if test.status == publish.Denied || test.status == publish.Unchanged {
				if test.around != "" && requested != test.requests {
					t.Errorf("got a request to the source: %t, want %t", requested, test.requests)
				}
				return
			}
			for what, pair := range map[string][2]string{
				"sent": {test.send, short(got.Send)}, "named": {test.release, short(got.ReleaseForTest().Platforms())},
				"dropped": {test.dropped, short(got.Dropped)}, "added": {test.added, ends(got.Added)}, "sums": {test.sums, whose(t, got.ReleaseForTest())},
			} {
				if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
					t.Errorf("%s (-want +got): %s", what, diff)
				}
			}
			if again, _ := publish.NewPlan(old, source, o); cmp.Diff(whose(t, got.ReleaseForTest()), whose(t, again.ReleaseForTest())) != "" || short(again.Send) != short(got.Send) {
				t.Error("equal facts result in another plan")
			}
		})
	}
}

// apply adds the conditions of the case to the facts, and returns the policy.
func (c planCase) apply(t *testing.T, facts *publish.FactsForTest) publish.PolicyForTest {
	t.Helper()
	o := publish.PolicyForTest{Force: c.force}
	if strings.Contains(c.around, "denied") {
		facts.Denial = &repository.DecisionRecord{Decision: artifact.Decision{Reason: "it phones home"}}
	}
	if strings.Contains(c.around, "listed") {
		o.Listed, facts.Tags = true, []string{"1.2.2", "1.2.3"}
	}
	if strings.Contains(c.around, "published") {
		packages, _ := c.packages(t, c.source)
		facts.Wanted = provider.Release{Packages: packages}.Platforms()
	}
	if strings.Contains(c.around, "other owner") {
		facts.Owner = &repository.ProviderMismatchError{Tag: "1.2.2", Provider: "registry.example.org/acme/other"}
	}
	if strings.Contains(c.around, "stage") {
		facts.Pending = &repository.Inspection{Tag: "pending-1.2.3"}
	}
	o.SkipDenied = strings.Contains(c.around, "skipped")
	return o
}

// TestPlanAsJSON checks the JSON form of a plan, because other programs read it.
func TestPlanAsJSON(t *testing.T) {
	t.Parallel()
	for _, test := range planManual {
		var golden string
		switch test.name {
		case "another zip":
			golden = `{"provider":"registry.example.org/acme/thing","version":"1.2.3","status":"repaired","tag":"1.2.3","from":"sha256:1bc04b5291c26a46d918139138b992d2de976d6851d0893b0476b85bfbdfc6e6",` +
				`"conflicts":["linux_amd64 has zip sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb, but the source has sha256:2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6"]}`
		case "more than is released":
			golden = `{"provider":"registry.example.org/acme/thing","version":"1.2.3","status":"extended","tag":"pending-1.2.3","send":["plan9_mips"]}`
		case "denied":
			golden = `{"provider":"registry.example.org/acme/thing","version":"1.2.3","status":"denied","tag":"1.2.3","from":"sha256:1bc04b5291c26a46d918139138b992d2de976d6851d0893b0476b85bfbdfc6e6","denial":"it phones home"}`
		default:
			continue
		}
		facts := test.facts(t)
		o := test.apply(t, &facts)
		plan, _ := publish.NewPlan(facts, test.sourceRelease(t), o)
		got, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(golden, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

var planPlatforms = map[string]provider.Platform{"linux": {OS: "linux", Arch: "amd64"}, "plan9": nouns.Plan9}

// ends removes the common prefix of the names.
func ends(names []string) string {
	var all []string
	for _, name := range names {
		all = append(all, strings.TrimPrefix(name, "terraform-provider-thing_1.2.3_"))
	}
	return strings.Join(all, " ")
}

func short(platforms []provider.Platform) string {
	var names []string
	for _, p := range provider.SortPlatforms(platforms) {
		names = append(names, p.OS)
	}
	return strings.Join(names, " ")
}

// packages parses a description such as "linux=a plan9!=b". It returns the packages,
// and maps platforms to their marks.
func (c planCase) packages(t *testing.T, text string) (packages []provider.Package, marks map[provider.Platform]string) {
	t.Helper()
	a, v := nouns.Address(t, "registry.example.org/acme/thing"), nouns.Version(t, "1.2.3")
	marks = map[provider.Platform]string{}
	for word := range strings.FieldsSeq(text) {
		name, zip, _ := strings.Cut(word, "=")
		bare := strings.TrimRight(name, "!?~@")
		platform := planPlatforms[bare]
		marks[platform] = strings.TrimPrefix(name, bare)
		packages = append(packages, provider.Package{
			Address: a, Version: v, Platform: platform, Filename: provider.Filename(a, v, platform), Digest: digest.FromString(zip), Size: 1,
		})
	}
	return packages, marks
}

// documents returns the checksums and the signature of the given kind, such as
// "theirs:linux".
func (c planCase) documents(t *testing.T, kind string, packages []provider.Package) []provider.Document {
	t.Helper()
	kind, only, narrowed := strings.Cut(kind, ":")
	if kind == "" {
		return nil
	}
	listed := map[string]digest.Digest{}
	all, _ := c.packages(t, c.tag+" "+c.extra+" "+c.source)
	for _, p := range slices.Concat(all, packages) {
		if !narrowed || slices.Contains(strings.Split(only, ","), p.Platform.OS) {
			listed[p.Filename] = p.Digest
		}
	}
	name := "terraform-provider-thing_1.2.3_SHA256SUMS"
	text := append(sums.New(listed).Bytes(), "# "+kind+"\n"...)
	documents := []provider.Document{artifact.NewDocument(name, artifact.MediaTypeSums, text)}
	documents[0].Generated = kind == "ours"
	if kind == "signed" {
		documents = append(documents, artifact.NewDocument(name+".sig", artifact.MediaTypeSignature, []byte("signature")))
	}
	return documents
}

// whose returns the kind of SHA256SUMS in a release.
func whose(t *testing.T, r provider.Release) string {
	t.Helper()
	listed, has := r.Document(provider.KindSums)
	if !has {
		return ""
	}
	if listed.Generated {
		return "ours"
	}
	_, comment, _ := strings.Cut(string(listed.Bytes), "# ")
	return strings.TrimSpace(comment)
}

func (c planCase) sourceRelease(t *testing.T) provider.Release {
	t.Helper()
	packages, _ := c.packages(t, c.source)
	r := provider.Release{Address: packages[0].Address, Version: packages[0].Version, Packages: packages}
	r.Documents = c.documents(t, c.sourceSums, packages)
	return r
}

// facts returns the facts that an inspection of the repository would return.
func (c planCase) facts(t *testing.T) publish.FactsForTest {
	t.Helper()
	format := &artifact.FormatError{Problem: "is a container image"}
	h := publish.FactsForTest{Inspection: repository.Inspection{Tag: "1.2.3", Digest: digest.FromString("index"), Platforms: map[provider.Platform]repository.InspectedPackage{}}}
	switch c.tag {
	case "[none]":
		h.Digest = ""
		return h
	case "[index lost]":
		h.Inspection.Dangling = true
		return h
	case "[other format]":
		h.Format = format
		return h
	case "[other provider]":
		h.Index.Annotations = map[string]string{artifact.AnnotationProvider: "registry.example.org/acme/other"}
		return h
	}
	packages, marks := c.packages(t, c.tag)
	wanted, _ := c.packages(t, c.source)
	h.Kept = provider.Release{Address: packages[0].Address, Version: packages[0].Version}
	for _, p := range packages {
		f := repository.InspectedPackage{Target: artifact.Target{Platform: p.Platform, Descriptor: ocispec.Descriptor{
			Annotations: map[string]string{"io.github.tofu-oci.zh": "zh:" + p.Digest.Encoded()}}}}
		f.Manifest.Zip.Digest = p.Digest
		for _, d := range c.documents(t, c.tagSums, packages) {
			f.Manifest.Documents = append(f.Manifest.Documents, ocispec.Descriptor{
				MediaType: d.MediaType, Digest: d.Digest, Size: d.Size, Annotations: map[string]string{ocispec.AnnotationTitle: d.Name},
			})
		}
		switch marks[p.Platform] {
		case "!":
			f.Missing = []digest.Digest{p.Digest}
		case "@":
			f.Manifest.Title = "terraform-provider-other_1.2.3_" + p.Platform.String() + ".zip"
		case "?":
			f.Manifest, f.Err = artifact.Manifest{}, repository.ErrNotFound
		case "~":
			f.Manifest, f.Err = artifact.Manifest{}, format
		}
		h.Index.Targets = append(h.Index.Targets, f.Target)
		h.Platforms[p.Platform] = f
		at := slices.IndexFunc(wanted, func(w provider.Package) bool { return w.Platform == p.Platform })
		switch {
		case f.IsIntact() && marks[p.Platform] != "@" && (at < 0 || wanted[at].Digest == p.Digest):
			h.Kept.Packages = append(h.Kept.Packages, p)
		case at < 0 && !strings.Contains(c.extra, p.Platform.OS):
			h.Lost = append(h.Lost, p.Platform)
		}
	}
	h.Restored, _ = c.packages(t, c.extra)
	h.Kept.Documents = c.documents(t, c.tagSums, packages)
	return h
}
