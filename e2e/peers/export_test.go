//go:build unix

package main

import (
	"time"

	"github.com/opencontainers/go-digest"
)

// What the external tests see of the program.
var (
	ReadBlocks = readBlocks
	WriteZip   = writeZip
	HasDigest  = hasDigest
)

const (
	LinkRate  = linkRate
	LinkDelay = linkDelay
)

// StartLink is a slow link to a server.
var StartLink = func(to string) way { return (&link{to: to}).start }

// StartCounting is a link that is not slow, and what it has carried.
func StartCounting(to string) (way, func() int64) {
	l := &link{to: to, near: true}
	return l.start, l.carried.Load
}

// Traffic is the sentence about what two programs moved.
func Traffic(ours, theirs, fewer int64) string {
	took := map[string][]usage{"ours": {{Network: ours}}, "theirs": {{Network: theirs}}}
	return measured{work{rows: []row{{"the work", "ours", []string{"theirs"}, 0}}, fewer: fewer}, took}.traffic()
}

// Compared is the row of a table for rounds of ours and of two others, in whole
// seconds.
func Compared(wanted float64, ours, one, other []int) string {
	took := map[string][]usage{}
	for name, seconds := range map[string][]int{"ours": ours, "one": one, "other": other} {
		for _, s := range seconds {
			took[name] = append(took[name], usage{Wall: time.Duration(s) * time.Second, CPU: time.Second, Peak: 1 << 20})
		}
	}
	return measured{took: took}.line(row{"the work", "ours", []string{"one", "other"}, wanted})
}

// Digest is that of the zip.
func (a archive) Digest() digest.Digest { return a.digest }

// Program is the digest of the executable.
func (a archive) Program() digest.Digest { return a.program }
