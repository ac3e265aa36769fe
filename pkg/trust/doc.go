// Package trust verifies OpenPGP signatures of releases. It accepts or refuses
// releases, depending on the trusted keys and the fingerprints that are pinned to a
// provider.
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
