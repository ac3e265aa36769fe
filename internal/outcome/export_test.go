package outcome

import "time"

// SetTimeout sets the maximum time for sending a notification.
func (w *Webhook) SetTimeout(limit time.Duration) { w.timeout = limit }
