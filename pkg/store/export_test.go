package store

// File is a file in the making.
type File = file

// LetCreate changes how the store makes files.
func (s *Store) LetCreate(create func(path string) (File, error)) { s.create = create }

// LetLink changes how the store makes links.
func (s *Store) LetLink(link func(target, path string) error) { s.symlink = link }
