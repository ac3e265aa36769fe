//go:build linux

// Command load measures tofu-oci serve. It compares the throughput of downloads over
// TLS with nginx, which serves the same file with the same certificate. It also
// measures the latency of version lists with many concurrent clients. It generates all
// content, and prints tables or writes them to a page.
//
// make bench-serve builds and runs the command. If nginx is missing, the command
// installs it, which requires the necessary permissions.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tofu-oci/tofu-oci/e2e/page"
)

// target is the make target that writes the page.
const target = "bench-serve"

type options struct {
	// rounds is the number of downloads from each server.
	rounds int
	// archives enables the measurement of downloads.
	archives bool
	// attack is the duration of the measurement of version lists.
	attack time.Duration
	// page is the output file. If empty, the tables are printed to stdout.
	page string
	// disk is a directory on a disk, which contains all files.
	disk string
}

func main() {
	if len(os.Args) == 5 && os.Args[1] == bareCommand {
		fmt.Fprintln(os.Stderr, "load:", serveBare(os.Args[2], os.Args[3], os.Args[4]))
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := parseAndRun(ctx)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func parseAndRun(ctx context.Context) error {
	var o options
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.IntVar(&o.rounds, "n", 7, "let each server give the archive `N` times")
	flags.BoolVar(&o.archives, "archives", true, "measure archives too")
	flags.DurationVar(&o.attack, "attack", 20*time.Second, "ask for lists for `DURATION`")
	flags.StringVar(&o.page, "page", "", "write the tables into `FILE`, between its two marker comments")
	flags.StringVar(&o.disk, "disk", os.TempDir(), "`DIRECTORY` on a disk to work in")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if o.rounds < 1 || o.attack < time.Second {
		return errors.New("-n: at least 1, -attack: at least 1s")
	}
	if o.page != "" && !o.archives {
		return errors.New("-page requires archives")
	}
	return run(ctx, o)
}

func run(ctx context.Context, o options) error {
	// 1. Start the servers.
	w, err := newWorld(ctx, o.disk)
	if err != nil {
		return err
	}
	defer w.close()
	// 2. Download the archive from each server in turn.
	r := report{rounds: o.rounds}
	if o.archives {
		if r.archives, err = w.measureArchives(ctx, o.rounds); err != nil {
			return err
		}
	}
	// 3. Request lists of versions with many concurrent clients.
	if r.lists, err = w.measureLists(ctx, o.attack); err != nil {
		return err
	}
	// 4. Open many connections at once.
	if r.connected, err = w.measureConnecting(ctx, o.rounds); err != nil {
		return err
	}
	// 5. Report the results.
	text, err := r.text(ctx, w)
	if err != nil {
		return err
	}
	if o.page == "" {
		fmt.Print(text)
		return nil
	}
	return page.Write(o.page, target, text)
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
