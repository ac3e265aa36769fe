package lockfile

// LockName returns the name of the file that is locked on systems that can't lock
// directories.
var LockName = lockName

// MaxWait is the maximum time to wait for a lock.
const MaxWait = maxWait

// UpdateWithin is like [Update], but waits at most for the given time for a lock.
var UpdateWithin = update

// MaxSize is the maximum size of a lock file.
const MaxSize = maxSize
