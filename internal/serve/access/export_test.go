package access

// Parse reads rules from a text.
func Parse(file string, data []byte, o Options) (*Rules, error) {
	keys, err := o.keyCache()
	if err != nil {
		return nil, err
	}
	return parse(file, data, keys)
}
