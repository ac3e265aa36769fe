package extprog

// Words gives the words of a command line, placeholders still in them.
func (p Program) Words() []string {
	words, err := split(p.line)
	if err != nil {
		panic(err)
	}
	return words
}
