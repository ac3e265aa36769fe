package lockfile

// LockName is the name of the file that is locked where directories cannot be.
var LockName = lockName

// MaxWait is how long a lock is waited for.
const MaxWait = maxWait

// MaxSize is the size up to which a file is read.
const MaxSize = maxSize
