package cliconfig

import (
	"bytes"
	"errors"
	"os"
	"slices"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// Blocks are the blocks that redirect installations to a mirror.
type Blocks struct {
	// Template, if not nil, determines the repositories of the providers that match
	// Patterns. See [MirrorBlock].
	Template *template.Template
	Patterns []provider.Pattern
	Hosts    []HostBlock
}

// Text returns the blocks in native syntax. It returns the errors from [MirrorBlock].
func (b Blocks) Text() (text string, err error) {
	if b.Template != nil {
		text, err = MirrorBlock(*b.Template, b.Patterns)
	}
	if len(b.Hosts) > 0 {
		text += "# A host block replaces all services of its host, so providers.v1 keeps direct\n# installation working.\n"
	}
	for _, host := range b.Hosts {
		text += host.String()
	}
	return text, err
}

// MergeFile adds the blocks to a file's text. See [Merge] and [MergeHosts]. It also
// returns a *[MergeError] if, in the given environment, OpenTofu reads both this file
// and another file with a provider_installation block, because OpenTofu rejects two
// blocks. place is the file's path with symbolic links resolved.
func (b Blocks) MergeFile(e Environment, name, place string, data []byte) (after []byte, err error) {
	if after = data; b.Template != nil {
		after, err = mergeFile(e, name, place, data, *b.Template, b.Patterns)
	}
	if err != nil {
		return nil, err
	}
	merged, err := MergeHosts(name, after, b.Hosts)
	if conflict, is := errors.AsType[*MergeError](err); is && !bytes.Equal(data, after) { // the file lacks the other block, too
		block, _ := MirrorBlock(*b.Template, b.Patterns) // succeeded above
		conflict.Block = block + conflict.Block
	}
	return merged, err
}

func mergeFile(e Environment, name, place string, data []byte, t template.Template, patterns []provider.Pattern) ([]byte, error) {
	after, err := Merge(name, data, t, patterns)
	if err != nil || bytes.Equal(data, after) {
		return after, err
	}
	files, err := Locate(e, "")
	if err != nil || !slices.ContainsFunc(files, func(p ConfigFile) bool { return !p.Ignored && isSameFile(p.Path, place) }) {
		return after, err
	}
	for _, path := range files.Chosen() {
		if other, err := Load(path); err == nil && other.Installation != nil && !isSameFile(path, place) {
			block, _ := MirrorBlock(t, patterns) // Merge succeeded with the same block
			return nil, &MergeError{other.Installation.Position, "OpenTofu already reads a provider_installation block from this file and rejects a second one", block}
		}
	}
	return after, nil
}

// Reads reports whether OpenTofu reads the file at place. See [Blocks.MergeFile].
func (e Environment) Reads(place string) (bool, error) {
	files, err := Locate(e, "")
	return slices.ContainsFunc(files.Chosen(), func(path string) bool { return isSameFile(path, place) }), err
}

// isSameFile reports whether two paths refer to the same file. Equal paths refer to the
// same file even if the file doesn't exist.
func isSameFile(path, place string) bool {
	if path == place {
		return true
	}
	a, err := os.Stat(path)
	if err != nil {
		return false
	}
	b, err := os.Stat(place)
	return err == nil && os.SameFile(a, b)
}

// RemovedPatterns returns the patterns of the mirrors in before that no mirror in after
// covers. name is the file's name.
func RemovedPatterns(name string, before, after []byte) (removed []string) {
	now := mirrorPatterns(name, after)
	for _, p := range mirrorPatterns(name, before) {
		if !slices.ContainsFunc(now, func(n provider.Pattern) bool { return covers(n, p) }) {
			removed = append(removed, p.String())
		}
	}
	return removed
}

// mirrorPatterns returns the patterns of all oci_mirror blocks in a file's text, or nil
// if the text is invalid.
func mirrorPatterns(name string, text []byte) (all []provider.Pattern) {
	config, err := Parse(name, text)
	if err != nil || config.Installation == nil {
		return nil
	}
	for _, m := range config.Installation.Methods {
		if m.Kind == OCIMirror {
			all = append(all, m.Include...)
		}
	}
	return all
}
