// Package trust verifies OpenPGP signatures of releases and decides whether to accept
// the releases. It decides which keys are trusted, which fingerprints are pinned to a
// provider, and which releases are refused.
//
// The methods of a [Policy] can be used as the option Verify of the packages publish,
// pull, and repository:
//
//	publish.Options{Verify: policy.VerifyOffered} // from an origin registry
//	pull.Options{Verify: policy.Verify}           // from other sources
//
// The package doesn't use the network, so it can verify a release years later from the
// content of a repository. docs/trust.md explains what each step proves.
package trust
