package store

// File is a file in the making.
type File = file

// LetCreate changes how the store makes files.
func (s *Store) LetCreate(create func(path string) (File, error)) { s.create = create }
