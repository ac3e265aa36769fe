package verify

import (
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// The codes of what is found, but for those about tags, which are package doctor's,
// and those of verdicts, see [signatureCode].
const (
	indexMissing       = "index-missing"
	indexFormat        = "index-format"
	providerDiffers    = "provider-differs"
	platformTwice      = "platform-twice"
	manifestMissing    = "manifest-missing"
	manifestDamaged    = "manifest-damaged"
	manifestFormat     = "manifest-format"
	blobMissing        = "blob-missing"
	blobSize           = "blob-size"
	blobDamaged        = "blob-damaged"
	zipRefused         = "zip-refused"
	nameDiffers        = "name-differs"
	sumsMissing        = "sums-missing"
	sumsMalformed      = "sums-malformed"
	sumsUnlisted       = "sums-unlisted"
	sumsDiffer         = "sums-differ"
	evidenceUnreadable = "evidence-unreadable"
	referrerUnreadable = "referrer-unreadable"
	annotationZH       = "annotation-zh"
	annotationH1       = "annotation-h1"
	annotationVersion  = "annotation-version"
	annotationProtocol = "annotation-protocols"
	releaseMissing     = "release-missing"
	releaseWithdrawn   = "release-withdrawn"
	platformWithdrawn  = "platform-withdrawn"
	platformMissing    = "platform-missing"
	bytesDiffer        = "bytes-differ"
	keyChanged         = "key-changed"
	signatureDropped   = "signature-dropped"
	originUnverified   = "origin-unverified"
	notLaunched        = "not-launched"
	launchFailed       = "launch-failed"
)

// Rules lists all kinds of findings, for those who document or configure them.
func Rules() []finding.Rule {
	rules := []finding.Rule{
		{Code: indexMissing, Means: "A tag is listed, and the index that it names is missing or damaged."},
		{Code: indexFormat, Means: "What a tag names is not an index as OpenTofu reads it."},
		{Code: providerDiffers, Means: "The release is annotated with another provider's address."},
		{Code: platformTwice, Means: "The index has several manifests for a platform, among which OpenTofu does not choose."},
		{Code: manifestMissing, Means: "The manifest of a platform is missing."},
		{Code: manifestDamaged, Means: "The manifest of a platform has other bytes or another size than the index says."},
		{Code: manifestFormat, Means: "The manifest of a platform is not one that OpenTofu reads."},
		{Code: blobMissing, Means: "A blob that a manifest names is missing."},
		{Code: blobSize, Means: "A blob has another size than the manifest says."},
		{Code: blobDamaged, Means: "A blob has other bytes than its digest says."},
		{Code: zipRefused, Means: "A zip has the right bytes, and is an archive that tofu-oci does not unpack."},
		{Code: nameDiffers, Means: "A zip goes by the name of another type, version or platform."},
		{Code: sumsMissing, Means: "There is no SHA256SUMS document for a package."},
		{Code: sumsMalformed, Means: "SHA256SUMS cannot be read."},
		{Code: sumsUnlisted, Means: "SHA256SUMS does not list a zip."},
		{Code: sumsDiffer, Means: "SHA256SUMS lists a zip with another checksum."},
		{Code: evidenceUnreadable, Means: "Evidence is there that cannot be read as what it is."},
		{Code: referrerUnreadable, Means: "A document that refers to the release cannot be read."},
		{Code: annotationZH, Means: "The annotation zh is not the zip's checksum."},
		{Code: annotationH1, Means: "The annotation h1 is not the zip's hash."},
		{Code: annotationVersion, Means: "The annotated version is not that of the tag."},
		{Code: annotationProtocol, Means: "The annotated plugin protocols are no such versions, or not those of the origin."},
		{Code: releaseMissing, Means: "The origin offers versions that are asked for and that the repository does not have."},
		{Code: releaseWithdrawn, Means: "The origin does not offer the version any more."},
		{Code: platformWithdrawn, Means: "The origin does not offer the version for a platform any more."},
		{Code: platformMissing, Means: "The origin offers the version for a platform that the repository does not have."},
		{Code: bytesDiffer, Means: "The origin offers other bytes than the repository has."},
		{Code: keyChanged, Means: "The origin offers a signature by another key than the one that is stored."},
		{Code: signatureDropped, Means: "The origin offers a signature, and none is stored."},
		{Code: originUnverified, Means: "What the origin offers contradicts itself, so nothing can be compared."},
		{Code: notLaunched, Means: "There is no package for this machine's platform, so nothing was started."},
		{Code: launchFailed, Means: "The provider does not start, or does not tell its schema."},
		{Code: "tag-ignored", Means: "OpenTofu does not take a tag for a version because of its v."},
		{Code: "tag-without-version", Means: "OpenTofu takes a tag for a version, and looks for it elsewhere."},
		{Code: "tag-per-platform", Means: "OpenTofu takes a tag of one platform for a version."},
		{Code: "version-zero", Means: "OpenTofu never chooses version 0.0.0."},
		{Code: "tags-many", Means: "There are more tags that mislead OpenTofu."},
	}
	for _, t := range []provider.Trust{
		provider.TrustExpired, provider.TrustUnpinned, provider.TrustUntrusted, provider.TrustRevoked,
		provider.TrustUnknown, provider.TrustUnsigned, provider.TrustBad,
	} {
		rules = append(rules, finding.Rule{Code: signatureCode(t), Means: "The verdict about the signature is " + string(t) + "."})
	}
	return rules
}

// signatureCode names what is found about a verdict.
func signatureCode(t provider.Trust) string { return "signature-" + string(t) }
