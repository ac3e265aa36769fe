package verify

import "github.com/tofu-oci/tofu-oci/pkg/provider"

// Rule is a kind of finding.
type Rule struct {
	// Code names it, kebab-case; it stays the same.
	Code string
	// Means is a sentence about all findings of the kind.
	Means string
}

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
func Rules() []Rule {
	rules := []Rule{
		{indexMissing, "A tag is listed, and the index that it names is missing or damaged."},
		{indexFormat, "What a tag names is not an index as OpenTofu reads it."},
		{providerDiffers, "The release is annotated with another provider's address."},
		{platformTwice, "The index has several manifests for a platform, among which OpenTofu does not choose."},
		{manifestMissing, "The manifest of a platform is missing."},
		{manifestDamaged, "The manifest of a platform has other bytes or another size than the index says."},
		{manifestFormat, "The manifest of a platform is not one that OpenTofu reads."},
		{blobMissing, "A blob that a manifest names is missing."},
		{blobSize, "A blob has another size than the manifest says."},
		{blobDamaged, "A blob has other bytes than its digest says."},
		{zipRefused, "A zip has the right bytes, and is an archive that tofu-oci does not unpack."},
		{nameDiffers, "A zip goes by the name of another type, version or platform."},
		{sumsMissing, "There is no SHA256SUMS document for a package."},
		{sumsMalformed, "SHA256SUMS cannot be read."},
		{sumsUnlisted, "SHA256SUMS does not list a zip."},
		{sumsDiffer, "SHA256SUMS lists a zip with another checksum."},
		{evidenceUnreadable, "Evidence is there that cannot be read as what it is."},
		{referrerUnreadable, "A document that refers to the release cannot be read."},
		{annotationZH, "The annotation zh is not the zip's checksum."},
		{annotationH1, "The annotation h1 is not the zip's hash."},
		{annotationVersion, "The annotated version is not that of the tag."},
		{annotationProtocol, "The annotated plugin protocols are no such versions, or not those of the origin."},
		{releaseWithdrawn, "The origin does not offer the version any more."},
		{platformWithdrawn, "The origin does not offer the version for a platform any more."},
		{platformMissing, "The origin offers the version for a platform that the repository does not have."},
		{bytesDiffer, "The origin offers other bytes than the repository has."},
		{keyChanged, "The origin offers a signature by another key than the one that is stored."},
		{signatureDropped, "The origin offers a signature, and none is stored."},
		{originUnverified, "What the origin offers contradicts itself, so nothing can be compared."},
		{notLaunched, "There is no package for this machine's platform, so nothing was started."},
		{launchFailed, "The provider does not start, or does not tell its schema."},
		{"tag-ignored", "OpenTofu does not take a tag for a version because of its v."},
		{"tag-without-version", "OpenTofu takes a tag for a version, and looks for it elsewhere."},
		{"tag-per-platform", "OpenTofu takes a tag of one platform for a version."},
		{"version-zero", "OpenTofu never chooses version 0.0.0."},
		{"tags-many", "There are more tags that mislead OpenTofu."},
	}
	for _, t := range []provider.Trust{
		provider.TrustExpired, provider.TrustUnpinned, provider.TrustUntrusted, provider.TrustRevoked,
		provider.TrustUnknown, provider.TrustUnsigned, provider.TrustBad,
	} {
		rules = append(rules, Rule{signatureCode(t), "The verdict about the signature is " + string(t) + "."})
	}
	return rules
}

// signatureCode names what is found about a verdict.
func signatureCode(t provider.Trust) string { return "signature-" + string(t) }
