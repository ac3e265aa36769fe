package memo

// Len counts what is kept.
func Len[K comparable, V any](m *Memo[K, V]) int { return len(m.entries) }
