package outcome

import "time"

// WithTimeout returns a webhook with the given time limit for a notification.
func (w Webhook) WithTimeout(limit time.Duration) Webhook {
	w.timeout = limit
	return w
}
