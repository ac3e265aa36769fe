//go:build linux

// Command soak sends requests of all kinds to a server for minutes. The registry behind
// the server injects faults of all kinds. At the end, the numbers of goroutines and
// file descriptors and the memory usage must be the same as shortly after the start. No
// response may contain wrong content.
//
// Before that, soak runs the real program with many idle clients and with clients that
// do not read responses. It prints the program's peak memory and the latency of
// /healthz.
//
// make soak builds and runs the command.
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
	// last is the total duration of the test, and warm is the duration of the warm-up.
	last, warm time.Duration
	// clients is the number of concurrent clients. It is also the number of requests
	// that each client sends per second.
	clients uint64
	rate    float64
	seed    uint64
	// crowds skips the soak test, which takes minutes, and runs only the crowds.
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
	// 2. Warm up the server, and measure it when it is idle.
	if err := w.ask(ctx, o.warm); err != nil {
		return err
	}
	before, err := w.quiet(ctx, resources{})
	if err != nil {
		return err
	}
	fmt.Println("after", o.warm, before, w.statusCounts())
	// 3. Send more requests, and measure the server again.
	if err := w.ask(ctx, o.last-o.warm); err != nil {
		return err
	}
	after, err := w.quiet(ctx, before)
	if err != nil {
		return err
	}
	fmt.Println("after", o.last, after, w.statusCounts())
	// 4. Compare the measurements.
	return errors.Join(after.compare(before), w.failures())
}
