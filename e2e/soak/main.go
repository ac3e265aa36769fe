//go:build linux

// Command soak sends requests of all kinds to a server for minutes, while the registry
// behind it injects faults of all kinds. Afterwards, the memory, the goroutines, and
// the file descriptors must be the same as shortly after the start, and no response may
// have had wrong content.
//
// Before that, it occupies the real program with clients that do not read and with idle
// clients, and prints its peak memory and the latency of /healthz.
//
// make soak runs it.
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
)

type options struct {
	// last is the total duration of the requests, and warm the duration of the warm-up.
	last, warm time.Duration
	// clients is the number of concurrent clients and of requests per second and
	// client.
	clients uint64
	rate    float64
	seed    uint64
	// crowds skips the soak test, which takes minutes.
	crowds bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := parseAndRun(ctx)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func parseAndRun(ctx context.Context) error {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.DurationVar(&o.last, "last", 10*time.Minute, "ask for `DURATION`")
	flags.Uint64Var(&o.clients, "clients", 32, "let `N` clients ask at once")
	flags.Float64Var(&o.rate, "rate", 5, "let each ask `N` times a second")
	flags.Uint64Var(&o.seed, "seed", 1, "choose requests and faults by `N`")
	flags.BoolVar(&o.crowds, "crowds", false, "only let crowds of clients occupy the server")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	const shortest = 10 * time.Second
	if o.last < shortest || o.clients < 1 || o.rate <= 0 {
		return fmt.Errorf("invalid flags: want -last %s or more, -clients 1 or more, and a positive -rate", shortest)
	}
	const warmPart = 5
	o.warm = o.last / warmPart
	return run(ctx, o)
}

func run(ctx context.Context, o options) error {
	if err := endure(ctx); err != nil || o.crowds {
		return err
	}
	// 1. Start a registry with faults, and a server for it.
	w, err := newWorld(ctx, o)
	if err != nil {
		return err
	}
	defer w.close()
	// 2. Measure the idle server after the warm-up.
	if err := w.ask(ctx, o.warm); err != nil {
		return err
	}
	before, err := w.quiet(ctx, resources{})
	if err != nil {
		return err
	}
	fmt.Println("after", o.warm, before, w.statusCounts())
	// 3. Measure it again at the end.
	if err := w.ask(ctx, o.last-o.warm); err != nil {
		return err
	}
	after, err := w.quiet(ctx, before)
	if err != nil {
		return err
	}
	fmt.Println("after", o.last, after, w.statusCounts())
	// 4. Compare the measurements.
	return errors.Join(after.compare(before), w.trouble())
}
