package extprog

// Words returns the words of a command line, placeholders still in them.
func (p Program) Words() []string { return p.words }

// Split is split.
var Split = split
