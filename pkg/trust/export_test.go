package trust

import "slices"

// Fingerprints returns the fingerprints of the primary keys in upper-case hexadecimal
// digits, sorted.
func (k Keyring) Fingerprints() []string {
	var all []string
	for _, key := range k.keys {
		all = append(all, fingerprintOf(key.PrimaryKey.Fingerprint))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
