package atomicfile

import "fmt"

// Stamp is what a file looks like from outside: its size, the times of its last
// modification and change, and its inode. Where the system does not tell one of
// them, that is zero. Stamps are comparable.
type Stamp struct {
	size, modified, changed int64
	inode                   uint64
}

// Size is the file's, in bytes.
func (s Stamp) Size() int64 { return s.size }

// String returns the form that [ParseStamp] reads: four numbers, times in
// nanoseconds.
func (s Stamp) String() string {
	return fmt.Sprintf("%d %d %d %d", s.size, s.modified, s.changed, s.inode)
}

// ParseStamp reads what String wrote.
func ParseStamp(text string) (Stamp, error) {
	var s Stamp
	n, err := fmt.Sscanf(text, "%d %d %d %d", &s.size, &s.modified, &s.changed, &s.inode)
	if err != nil || n != 4 || s.String() != text {
		return Stamp{}, fmt.Errorf("%q is no stamp of a file", text)
	}
	return s, nil
}

// MarshalText returns [Stamp.String].
func (s Stamp) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is [ParseStamp].
func (s *Stamp) UnmarshalText(text []byte) (err error) {
	*s, err = ParseStamp(string(text))
	return err
}
