package stricthcl

// WholeLines exports wholeLines.
var WholeLines = wholeLines
