package packagezip

import (
	"io"
)

// directory reads the archive to its end. It returns an error if the entries differ
// from the central directory.
func (s *stream) directory() ([]entry, error) {
	// 1. Read the rest of the archive.
	start := s.in.offset()
	const most = maxDirectory + endWindow
	tail, err := io.ReadAll(io.LimitReader(s.in.buffer, most+1))
	switch {
	case err != nil:
		return nil, err
	case len(tail) > most:
		return nil, s.guess("the central directory exceeds the limit")
	}
	// 2. Parse the central directory, which must start at this offset.
	window := tail[max(0, len(tail)-endWindow):]
	end, err := locate(window, s.in.offset())
	switch {
	case err != nil:
		return nil, s.guess(err.Error())
	case end.start != start || end.base != 0:
		return nil, s.guess("the central directory does not follow the entries")
	}
	entries, err := parseDirectory(tail[:end.end-end.start], end, s.limits)
	if err != nil {
		return nil, err
	}
	if err := check(entries, s.limits); err != nil {
		return nil, err
	}
	// 3. Compare the central directory with the entries.
	return entries, s.compare(entries)
}

// compare returns an error if the central directory's entries differ from the entries
// that were read.
func (s *stream) compare(entries []entry) error {
	for _, e := range entries {
		came, found := s.seen[e.offset]
		if !found {
			return entryError(e.name, "is not at the offset in the central directory")
		}
		if problem := disagreement(came.local, e.header); problem != "" {
			return entryError(e.name, "%s", problem)
		}
		if came.actual.crc != e.crc || came.actual.packed != e.packed || came.actual.size != e.size {
			return entryError(e.name, "does not match the central directory")
		}
		delete(s.seen, e.offset)
	}
	for _, came := range s.seen {
		return entryError(came.local.name, "is not in the central directory")
	}
	return nil
}
