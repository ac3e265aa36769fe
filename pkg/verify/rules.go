package verify

import (
	"github.com/tofu-oci/tofu-oci/pkg/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Rules lists all kinds of findings, for those who document or configure them.
func Rules() []finding.Rule {
	rules := []finding.Rule{
		{Code: "index-missing", Means: "A tag is listed, and the index that it names is missing or damaged."},
		{Code: "index-format", Means: "What a tag names is not an index as OpenTofu reads it."},
		{Code: "provider-differs", Means: "The release is annotated with another provider's address."},
		{Code: "platform-twice", Means: "The index has several manifests for a platform, among which OpenTofu does not choose."},
		{Code: "manifest-missing", Means: "The manifest of a platform is missing."},
		{Code: "manifest-damaged", Means: "The manifest of a platform has other bytes or another size than the index says."},
		{Code: "manifest-format", Means: "The manifest of a platform is not one that OpenTofu reads."},
		{Code: "blob-missing", Means: "A blob that a manifest names is missing."},
		{Code: "blob-size", Means: "A blob has another size than the manifest says."},
		{Code: "blob-damaged", Means: "A blob has other bytes than its digest says."},
		{Code: "zip-refused", Means: "A zip has the right bytes, and is an archive that tofu-oci does not unpack."},
		{Code: "name-differs", Means: "A zip goes by the name of another type, version or platform."},
		{Code: "sums-missing", Means: "There is no SHA256SUMS document for a package."},
		{Code: "sums-malformed", Means: "SHA256SUMS cannot be read."},
		{Code: "sums-unlisted", Means: "SHA256SUMS does not list a zip."},
		{Code: "sums-differ", Means: "SHA256SUMS lists a zip with another checksum."},
		{Code: "evidence-unreadable", Means: "Evidence is there that cannot be read as what it is."},
		{Code: "referrer-unreadable", Means: "A document that refers to the release cannot be read."},
		{Code: "annotation-zh", Means: "The annotation zh is not the zip's checksum."},
		{Code: "annotation-h1", Means: "The annotation h1 is not the zip's hash."},
		{Code: "annotation-version", Means: "The annotated version is not that of the tag."},
		{Code: "annotation-protocols", Means: "The annotated plugin protocols are no such versions, or not those of the origin."},
		{Code: "release-missing", Means: "The origin offers versions that are asked for and that the repository does not have."},
		{Code: "release-withdrawn", Means: "The origin does not offer the version any more."},
		{Code: "platform-withdrawn", Means: "The origin does not offer the version for a platform any more."},
		{Code: "platform-missing", Means: "The origin offers the version for a platform that the repository does not have."},
		{Code: "bytes-differ", Means: "The origin offers other bytes than the repository has."},
		{Code: "key-changed", Means: "The origin offers a signature by another key than the one that is stored."},
		{Code: "signature-dropped", Means: "The origin offers a signature, and none is stored."},
		{Code: "origin-unverified", Means: "What the origin offers contradicts itself, so nothing can be compared."},
		{Code: "not-launched", Means: "There is no package for this machine's platform, so nothing was started."},
		{Code: "launch-failed", Means: "The provider does not start, or does not tell its schema."},
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
