//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// work is a task that several programs can perform.
type work struct {
	name string
	// ready prepares the servers.
	ready func(ctx context.Context) error
	// doers lists the programs in the order in which they run.
	doers []doer
	// rows lists the table rows that show the results.
	rows []row
	// memoryOnly skips the measurement on a disk, because the type of file system makes
	// no difference.
	memoryOnly bool
	// another reports whether tofu-oci starts a second program. If it does, the table
	// does not compare memory.
	another bool
	// fewer is the target for the number of bytes that the second program transfers,
	// divided by the number of bytes that tofu-oci transfers. If 0, bytes are not
	// counted.
	fewer int64
	// note returns a sentence that is added below the table. It can be nil.
	note func() string
}

// doer performs a work with one program.
type doer struct {
	name string
	// task returns the command to run. The command writes to dir, a new directory.
	task func(ctx context.Context, dir string) (task, error)
}

// task is a prepared command.
type task struct {
	command
	// right checks the command's result, so that a fast failure does not count as a
	// success.
	right func(ctx context.Context) error
	// done cleans up. It can be nil.
	done func()
	// over is the link that counts the transferred bytes. It can be nil. done stops the
	// link.
	over *link
}

// row compares the doer named ours with the fastest doer in against.
type row struct {
	work, ours string
	against    []string
	// wanted is the target for the doer's time divided by the fastest doer's time.
	wanted float64
}

// measured maps each doer to its resource usage, in the order of rounds.
type measured struct {
	work
	took map[string][]usage
}

// measureWork runs all doers in turn for the given number of rounds, after one warm-up
// round.
func measureWork(ctx context.Context, s *site, w work, rounds int) (measured, error) {
	m := measured{w, map[string][]usage{}}
	if err := w.ready(ctx); err != nil {
		return m, err
	}
	for round := range rounds + 1 {
		output := []string{}
		for _, d := range w.doers {
			took, err := d.once(ctx, s)
			if err != nil {
				return m, fmt.Errorf("%s: %w", d.name, err)
			}
			output = append(output, fmt.Sprintf("%s %.2f s", d.name, took.Wall.Seconds()))
			if round > 0 {
				m.took[d.name] = append(m.took[d.name], took)
			}
		}
		say("%s: %s, %d of %d: %s", s.place.name, w.name, round, rounds, strings.Join(output, ", "))
	}
	return m, nil
}

// once performs the work a single time and removes the result.
func (d doer) once(ctx context.Context, s *site) (took usage, err error) {
	dir, err := os.MkdirTemp(s.dir, "out-*")
	if err != nil {
		return took, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	t, err := d.task(ctx, dir)
	if t.done != nil {
		defer func() {
			t.done()
			if t.over != nil {
				took.Network = t.over.carried.Load()
			}
		}()
	}
	if err != nil {
		return took, err
	}
	s.place.settle()
	if took, err = t.run(ctx); err != nil {
		return took, err
	}
	if err := t.right(ctx); err != nil {
		return took, fmt.Errorf("after %s: %w", took.Wall.Round(time.Millisecond), err)
	}
	return took, nil
}

// works returns all works at a site.
func works(s *site) []work {
	return []work{
		s.pull(), s.unpack(1), s.unpack(bigCount), s.mirrorBig(), s.mirrorSmall(), s.mirrorTiny(), s.again(), s.slowLink(),
		s.copyBig(), s.copySame(), s.copyWithin(), s.lock(), s.lockMany(), s.listMany(), s.verifyMany(), s.execTofu(), s.execTerraform(), s.startUp(),
		s.bundleCreate(), s.bundleImport(),
	}
}
