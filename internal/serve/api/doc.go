// Package api is what a server says of the providers in its repositories, as data: the
// answers below /api/v1, and the document that describes them. It does no I/O.
//
// Use it to read the API of a server, or to show the same in another form: package
// serve fills these types, and its pages render them.
//
// Dates are RFC 3339, sizes are bytes, and a field of which nothing is known is left
// out. Texts come from whoever made a release: who shows them escapes them.
package api
