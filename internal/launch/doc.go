// Package launch starts a provider like OpenTofu does, requests its schema, and stops
// it, to check that a package works on this machine.
//
//	Package → unpack → process → handshake → schema → Report
//
// It runs third-party code with the permissions of its caller, so call it only with the
// user's consent. The provider gets a separate environment, an empty working directory,
// and limits for time and output. When [Start] returns, all processes of its process
// group have exited. This is not a sandbox: the provider can use the network, files,
// and the processor like any program of the user.
package launch

import (
	"cmp"
	"fmt"
	"time"
)

const (
	// DefaultTimeout is the time that OpenTofu allows for starting a provider. Here it
	// includes requesting the schema, which takes seconds for the largest providers.
	DefaultTimeout = time.Minute
	// DefaultMaxOutput far exceeds the log output of providers before they have sent
	// their schema.
	DefaultMaxOutput = 16 << 20
	// maxSchema is the limit of OpenTofu.
	maxSchema = 64 << 20
)

// Options configures [Start] and [Package]. The zero value has the default limits.
type Options struct {
	// Timeout limits the time until the schema is received. If 0, it is
	// [DefaultTimeout].
	Timeout time.Duration
	// MaxOutput limits the output of the provider in bytes. If 0, it is
	// [DefaultMaxOutput].
	MaxOutput int64
	// TempDir is the directory for unpacked packages and the provider's working
	// directory. If empty, it is the system's directory for temporary files.
	TempDir string
}

func (o Options) timeout() time.Duration { return cmp.Or(o.Timeout, DefaultTimeout) }

func (o Options) maxOutput() int64 { return cmp.Or(o.MaxOutput, DefaultMaxOutput) }

// Report describes a provider that works.
type Report struct {
	// Protocol is the version of the plugin protocol that OpenTofu would use: 5 or 6.
	Protocol int
	// The numbers of objects in the schema.
	Resources, DataSources, Functions, EphemeralResources int
	// Started is the time from the start of the provider to the handshake.
	Started time.Duration
	// Memory is the peak resident memory of the process until it has sent its schema,
	// in bytes. If it is unknown, as on macOS, it is 0.
	Memory int64
}

// String returns the report on one line.
func (r Report) String() string {
	text := fmt.Sprintf("protocol %d, %d resources, %d data sources, %d functions, %d ephemeral resources, started in %s",
		r.Protocol, r.Resources, r.DataSources, r.Functions, r.EphemeralResources, r.Started.Round(time.Millisecond))
	if r.Memory > 0 {
		text += fmt.Sprintf(", %d MiB of memory", r.Memory>>20)
	}
	return text
}
