package extprog

import (
	"cmp"
	"strings"
	"time"
)

const (
	// DefaultTimeout is sufficient to generate an SBOM of a 1 GiB provider.
	DefaultTimeout = 5 * time.Minute
	// DefaultMaxOutput is several times the size of the SBOM of a large provider.
	DefaultMaxOutput = 32 << 20
)

// Call configures a run of a program. The zero value runs it without stdin, in the
// current directory, with the default limits.
type Call struct {
	// Replace maps placeholder names to values. For example, the value of "zip"
	// replaces {zip}. Values are inserted after the command line is split into words,
	// so each value stays within its word. All other braces are literal.
	Replace map[string]string
	// Stdin is sent to the program. If nil, the program has no stdin.
	Stdin []byte
	// Dir is the working directory. If empty, it is the current one. A relative path of
	// the program is always resolved against the current directory.
	Dir string
	// Env is added to the environment, as "name=value".
	Env []string
	// MayBeSilent allows empty output.
	MayBeSilent bool
	// Private omits stdout, which can contain secrets, from errors. Stderr is still
	// included.
	Private bool
	// Refusal, if not nil, parses stdout after a nonzero exit status. If it returns an
	// error, the run fails with that error instead of [Exited].
	Refusal func(stdout []byte) error
	// Timeout limits the duration of the run. If 0, it is [DefaultTimeout].
	Timeout time.Duration
	// MaxOutput limits the size of stdout in bytes. If 0, it is [DefaultMaxOutput].
	MaxOutput int
}

func (c Call) timeout() time.Duration { return cmp.Or(c.Timeout, DefaultTimeout) }

func (c Call) maxOutput() int { return cmp.Or(c.MaxOutput, DefaultMaxOutput) }

// fill replaces placeholders. Inserted values are not searched for placeholders.
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
