package sync

// Parse parses the content of a declaration.
var Parse = parse
