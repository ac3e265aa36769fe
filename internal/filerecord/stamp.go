package filerecord

import "fmt"

// Stamp is what a file looks like from outside: its size, the times of its last
// modification and change, and its inode. Where the system does not tell one of
// them, that is zero. Stamps are comparable.
type Stamp struct {
	size, modified, changed int64
	inode                   uint64
}

// String gives the form that [ParseStamp] reads: four numbers, times in
// nanoseconds.
func (s Stamp) String() string {
	return fmt.Sprintf("%d %d %d %d", s.size, s.modified, s.changed, s.inode)
}

// ParseStamp reads what String wrote.
func ParseStamp(text string) (Stamp, error) {
	var s Stamp
	var more string
	n, err := fmt.Sscanf(text+" end", "%d %d %d %d %s", &s.size, &s.modified, &s.changed, &s.inode, &more)
	if err != nil || n != 5 || more != "end" {
		return Stamp{}, fmt.Errorf("%q is no stamp of a file", text)
	}
	return s, nil
}
