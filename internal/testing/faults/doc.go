// Package faults tests how mirror, pull, publish, and sync handle faults and
// interruptions. Faults occur in the origin registry, in the OCI registry, and on the
// network. Interruptions occur at any point. The package contains only tests. They run in
// memory and in testing/synctest bubbles, so the program's real timeouts and pauses apply
// but take no time.
package faults
