// Package page renders the responses of package api as HTML, without doing any I/O.
// Pages work without scripts and load resources only from their own host.
//
// All strings are untrusted, so they are passed to [Visible] and escaped by
// html/template.
package page
