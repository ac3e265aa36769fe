// Package api defines a server's API below /api/v1. It contains the OpenAPI description
// and the types of the responses. Package serve creates the responses, and package page
// renders them.
//
// Dates are in RFC 3339 format, sizes are in bytes, and fields without a known value
// are omitted. Strings are untrusted and must be escaped for output.
package api
