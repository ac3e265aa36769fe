package doctor

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/internal/httpclient"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// Probe describes what the registry of a repository supports.
type Probe struct {
	Repository string `json:"repository"`
	// Tag is the tag of the pushed artifact. The tags of other artifacts start with Tag.
	Tag    string  `json:"tag"`
	Checks []Check `json:"checks"`
	// Left lists the tags and manifests that could not be deleted, or that might still
	// exist.
	Left []string `json:"left"`
	// leftErr explains why content is left.
	leftErr error
	// registry is the registry of the repository.
	registry string
}

// Check is the result of one check of a [Probe].
type Check struct {
	Name   string      `json:"name"`
	Result CheckResult `json:"result"`
	// Details describes the fallback, or the reason for the result.
	Details string `json:"details,omitempty"`
	// Affects lists the commands that don't work, or that don't work completely.
	Affects []string `json:"affects,omitempty"`
	err     error
}

// CheckResult is the result of a [Check].
type CheckResult string

const (
	// CheckWorks means that the registry supports the feature.
	CheckWorks CheckResult = "works"
	// CheckFallback means that the registry doesn't support the feature, so tofu-oci
	// uses something else instead.
	CheckFallback CheckResult = "fallback"
	// CheckFails means that the registry doesn't support the feature.
	CheckFails CheckResult = "fails"
	// CheckUnknown means that the result could not be determined.
	CheckUnknown CheckResult = "unknown"
)

// probedProvider is the provider of the pushed release. The host can't exist.
var probedProvider = provider.Address{Host: "tofu-oci.invalid", Namespace: "doctor", Type: "probe"}

// probeNote is the content of the pushed files, for readers who find them.
const probeNote = "This file was pushed by tofu-oci to find out what the registry supports. It can be deleted.\n"

// probe is the state of a call to [RunProbe].
type probe struct {
	Probe
	repo    *journal
	version provider.Version
	zip     []byte
}

// RunProbe finds out what a registry supports. It pushes a release and records to a
// repository, under tags that clients ignore. It then deletes the pushed content, even
// if ctx is canceled. If ctx is canceled, the remaining results are unknown, and
// RunProbe returns the cause.
func RunProbe(ctx context.Context, repo repository.Repository) (Probe, error) {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	p := &probe{repo: &journal{Repository: repo, accepted: map[digest.Digest]bool{}}}
	p.Repository, p.registry, p.Tag, p.Left = repo.String(), repo.Capabilities().Registry, artifact.ProbeTag(id), []string{}
	err := p.prepare(id)
	if err != nil {
		return p.Probe, err
	}
	p.run(ctx)
	p.cleanUp(ctx)
	return p.Probe, ctx.Err()
}

// prepare creates the content. It is different in each run, so that a run never deletes
// content of another run.
func (p *probe) prepare(id string) (err error) {
	if p.version, err = provider.ParseVersion("0.0.0-probe-" + id); err != nil {
		return err
	}
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	header := &zip.FileHeader{Name: "terraform-provider-" + probedProvider.Type}
	header.SetMode(0o755)
	file, err := archive.CreateHeader(header)
	if err == nil {
		_, err = file.Write([]byte(probeNote + id + "\n"))
	}
	if err == nil {
		err = archive.Close()
	}
	p.zip = b.Bytes()
	return err
}

// run performs the checks. Later checks depend on the content that earlier checks pushed.
func (p *probe) run(ctx context.Context) {
	blob := ocispec.Descriptor{MediaType: artifact.MediaTypeZip, Digest: digest.FromBytes(p.zip), Size: int64(len(p.zip))}
	p.add("upload", p.repo.PushBlob(ctx, blob, bytes.NewReader(p.zip)))
	if p.Checks[0].Result != CheckWorks {
		p.skip("requires an upload", "provider-manifest", "tag-list", "referrers", "document", "decision", "denial", "sync-record", "move-tag", "delete-tag", "blob-head", "blob-range", "manifest-head", "delete-manifest")
		return
	}
	index, err := p.pushRelease(ctx, blob)
	if err == nil {
		p.checkTagList(ctx)
		p.checkReferrers(ctx, index.Descriptor)
		p.checkDenial(ctx, index.Descriptor)
	} else {
		p.skip(requiresRelease, "tag-list", "referrers", "document", "decision", "denial")
	}
	p.checkTags(ctx)
	p.checkBlob(ctx, blob)
	if err != nil {
		p.skip(requiresRelease, "manifest-head", "delete-manifest")
		return
	}
	// The tag already points to the index, so it is read, but not written.
	err = p.repo.PushTag(ctx, index, p.Tag, "")
	if missing := p.repo.Capabilities().Missing(); err == nil && (missing.ManifestHead || missing.ManifestSize) {
		err = errNotDescribed
	}
	p.add("manifest-head", err)
	p.add("delete-manifest", p.repo.Capabilities().DeleteManifest(ctx, index.Descriptor.Digest, p.Tag))
}

const (
	requiresRelease = "requires the manifests of a provider"
	getInstead      = "GET requests instead"
)

// add adds the result of a check. If the error can have other causes than a missing feature,
// the result is unknown.
func (p *probe) add(name string, err error) {
	c := Check{Name: name, Result: CheckWorks, err: err}
	switch {
	case err == nil:
	case isRefusal(err):
		c.Result, c.Affects = CheckFails, rules[name].affects
	default:
		c.Result = CheckUnknown
	}
	if err != nil {
		c.Details = reason(err)
	}
	p.Checks = append(p.Checks, c)
}

// reason returns the registry's response or behavior or, for other errors, the whole error.
func reason(err error) string {
	if response, ok := errors.AsType[*repository.ResponseError](err); ok {
		err = response
	}
	if errors.Is(err, repository.ErrNoReferrersList) {
		err = repository.ErrNoReferrersList
	}
	return strings.TrimSuffix(err.Error(), ".")
}

func (p *probe) addFallback(name, details string) {
	p.Checks = append(p.Checks, Check{Name: name, Result: CheckFallback, Details: details})
}

// addHelpful adds the result of a check for a feature that only makes requests faster.
func (p *probe) addHelpful(name string, err error, isMissing bool, instead string) {
	if err == nil && isMissing {
		p.addFallback(name, instead)
		return
	}
	p.add(name, err)
}

// addManifest adds the result of pushing a manifest. own is the digest of the manifest with
// the media types of the artifact format. See [artifact.Generic].
func (p *probe) addManifest(name string, own digest.Digest, err error) {
	if err == nil && !p.repo.hasAccepted(own) {
		p.addFallback(name, "common media types instead")
		return
	}
	p.add(name, err)
}

// skip adds unknown results for checks that can't be performed.
func (p *probe) skip(reason string, names ...string) {
	for _, name := range names {
		p.Checks = append(p.Checks, Check{Name: name, Result: CheckUnknown, Details: reason})
	}
}

// isRefusal reports whether an error shows that a registry doesn't support a feature.
// Other errors can have other causes.
func isRefusal(err error) bool {
	return repository.IsPermanent(err) || slices.ContainsFunc([]error{
		errIgnored, errNotDescribed, httpclient.ErrDowngrade, repository.ErrOtherServer, repository.ErrNoRepository, repository.ErrNoReferrersList, repository.ErrTagNotDeleted,
	}, func(refusal error) bool { return errors.Is(err, refusal) })
}

// errNotDescribed means that OpenTofu can't resolve tags. tofu-oci sends GET requests
// instead.
var errNotDescribed = errors.New("OpenTofu requires the size and the digest of the manifest in the response to a HEAD request")

// errIgnored means that a successful request had no effect.
var errIgnored = errors.New("the registry accepts the request, but ignores it")
