package extprog

import (
	"cmp"
	"strings"
	"time"
)

const (
	// DefaultTimeout lets an SBOM maker unpack and search a provider of 1 GiB.
	DefaultTimeout = 5 * time.Minute
	// DefaultMaxOutput is several times the SBOM of a large provider.
	DefaultMaxOutput = 32 << 20
)

// Call is what one run of a program is given. Its zero value is a run with
// nothing on stdin, in the current directory, within the default limits.
type Call struct {
	// Replace has values for placeholders, by their names without braces: "zip"
	// stands for {zip}. They are put into the words after splitting, so whatever
	// a value holds it stays within its word. All other braces are literal.
	Replace map[string]string
	// Stdin is sent to the program. Nil is no stdin at all.
	Stdin []byte
	// Dir is the working directory, by default our own. A program that was named
	// by a relative path is still found from ours.
	Dir string
	// Env is added to our own environment, as "name=value".
	Env []string
	// MayBeSilent allows the program to print nothing.
	MayBeSilent bool
	// Private keeps stdout, which may hold secrets, out of errors. What goes to
	// stderr is for people and is told all the same.
	Private bool
	// Refusal reads what a program printed that ended with another status than 0,
	// where its answer is there. An error that it gives takes the place of [Exited].
	Refusal func(stdout []byte) error
	// Timeout bounds the run, 0 is [DefaultTimeout].
	Timeout time.Duration
	// MaxOutput bounds the bytes of stdout, 0 is [DefaultMaxOutput].
	MaxOutput int
}

func (c Call) timeout() time.Duration { return cmp.Or(c.Timeout, DefaultTimeout) }

func (c Call) maxOutput() int { return cmp.Or(c.MaxOutput, DefaultMaxOutput) }

// fill puts values into words. What is put in is not searched again.
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
