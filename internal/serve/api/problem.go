package api

// ProblemType is the media type of a [Problem].
const ProblemType = "application/problem+json"

// Problem is an error response in the format of https://www.rfc-editor.org/rfc/rfc9457.
type Problem struct {
	// Type is always "about:blank", which means that the status identifies the problem.
	Type string `json:"type"`
	// Title is the status text.
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail is a message for users.
	Detail string `json:"detail,omitempty"`
}
