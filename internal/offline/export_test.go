package offline

// StartOn is like [Start], but serves on the given listener.
var StartOn = start
