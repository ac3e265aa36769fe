package verify

import (
	"github.com/tofu-oci/tofu-oci/internal/finding"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Rules returns all kinds of findings.
func Rules() []finding.Rule {
	rules := []finding.Rule{
		{Code: "index-missing", Means: "The index that a tag points to is missing or damaged."},
		{Code: "index-format", Means: "A tag does not point to an index that OpenTofu can read."},
		{Code: "provider-differs", Means: "The provider annotation of the release is for a different provider."},
		{Code: "platform-twice", Means: "The index has several manifests for a platform, which OpenTofu rejects."},
		{Code: "manifest-missing", Means: "The manifest for a platform is missing."},
		{Code: "manifest-damaged", Means: "The manifest for a platform does not match the digest or size in the index."},
		{Code: "manifest-format", Means: "The manifest for a platform does not have the format that OpenTofu expects."},
		{Code: "blob-missing", Means: "A blob that a manifest lists is missing."},
		{Code: "blob-size", Means: "A blob does not have the size that its manifest specifies."},
		{Code: "blob-damaged", Means: "A blob does not match its digest."},
		{Code: "zip-refused", Means: "A zip matches its digest, but tofu-oci refuses to unpack it."},
		{Code: "executable-mode", Means: "The file mode of the executable in a zip prevents OpenTofu from starting it."},
		{Code: "name-differs", Means: "The file name of a zip contains a different type, version, or platform."},
		{Code: "sums-missing", Means: "A package has no SHA256SUMS document."},
		{Code: "sums-malformed", Means: "SHA256SUMS is malformed."},
		{Code: "sums-unlisted", Means: "A zip is missing from SHA256SUMS."},
		{Code: "sums-differ", Means: "SHA256SUMS lists a different checksum for a zip."},
		{Code: "document-unreadable", Means: "A document of the release cannot be read."},
		{Code: "referrer-unreadable", Means: "A referrer of the release cannot be read."},
		{Code: "annotation-zh", Means: "The zh annotation doesn't match the zip's checksum."},
		{Code: "annotation-h1", Means: "The h1 annotation doesn't match the zip's hash."},
		{Code: "dependency-missing", Means: "The mirror contains no matching version of a module that another module calls."},
		{Code: "annotation-version", Means: "The version annotation does not match the tag."},
		{Code: "annotation-protocols", Means: "The annotated plugin protocols are malformed, or differ from the protocols in the origin registry."},
		{Code: "release-missing", Means: "The origin registry offers selected versions that are missing from the repository."},
		{Code: "release-withdrawn", Means: "The origin registry has withdrawn the version."},
		{Code: "platform-withdrawn", Means: "The origin registry no longer offers a platform of the version."},
		{Code: "platform-missing", Means: "The origin registry offers a platform that is missing from the repository."},
		{Code: "bytes-differ", Means: "The origin registry offers a different zip."},
		{Code: "key-changed", Means: "The origin registry offers a signature that was made with a different key."},
		{Code: "signature-dropped", Means: "The origin registry offers a signature, but none is stored."},
		{Code: "origin-unverified", Means: "The origin registry's content is inconsistent and can't be compared."},
		{Code: "not-launched", Means: "The release has no package for the current platform, so the provider was not started."},
		{Code: "approval-missing", Means: "A required approval is missing, or not signed by an approval key."},
		{Code: "launch-failed", Means: "The provider does not start, or does not return its schema."},
		{Code: "tag-ignored", Means: "OpenTofu ignores a tag because it starts with v."},
		{Code: "tag-without-version", Means: "OpenTofu treats a tag as a version, but then requests a different tag."},
		{Code: "tag-per-platform", Means: "OpenTofu treats a tag for a single platform as a version."},
		{Code: "version-zero", Means: "OpenTofu never selects version 0.0.0."},
		{Code: "tags-many", Means: "The report omits some of the tags that OpenTofu misinterprets."},
	}
	for _, t := range []provider.Trust{
		provider.TrustExpired, provider.TrustUnpinned, provider.TrustUntrusted, provider.TrustRevoked,
		provider.TrustUnknown, provider.TrustUnsigned, provider.TrustBad,
	} {
		rules = append(rules, finding.Rule{Code: signatureCode(t), Means: "The verdict on the signature is " + string(t) + "."})
	}
	return rules
}

// signatureCode returns the code for findings with the given verdict.
func signatureCode(t provider.Trust) string { return "signature-" + string(t) }
