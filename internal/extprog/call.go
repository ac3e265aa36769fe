package extprog

import (
	"cmp"
	"strings"
	"time"
)

const (
	// DefaultTimeout is long enough to generate an SBOM for a provider of 1 GiB.
	DefaultTimeout = 5 * time.Minute
	// DefaultMaxOutput is several times the size of a large provider's SBOM.
	DefaultMaxOutput = 32 << 20
)

// Call configures a run of a program. The zero value runs the program without stdin, in
// the current directory, and with the default limits.
type Call struct {
	// Replace maps placeholder names to values. For example, the value of "zip"
	// replaces {zip}. Values are inserted after the command line is split into words,
	// so each value stays within its word. All other braces are literal.
	Replace map[string]string
	// Stdin is sent to the program. If nil, the program has no stdin.
	Stdin []byte
	// Dir is the working directory. If empty, the current directory is used. If the
	// program's path is relative, it is always resolved against the current directory.
	Dir string
	// Env contains additional environment variables as "name=value".
	Env []string
	// Inherit lists the variables of this process that the program receives. If nil, it
	// receives all variables.
	Inherit []string
	// MayBeSilent allows empty output.
	MayBeSilent bool
	// Raw allows any output. If false, the output must be a JSON object.
	Raw bool
	// Private omits stdout from errors, because stdout can contain secrets. Errors
	// still include stderr.
	Private bool
	// Refusal, if not nil, parses stdout after a nonzero exit status. If Refusal
	// returns an error, the run fails with that error instead of [Exited].
	Refusal func(stdout []byte) error
	// Timeout limits the duration of the run. If 0, [DefaultTimeout] is used.
	Timeout time.Duration
	// MaxOutput limits the size of stdout in bytes. If 0, [DefaultMaxOutput] is used.
	MaxOutput int
}

func (c Call) timeout() time.Duration { return cmp.Or(c.Timeout, DefaultTimeout) }

func (c Call) maxOutput() int { return cmp.Or(c.MaxOutput, DefaultMaxOutput) }

// fill replaces placeholders. It does not search inserted values for placeholders.
func (c Call) fill(words []string) []string {
	var pairs []string
	for name, value := range c.Replace {
		pairs = append(pairs, "{"+name+"}", value)
	}
	replacer := strings.NewReplacer(pairs...)
	filled := make([]string, len(words))
	for i, word := range words {
		filled[i] = replacer.Replace(word)
	}
	return filled
}
