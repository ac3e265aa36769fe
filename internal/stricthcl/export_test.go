package stricthcl

// WholeLines is wholeLines.
var WholeLines = wholeLines
