package store

// File is a file that is being written.
type File = file

// LetCreate replaces the function that creates files.
func (s *Store) LetCreate(create func(path string) (File, error)) { s.create = create }

// LetLink replaces the function that creates symbolic links.
func (s *Store) LetLink(link func(target, path string) error) { s.symlink = link }
