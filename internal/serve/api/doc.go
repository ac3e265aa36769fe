// Package api defines a server's API below /api/v1: the types of the responses, which
// package serve creates and package page renders, and the OpenAPI description.
//
// Dates are in RFC 3339 format, sizes are in bytes, and fields without a known value
// are omitted. Strings are untrusted and must be escaped for output.
package api
