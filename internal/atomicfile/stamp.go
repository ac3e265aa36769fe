package atomicfile

import "fmt"

// Stamp identifies a file's state by its size, the times of its last modification and
// change, and its inode. Values that the system does not provide are zero. Stamps can
// be compared with ==.
type Stamp struct {
	size, modified, changed int64
	inode                   uint64
}

// Size returns the file's size in bytes.
func (s Stamp) Size() int64 { return s.size }

// String returns the format that [ParseStamp] parses: four numbers, with times in
// nanoseconds.
func (s Stamp) String() string {
	return fmt.Sprintf("%d %d %d %d", s.size, s.modified, s.changed, s.inode)
}

// ParseStamp parses the output of [Stamp.String].
func ParseStamp(text string) (Stamp, error) {
	var s Stamp
	n, err := fmt.Sscanf(text, "%d %d %d %d", &s.size, &s.modified, &s.changed, &s.inode)
	if err != nil || n != 4 || s.String() != text {
		return Stamp{}, fmt.Errorf("invalid file stamp %q", text)
	}
	return s, nil
}

// MarshalText returns the same text as String.
func (s Stamp) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the same format as [ParseStamp].
func (s *Stamp) UnmarshalText(text []byte) (err error) {
	*s, err = ParseStamp(string(text))
	return err
}
