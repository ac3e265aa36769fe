package module

import "time"

// SetGitTimeout changes the time limit for a call of git until restore is called.
func SetGitTimeout(limit time.Duration) (restore func()) {
	before := gitTimeout
	gitTimeout = limit
	return func() { gitTimeout = before }
}
