package cliconfig

import (
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Overlap returns the mirrors whose providers a direct method of the block also
// matches, and the patterns of these providers. OpenTofu merges the versions of both
// methods, and fails if it selects a version that the mirror doesn't have.
func (i Installation) Overlap(direct Method) (mirrors []Method, open []provider.Pattern) {
	for _, m := range i.Methods {
		if m.Kind != OCIMirror && m.Kind != NetworkMirror {
			continue
		}
		shared := m.overlap(direct)
		if len(shared) > 0 {
			mirrors = append(mirrors, m)
		}
		for _, p := range shared {
			if !slices.Contains(open, p) {
				open = append(open, p)
			}
		}
	}
	return mirrors, open
}

// overlap returns the method's patterns that the direct method also matches.
func (m Method) overlap(direct Method) []provider.Pattern {
	included := m.Include
	if len(included) == 0 {
		if all, err := provider.ParsePattern("*/*/*"); err == nil {
			included = []provider.Pattern{all}
		}
	}
	var open []provider.Pattern
	for _, p := range included {
		covered := func(q provider.Pattern) bool { return covers(q, p) }
		if slices.ContainsFunc(m.Exclude, covered) || slices.ContainsFunc(direct.Exclude, covered) {
			continue
		}
		// Find the patterns that direct includes and that neither method excludes.
		if len(direct.Include) == 0 {
			open = append(open, p)
			continue
		}
		for _, d := range direct.Include {
			meet, ok := intersection(p, d)
			inMeet := func(q provider.Pattern) bool { return covers(q, meet) }
			if ok && !slices.ContainsFunc(m.Exclude, inMeet) && !slices.ContainsFunc(direct.Exclude, inMeet) {
				open = append(open, meet)
			}
		}
	}
	return open
}

// covers reports whether p matches every address that q matches.
func covers(p, q provider.Pattern) bool {
	meet, ok := intersection(p, q)
	return ok && meet == q
}

// intersection returns the pattern that matches the addresses that both patterns match.
// Wildcards are always at the end, so the result is the pattern with fewer wildcards.
func intersection(p, q provider.Pattern) (provider.Pattern, bool) {
	ps, qs := strings.Split(p.String(), "/"), strings.Split(q.String(), "/")
	for i := range min(len(ps), len(qs)) {
		if ps[i] != qs[i] && ps[i] != "*" && qs[i] != "*" {
			return provider.Pattern{}, false
		}
	}
	if strings.Count(p.String(), "*") <= strings.Count(q.String(), "*") {
		return p, true
	}
	return q, true
}
