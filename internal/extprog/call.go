package extprog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
	// Placeholders are the names that mean something to some call. One in the
	// command line that is not in Replace is an error instead of literal text.
	Placeholders []string
	// Query becomes a JSON object of strings on stdin. Nil is no stdin at all.
	Query map[string]string
	// Stdin is sent instead of Query when it is not nil.
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
	// where its answer is there. An error that it gives takes the place of the
	// *[ExitError].
	Refusal func(stdout []byte) error
	// Timeout bounds the run, 0 is [DefaultTimeout].
	Timeout time.Duration
	// MaxOutput bounds the bytes of stdout, 0 is [DefaultMaxOutput].
	MaxOutput int
}

func (c Call) timeout() time.Duration { return cmp.Or(c.Timeout, DefaultTimeout) }

func (c Call) maxOutput() int { return cmp.Or(c.MaxOutput, DefaultMaxOutput) }

// input gives what goes to stdin, nil for nothing.
func (c Call) input() ([]byte, error) {
	if c.Stdin != nil || c.Query == nil {
		return c.Stdin, nil
	}
	return json.Marshal(c.Query)
}

// refused gives the error of a program that ended with another status than 0.
func (c Call) refused(stdout []byte, exit *ExitError) error {
	if c.Refusal != nil {
		if err := c.Refusal(stdout); err != nil {
			return err
		}
	}
	return exit
}

// fill puts values into a word. What is put in is not searched again.
func (c Call) fill(word string) (string, error) {
	var filled strings.Builder
	for {
		before, rest, found := strings.Cut(word, "{")
		filled.WriteString(before)
		if !found {
			return filled.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		value, known := c.Replace[name]
		switch {
		case closed && known:
			filled.WriteString(value)
			word = after
		case closed && slices.Contains(c.Placeholders, name):
			return "", fmt.Errorf("its command line has {%s}, which has no value here, %s", name, c.known())
		default:
			filled.WriteByte('{')
			word = rest
		}
	}
}

// known lists the placeholders that have a value.
func (c Call) known() string {
	if len(c.Replace) == 0 {
		return "and no other placeholder has"
	}
	names := slices.Sorted(maps.Keys(c.Replace))
	return "only {" + strings.Join(names, "}, {") + "}"
}
