package extprog

// Split exports split for tests.
var Split = split
