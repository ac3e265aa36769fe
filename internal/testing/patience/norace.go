//go:build !race

package patience

const factor = 1
