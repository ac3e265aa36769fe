// Package sync keeps OCI repositories in the state that a declaration describes: a file
// that lists providers, version policies, target repositories, denials, and the rules for
// removing old versions.
//
//	sync = declaration + state of origins and repositories → plan → mirror, copy, deny, prune
//
// [Read] parses a declaration, [NewPlan] compares it with the existing releases, and
// [Plan.Apply] performs the actions. All state is in the repositories.
package sync
