// Package trust says what the OpenPGP signature of a release proves, and whether
// that is enough: whose keys count, which fingerprints an address is pinned to,
// and what is refused.
//
// A [Policy] judges; its methods are what packages publish, pull and repository
// take as their option Judge:
//
//	publish.Options{Judge: policy.JudgeOffered} // from an origin registry
//	pull.Options{Judge: policy.Judge}           // from everywhere else
//
// It reads what it is given and never the network, so that a verdict can be had
// again years later from what lies in a repository. docs/trust.md says what is
// proven at each step, and what is not.
package trust
