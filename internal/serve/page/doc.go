// Package page shows what package api describes to people: HTML that needs no script,
// no other host, and no more than one small style sheet. It does no I/O.
//
// Use it to render the answers of a server: package serve asks it for each of its
// pages. Texts come from whoever made a release, so all of them pass [Visible] and the
// escaping of html/template; no page has markup from elsewhere.
package page
