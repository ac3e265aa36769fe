package access

// Parse parses rules.
func Parse(file string, data []byte, o Options) (*Rules, error) {
	return parse(file, data, &keyCache{http: o.HTTP})
}
