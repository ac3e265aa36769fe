// Package faults holds the suite of tests in which everything around a mirror, a
// pull and a publish goes wrong: origin, registry, network and the moment of an
// interruption. It has tests only. All of it happens in memory and in bubbles of
// testing/synctest: the timeouts and pauses are those of the program as it is
// shipped, and take no time.
package faults
