//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// work is something that several programs can do.
type work struct {
	name string
	// ready has the servers hold what the work needs.
	ready func(ctx context.Context) error
	// doers are the programs, in the order in which they take turns.
	doers []doer
	// rows are what the table says of it.
	rows []row
	// memoryOnly: the file system makes no difference.
	memoryOnly bool
	// another: ours runs another program, whose memory is not ours.
	another bool
	// fewer is how many times fewer bytes than theirs ours is to move; 0 when they
	// are not counted.
	fewer int64
}

// doer does a work in its own way.
type doer struct {
	name string
	// task says what to run, with a new directory to write to.
	task func(ctx context.Context, dir string) (task, error)
}

// task is a command that was made ready.
type task struct {
	command
	// right looks at the outcome: who fails fast is not fast.
	right func(ctx context.Context) error
	// done takes back what was made ready; nil when there is nothing.
	done func()
	// over is the link that counts what the command moves; nil for none. done ends
	// it.
	over *link
}

// row compares one doer with the fastest of others.
type row struct {
	work, ours string
	against    []string
	// wanted is the most that ours may take of their time.
	wanted float64
}

// measured is a work with what each doer took, in the order of rounds.
type measured struct {
	work
	took map[string][]usage
}

// measureWork lets all doers do a work in turn, so often, and once more before
// that, so that what can be warm is warm for all.
func measureWork(ctx context.Context, s *site, w work, rounds int) (measured, error) {
	m := measured{w, map[string][]usage{}}
	if err := w.ready(ctx); err != nil {
		return m, err
	}
	for round := range rounds + 1 {
		said := []string{}
		for _, d := range w.doers {
			took, err := d.once(ctx, s)
			if err != nil {
				return m, fmt.Errorf("%s: %w", d.name, err)
			}
			said = append(said, fmt.Sprintf("%s %.2f s", d.name, took.Wall.Seconds()))
			if round > 0 {
				m.took[d.name] = append(m.took[d.name], took)
			}
		}
		say("%s: %s, %d of %d: %s", s.place.name, w.name, round, rounds, strings.Join(said, ", "))
	}
	return m, nil
}

// once does the work once, and removes what came out.
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

// works are all works at a site.
func works(s *site) []work {
	return []work{
		s.pull(), s.unpack(1), s.unpack(bigCount), s.mirrorBig(), s.mirrorSmall(), s.again(), s.slowLink(),
		s.lock(), s.execTofu(), s.execTerraform(),
	}
}
