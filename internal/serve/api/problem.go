package api

// ProblemType is the media type of a [Problem].
const ProblemType = "application/problem+json"

// Problem is an answer other than what was asked for:
// https://www.rfc-editor.org/rfc/rfc9457.
type Problem struct {
	// Type is "about:blank": the status says what kind it is.
	Type string `json:"type"`
	// Title is the status in words.
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail is for people.
	Detail string `json:"detail,omitempty"`
}
