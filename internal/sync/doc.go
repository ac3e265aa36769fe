// Package sync keeps OCI repositories in the state that a declaration describes. A
// declaration is a file that lists providers, version policies, target repositories,
// denials, and the rules for removing old versions.
//
//	sync = declaration + state of origins and repositories → plan → mirror, copy, deny, prune
//
// [Read] parses a declaration. [NewPlan] compares the declaration with the existing
// releases. [Plan.Apply] performs the actions. All state is stored in the repositories.
package sync
