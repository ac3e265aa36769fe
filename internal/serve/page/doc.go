// Package page renders the responses of package api as HTML. Pages work without scripts
// and load resources only from their own host. The package does no I/O.
//
// All strings are untrusted, so they are passed to [Visible] and escaped by
// html/template.
package page
