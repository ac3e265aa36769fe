package packagezip

import "sync"

// listingWindow is the size of the last part of an archive that a [Listing] keeps. It
// is large enough for the central directories of almost all providers.
const listingWindow = 256 << 10

// Listing reads the central directory of the archive that is written to it. It neither
// decompresses nor validates the archive, so it costs almost nothing. The zero value is
// ready to use. A Listing is safe for concurrent use, because an HTTP request that has
// returned early can still read the body from which the archive is copied.
type Listing struct {
	mu   sync.Mutex
	size int64
	tail []byte
}

// Write implements [io.Writer]. It never returns an error.
func (l *Listing) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size += int64(len(p))
	latest := p[max(0, len(p)-listingWindow):]
	if len(l.tail)+len(latest) > 2*listingWindow {
		l.tail = append(l.tail[:0], l.window()...)
	}
	l.tail = append(l.tail, latest...)
	return len(p), nil
}

func (l *Listing) window() []byte { return l.tail[max(0, len(l.tail)-listingWindow):] }

// Contents returns the archive's contents without hashes. ok is false if the central
// directory is damaged or too large.
func (l *Listing) Contents() (c Contents, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	window := l.window()
	first := l.size - int64(len(window))
	end, err := locate(window, l.size)
	if err != nil || end.start < first {
		return Contents{}, false
	}
	entries, err := parseDirectory(window[end.start-first:end.end-first], end, usualLimits())
	return listed(entries), err == nil
}
