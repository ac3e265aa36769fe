// Package launch starts a provider in the same way as OpenTofu, requests its schema,
// and stops it. Use it to check that a package works on this machine.
//
//	Package → unpack → process → handshake → schema → Report
//
// The package runs third-party code with its caller's permissions, so call it only with
// the user's consent. The provider gets a separate environment, an empty working
// directory, and limits for time and output. When [Start] returns, all processes in the
// provider's process group have exited. This is not a sandbox, though: like any of the
// user's programs, the provider can use the network, files, and the processor.
package launch

import (
	"cmp"
	"fmt"
	"time"
)

const (
	// DefaultTimeout is the time that OpenTofu allows for starting a provider. In this
	// package, it includes requesting the schema, which takes seconds for the largest
	// providers.
	DefaultTimeout = time.Minute
	// DefaultMaxOutput far exceeds the log output that providers print before they have
	// sent their schemas.
	DefaultMaxOutput = 16 << 20
	// maxSchema is OpenTofu's limit for the size of a schema, in bytes.
	maxSchema = 64 << 20
)

// Options configures [Start] and [Package]. The zero value selects the default limits.
type Options struct {
	// Timeout limits the time until the schema is received. If 0, [DefaultTimeout] is
	// used.
	Timeout time.Duration
	// MaxOutput limits the provider's output in bytes. If 0, [DefaultMaxOutput] is
	// used.
	MaxOutput int64
	// TempDir is the directory for unpacked packages and the provider's working
	// directory. If empty, the system's temporary directory is used.
	TempDir string
	// delays is set only by tests.
	delays delays
}

// delays limits the wait for a provider that has failed or should exit.
type delays struct {
	// exit is the time for a process to exit after its connection was closed.
	exit time.Duration
	// strays is the time for child processes to exit after their parent. After the group
	// was killed, strays is the time until the pipes are closed, because a process that
	// has left the group can keep them open.
	strays time.Duration
}

func (o Options) timeout() time.Duration { return cmp.Or(o.Timeout, DefaultTimeout) }

func (o Options) delaysOrDefault() delays {
	return delays{exit: cmp.Or(o.delays.exit, time.Second), strays: cmp.Or(o.delays.strays, time.Second)}
}

func (o Options) maxOutput() int64 { return cmp.Or(o.MaxOutput, DefaultMaxOutput) }

// Report describes a working provider.
type Report struct {
	// Protocol is the plugin protocol version that OpenTofu would use: 5 or 6.
	Protocol int
	// These fields contain the number of objects of each kind in the schema.
	Resources, DataSources, Functions, EphemeralResources int
	// Started is the time between the provider's start and the handshake.
	Started time.Duration
	// Memory is the process's peak resident memory, in bytes, until it has sent its
	// schema. If the value is unknown, as on macOS, it is 0.
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
