package report

import (
	"math"
	"time"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// eventsSchema is the version of the events. It changes if a field is removed or changes
// its meaning, and stays if fields or events are added.
const eventsSchema = 2

// event is what all events begin with.
type event struct {
	// Time is RFC 3339 in UTC.
	Time  string `json:"time"`
	Event string `json:"event"`
}

func (e *event) happened(at time.Time) { e.Time = at.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

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

// itemFinished has the fields that --output json has for the item.
type itemFinished struct {
	event
	Item
	// Seconds is nil where nothing was begun.
	Seconds *float64 `json:"seconds,omitempty"`
}

// transferOf says which zip moves.
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
	// Size is left out where it is not known.
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

// retried has host, wait and tries only of a request: a transfer that is begun
// again has several.
type retried struct {
	event
	What   string  `json:"what"`
	Reason string  `json:"reason"`
	Host   string  `json:"host,omitempty"`
	Wait   float64 `json:"wait_seconds,omitempty"`
	Try    int     `json:"try,omitempty"`
	Of     int     `json:"of,omitempty"`
}

// paused is of a host that has enough of requests: none goes there for a while.
type paused struct {
	event
	Host   string  `json:"host"`
	Reason string  `json:"reason"`
	Wait   float64 `json:"wait_seconds"`
}

// runFinished is the last event.
type runFinished struct {
	event
	// Statuses is the number of items by status.
	Statuses map[string]int `json:"statuses"`
	Bytes    int64          `json:"bytes"`
	Seconds  float64        `json:"seconds"`
	ExitCode int            `json:"exit_code"`
	Error    *ErrorItem     `json:"error,omitempty"`
}

// seconds returns a duration in seconds, to the millisecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }
