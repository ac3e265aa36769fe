//go:build linux

// Command soak asks a server for everything, for minutes, while the registry behind it
// misbehaves in every way, and looks at what is left then: memory, goroutines and
// descriptors have to be as many as soon after the start, and no answer may have had a
// wrong byte.
//
// Before that, it lets clients that don't read, and idle ones, occupy the real program,
// and prints its peak memory and the latency of /healthz.
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
	// last is how long clients ask, warm how much of it counts as the start.
	last, warm time.Duration
	// clients ask at once, each so often a second.
	clients uint64
	rate    float64
	seed    uint64
	// crowds leaves out what lasts minutes.
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
		return fmt.Errorf("-last: at least %s, -clients: at least 1, -rate: more than nothing", shortest)
	}
	const warmPart = 5
	o.warm = o.last / warmPart
	return run(ctx, o)
}

func run(ctx context.Context, o options) error {
	if err := endure(ctx); err != nil || o.crowds {
		return err
	}
	// 1. A registry that misbehaves, and a server over it.
	w, err := newWorld(ctx, o)
	if err != nil {
		return err
	}
	defer w.close()
	// 2. What is there when all kinds of requests have come, and nobody asks.
	if err := w.ask(ctx, o.warm); err != nil {
		return err
	}
	before, err := w.quiet(ctx, held{})
	if err != nil {
		return err
	}
	fmt.Println("after", o.warm, before, w.asked())
	// 3. The same, later.
	if err := w.ask(ctx, o.last-o.warm); err != nil {
		return err
	}
	after, err := w.quiet(ctx, before)
	if err != nil {
		return err
	}
	fmt.Println("after", o.last, after, w.asked())
	// 4. Is it as much?
	return errors.Join(after.compare(before), w.trouble())
}
