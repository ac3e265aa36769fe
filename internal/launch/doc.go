// Package launch starts a provider as OpenTofu does, asks it for its schema, and
// ends it: the proof that a package works on this machine.
//
//	Package → unpack → process → handshake → schema → Report
//
// It runs code of others with the rights of its caller: use it only where that is
// wanted. The provider gets an environment of its own, an empty working directory,
// and limits of time and output; when [Start] returns its whole process group has
// ended. It is no sandbox: network, files and processor are as open to it as they
// are to every program of the user.
package launch

import (
	"cmp"
	"fmt"
	"time"
)

const (
	// DefaultTimeout is what OpenTofu gives a provider to start in. Here it is for
	// the schema too, which takes the largest providers some seconds.
	DefaultTimeout = time.Minute
	// DefaultMaxOutput is far more than providers write into their logs until they
	// have told their schema.
	DefaultMaxOutput = 16 << 20
	// maxSchema is what OpenTofu takes.
	maxSchema = 64 << 20
)

// Options of [Start] and [Package]. The zero value has the default limits.
type Options struct {
	// Timeout bounds everything up to the schema; 0 is [DefaultTimeout].
	Timeout time.Duration
	// MaxOutput bounds what the provider prints, in bytes; 0 is [DefaultMaxOutput].
	MaxOutput int64
	// TempDir is where packages are unpacked and the provider has its working
	// directory. Empty is the system's.
	TempDir string
}

func (o Options) timeout() time.Duration { return cmp.Or(o.Timeout, DefaultTimeout) }

func (o Options) maxOutput() int64 { return cmp.Or(o.MaxOutput, DefaultMaxOutput) }

// Report is what became known of a provider that works.
type Report struct {
	// Protocol is the version of the plugin protocol that OpenTofu would speak with
	// it: 5 or 6.
	Protocol int
	// What its schema lists.
	Resources, DataSources, Functions, EphemeralResources int
	// Started is how long the provider took from its start to the handshake.
	Started time.Duration
	// Memory is the most that the process had resident until it had told its schema,
	// in bytes; 0 where the system does not tell, as macOS.
	Memory int64
}

// String returns the report as one line.
func (r Report) String() string {
	text := fmt.Sprintf("protocol %d, %d resources, %d data sources, %d functions, %d ephemeral resources, started in %s",
		r.Protocol, r.Resources, r.DataSources, r.Functions, r.EphemeralResources, r.Started.Round(time.Millisecond))
	if r.Memory > 0 {
		text += fmt.Sprintf(", %d MiB of memory", r.Memory>>20)
	}
	return text
}
