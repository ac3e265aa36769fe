package api

// ProblemType is the media type of a [Problem].
const ProblemType = "application/problem+json"

// Problem is an error response: https://www.rfc-editor.org/rfc/rfc9457.
type Problem struct {
	// Type is always "about:blank", so the status is the type of the problem.
	Type string `json:"type"`
	// Title is the text of the status.
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail is a message for users.
	Detail string `json:"detail,omitempty"`
}
