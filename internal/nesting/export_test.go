package nesting

// WholeLines is wholeLines.
var WholeLines = wholeLines
