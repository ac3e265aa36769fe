//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

// resources describes the resource usage of an idle process.
type resources struct {
	heap                    uint64
	goroutines, descriptors int
}

func (h resources) String() string {
	return fmt.Sprintf("%.1f MiB on the heap, %d goroutines, %d descriptors.", float64(h.heap)/(1<<20), h.goroutines, h.descriptors)
}

// Allowed growth of resources, because caches and the runtime need memory.
const (
	moreHeap        = 8 << 20
	moreGoroutines  = 4
	moreDescriptors = 4
)

func (h resources) compare(before resources) error {
	var all []error
	if h.heap > before.heap+moreHeap {
		all = append(all, fmt.Errorf("the heap grew by %d bytes", h.heap-before.heap))
	}
	if h.goroutines > before.goroutines+moreGoroutines {
		all = append(all, fmt.Errorf("%d more goroutines", h.goroutines-before.goroutines))
	}
	if h.descriptors > before.descriptors+moreDescriptors {
		all = append(all, fmt.Errorf("%d more descriptors", h.descriptors-before.descriptors))
	}
	return errors.Join(all...)
}

func look() (h resources, err error) {
	runtime.GC()
	runtime.GC() // only the second collection empties pools
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	open, err := os.ReadDir("/proc/self/fd")
	return resources{memory.HeapAlloc, runtime.NumGoroutine(), len(open) - 1}, err
}

// quiet releases hanging requests, closes idle connections, and waits until the
// resource usage stops decreasing or is as low as before. It returns the lowest
// usage.
func (w *world) quiet(ctx context.Context, before resources) (least resources, err error) {
	w.faults.stop()
	defer w.faults.start()
	const (
		every  = time.Second
		enough = 10 // the number of consecutive measurements without a decrease
		most   = 150
	)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i, same := 0, 0; i < most && same < enough; i++ {
		w.closeIdle()
		select {
		case <-ctx.Done():
			return least, ctx.Err()
		case <-tick.C:
		}
		now, err := look()
		if err != nil {
			return least, err
		}
		same++
		if i == 0 || now.goroutines < least.goroutines || now.descriptors < least.descriptors {
			same = 0
		}
		if least = now; before != (resources{}) && now.compare(before) == nil && same > 1 {
			break
		}
	}
	return least, nil
}
