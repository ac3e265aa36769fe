// Package api defines the API of a server below /api/v1: the types of its responses, the
// document that describes them, and a [Client] that reads them.
//
// Package serve fills these types, and its pages render them. The client bounds what it
// reads, and verifies none of it.
//
// Dates are RFC 3339, sizes are bytes, and a field of which nothing is known is left
// out. Texts come from whoever made a release: who shows them escapes them.
package api
