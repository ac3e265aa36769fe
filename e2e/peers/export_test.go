//go:build unix

package main

import (
	"time"

	"github.com/opencontainers/go-digest"
)

// Exports for external tests.
var (
	ReadBlocks = readBlocks
	WriteZip   = writeZip
	HasDigest  = hasDigest
)

const (
	LinkRate  = linkRate
	LinkDelay = linkDelay
)

// StartLink starts a slow link to a server.
var StartLink = func(to string) way { return (&link{to: to}).start }

// StartCounting starts a fast link to a server. It also returns a function that returns
// the number of transferred bytes.
func StartCounting(to string) (way, func() int64) {
	l := &link{to: to, near: true}
	return l.start, l.carried.Load
}

// Traffic returns the sentence that compares how many bytes two programs transferred.
func Traffic(ours, theirs, fewer int64) string {
	took := map[string][]usage{"ours": {{Network: ours}}, "theirs": {{Network: theirs}}}
	return measured{work{rows: []row{{"the work", "ours", []string{"theirs"}, 0}}, fewer: fewer}, took}.traffic()
}

// Compared returns a table row that compares tofu-oci with two programs. Each argument
// lists a program's durations in whole seconds, one per round.
func Compared(wanted float64, ours, one, other []int) string {
	took := map[string][]usage{}
	for name, seconds := range map[string][]int{"ours": ours, "one": one, "other": other} {
		for _, s := range seconds {
			took[name] = append(took[name], usage{Wall: time.Duration(s) * time.Second, CPU: time.Second, Peak: 1 << 20})
		}
	}
	return measured{took: took}.line(row{"the work", "ours", []string{"one", "other"}, wanted})
}

// Digest returns the digest of the zip.
func (a archive) Digest() digest.Digest { return a.digest }

// Program returns the digest of the executable.
func (a archive) Program() digest.Digest { return a.program }
