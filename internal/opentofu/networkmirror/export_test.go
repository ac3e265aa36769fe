package networkmirror

import "time"

// SetOriginTimeout sets the maximum time for the first response of an origin registry.
func (s *Source) SetOriginTimeout(limit time.Duration) { s.originTimeout = limit }
