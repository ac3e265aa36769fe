package extprog

// Words returns the words of a command line with their placeholders.
func (p Program) Words() []string { return p.words }

// Split exports split for tests.
var Split = split
