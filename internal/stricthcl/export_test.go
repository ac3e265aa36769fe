package stricthcl

// CompleteLines exports completeLines.
var CompleteLines = completeLines
