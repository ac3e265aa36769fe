//go:build unix

// Command peers compares tofu-oci with programs that perform the same tasks: crane,
// regctl, regsync, oras, tofu, tar, and a script that uses curl, sha256sum, and regctl.
// It creates the packages, starts an origin registry and OCI registries on the local
// machine, and runs all programs in turn. It prints the results as a table or writes the
// table to a page.
//
// make bench-peers builds and runs the command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/tofu-oci/tofu-oci/e2e/page"
)

// target is the make target that writes the page.
const target = "bench-peers"

type options struct {
	// rows matches the names of the table rows to measure.
	rows *regexp.Regexp
	// rounds is the number of runs of each program.
	rounds int
	// page is the output file. If empty, the table is printed to stdout.
	page string
	// disk is a directory on a disk, for the measurements that do not use memory.
	disk string
}

func main() {
	if len(os.Args) > 3 && os.Args[1] == measureCommand {
		os.Exit(measure(os.Args[2], os.Args[3:]))
	}
	if len(os.Args) == 4 && os.Args[1] == bareCommand {
		if err := sendRequests(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, "peers:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := parseAndRun(ctx)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func parseAndRun(ctx context.Context) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	rows := flags.String("rows", "", "measure only works whose name matches `REGEXP`")
	rounds := flags.Int("n", 5, "let each program do each work `N` times")
	into := flags.String("page", "", "write the table into `FILE`, between its two marker comments")
	disk := flags.String("disk", os.TempDir(), "`DIRECTORY` on a disk to work in")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*rows)
	switch {
	case err != nil:
		return fmt.Errorf("-rows: %w", err)
	case *rounds < 1:
		return errors.New("-n: at least 1")
	case *into != "" && *rows != "":
		return errors.New("-page requires all rows: omit -rows")
	}
	dir, err := filepath.Abs(*disk)
	if err != nil {
		return err
	}
	return run(ctx, options{rows: wanted, rounds: *rounds, page: *into, disk: dir})
}

// run runs all measurements and reports the results.
func run(ctx context.Context, o options) error {
	// 1. Prepare the programs, the packages, and the origin registry.
	w, err := newWorld(ctx, o.disk)
	if err != nil {
		return err
	}
	defer w.close()
	// 2. Measure on each file system. The page contains only the first one.
	found := places(o.disk)
	if o.page != "" {
		found = found[:1]
	}
	var tables []table
	for _, p := range found {
		t, err := measureAt(ctx, w, p, o)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		tables = append(tables, t)
	}
	// 3. Report the results.
	text, err := report(ctx, w.programs, o.rounds, tables)
	if err != nil {
		return err
	}
	if o.page == "" {
		fmt.Print(text)
		return nil
	}
	return page.Write(o.page, target, text)
}

func measureAt(ctx context.Context, w *world, p place, o options) (table, error) {
	t := table{place: p}
	s, err := newSite(ctx, w, p)
	if err != nil {
		return t, err
	}
	defer s.close()
	if t.idle, err = s.idle(ctx); err != nil {
		return t, err
	}
	for _, work := range works(s) {
		if !o.rows.MatchString(work.name) || work.memoryOnly && !p.memory {
			continue
		}
		m, err := measureWork(ctx, s, work, o.rounds)
		if err != nil {
			return t, fmt.Errorf("%s: %w", work.name, err)
		}
		t.measured = append(t.measured, m)
	}
	return t, nil
}
