package report

import (
	"math"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// eventsSchema is the version of the events. It changes if a field is removed or
// changes its meaning, but not if fields or events are added.
const eventsSchema = 2

// event contains the fields that all events have.
type event struct {
	// Time is the UTC time in RFC 3339 format.
	Time  string `json:"time"`
	Event string `json:"event"`
}

func (e *event) setTime(t time.Time) { e.Time = t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// runStarted is the first event.
type runStarted struct {
	event
	Schema         int    `json:"schema"`
	Program        string `json:"program"`
	ProgramVersion string `json:"program_version"`
	Command        string `json:"command"`
	DryRun         bool   `json:"dry_run,omitempty"`
}

type runPlanned struct {
	event
	Items int `json:"items"`
}

type itemStarted struct {
	event
	Provider string `json:"provider"`
	Version  string `json:"version"`
}

// itemFinished contains the fields of an item of --output json.
type itemFinished struct {
	event
	Item
	// Seconds is nil if the item was not started.
	Seconds *float64 `json:"seconds,omitempty"`
}

// transferOf identifies the zip that is transferred.
type transferOf struct {
	Provider string `json:"provider"`
	Version  string `json:"version"`
	Platform string `json:"platform"`
	Filename string `json:"filename"`
}

func ofPackage(p provider.Package) transferOf {
	return transferOf{p.Address.String(), p.Version.String(), p.Platform.String(), p.Filename}
}

type transferStarted struct {
	event
	transferOf
	// Size is zero if the size is unknown.
	Size int64 `json:"size,omitempty"`

	transfer *transfer
}

type transferFinished struct {
	event
	transferOf
	Bytes   int64      `json:"bytes"`
	Seconds float64    `json:"seconds"`
	Error   *ErrorItem `json:"error,omitempty"`

	transfer *transfer
}

// retried reports a retry. Host, Wait, Try, and Of are set only if a single request is
// retried, because restarting a transfer can require several requests.
type retried struct {
	event
	What   string  `json:"what"`
	Reason string  `json:"reason"`
	Host   string  `json:"host,omitempty"`
	Wait   float64 `json:"wait_seconds,omitempty"`
	Try    int     `json:"try,omitempty"`
	Of     int     `json:"of,omitempty"`
}

// paused reports that a host throttles requests and receives no requests during the
// pause.
type paused struct {
	event
	Host   string  `json:"host"`
	Reason string  `json:"reason"`
	Wait   float64 `json:"wait_seconds"`
}

// runFinished is the last event.
type runFinished struct {
	event
	// Statuses maps each status to the number of items.
	Statuses map[string]int `json:"statuses"`
	Bytes    int64          `json:"bytes"`
	Seconds  float64        `json:"seconds"`
	ExitCode int            `json:"exit_code"`
	Error    *ErrorItem     `json:"error,omitempty"`
}

// seconds returns a duration in seconds, rounded to milliseconds.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
