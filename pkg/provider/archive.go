package provider

import "fmt"

// ArchiveError says which rule a package's zip archive breaks: those under which
// it unpacks safely, and to the same files on every system.
type ArchiveError struct {
	// Name is the entry's name, empty when the archive as a whole is meant.
	Name string
	// Problem continues the sentence that starts with the name.
	Problem string
}

func (e *ArchiveError) Error() string {
	if e.Name == "" {
		return "the zip archive " + e.Problem
	}
	return fmt.Sprintf("the zip archive's entry %q %s", e.Name, e.Problem)
}

// Kind is [Unverified].
func (e *ArchiveError) Kind() ErrorKind { return Unverified }
