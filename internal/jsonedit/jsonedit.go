// Package jsonedit changes single members of a JSON object and leaves every other
// byte of its text as it is: order, spaces and what it does not know.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoObject says that a text is not one JSON object, or that there is something
// else where an object has to be.
var ErrNoObject = errors.New("it is not a JSON object")

// DuplicateError says that an object has a key twice, so that readers differ in what
// they find under it.
type DuplicateError struct{ Key string }

func (e *DuplicateError) Error() string { return fmt.Sprintf("it has the key %q twice", e.Key) }

// Set gives the text with a value, which is JSON, at the end of a path of keys. The
// objects on the way are made where they are missing. An empty text is an empty
// object. Errors are [ErrNoObject] and *[DuplicateError].
func Set(text, value []byte, path ...string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	root, err := read(text, 0)
	if err != nil {
		return nil, err
	}
	form := formOf(text, root)
	at := root
	for depth, key := range path {
		there, err := at.find(key)
		if err != nil {
			return nil, err
		}
		last := depth == len(path)-1
		if there == nil || !last && string(text[there.value:there.end]) == "null" {
			return at.put(text, there, key, form.indented(nested(value, path[depth+1:]), depth+1), form.at(depth)), nil
		}
		if last {
			return slices.Concat(text[:there.value], form.indented(value, depth+1), text[there.end:]), nil
		}
		if at, err = read(text, there.value); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// Remove gives the text without what is at the end of a path of keys, however often
// it is there; the same text where it is not. Errors are those of [Set].
func Remove(text []byte, path ...string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	at, err := read(text, 0)
	if err != nil {
		return nil, err
	}
	for _, key := range path[:len(path)-1] {
		there, err := at.find(key)
		if err != nil {
			return nil, err
		}
		if there == nil || string(text[there.value:there.end]) == "null" {
			return text, nil
		}
		if at, err = read(text, there.value); err != nil {
			return nil, err
		}
	}
	key := path[len(path)-1]
	i := slices.IndexFunc(at.members, func(m member) bool { return m.key == key })
	if i < 0 {
		return text, nil
	}
	from, to := at.span(i)
	return Remove(slices.Concat(text[:from], text[to:]), path...)
}

// object is where an object and its members are in a text.
type object struct {
	// open and end are the offsets of its braces.
	open, end int
	members   []member
}

// member is where a member is: its key begins at start, its value is from value to
// end.
type member struct {
	key               string
	start, value, end int
}

// read finds the object that begins at an offset.
func read(text []byte, at int) (object, error) {
	if at == 0 && !json.Valid(text) {
		var v any
		return object{}, json.Unmarshal(text, &v) // whose error says where
	}
	decoder := json.NewDecoder(bytes.NewReader(text[at:]))
	offset := func() int { return at + int(decoder.InputOffset()) }
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return object{}, ErrNoObject
	}
	o := object{open: offset() - 1}
	for decoder.More() {
		m := member{start: offset()}
		m.start += bytes.IndexByte(text[m.start:], '"')
		key, err := decoder.Token()
		if err != nil {
			return object{}, err
		}
		m.key, _ = key.(string)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return object{}, err
		}
		m.end = offset()
		m.value = m.end - len(value)
		o.members = append(o.members, m)
	}
	if _, err := decoder.Token(); err != nil {
		return object{}, err
	}
	o.end = offset() - 1
	return o, nil
}

// find gives the member of a key, nil where there is none.
func (o object) find(key string) (*member, error) {
	var found *member
	for i, m := range o.members {
		switch {
		case m.key != key:
		case found != nil:
			return nil, &DuplicateError{Key: key}
		default:
			found = &o.members[i]
		}
	}
	return found, nil
}

// put gives the text with a member: in place of the one that is there, or as the last
// of the object.
func (o object) put(text []byte, there *member, key string, value []byte, f form) []byte {
	if there != nil {
		return slices.Concat(text[:there.value], value, text[there.end:])
	}
	name, _ := json.Marshal(key) // which cannot fail for a text
	added := slices.Concat([]byte(f.line(1)), name, []byte(":"+f.space), value)
	if len(o.members) == 0 {
		return slices.Concat(text[:o.open+1], added, []byte(f.line(0)), text[o.end:])
	}
	last := o.members[len(o.members)-1].end
	return slices.Concat(text[:last], []byte(","), added, text[last:])
}

// span is what goes with a member: also the comma that separates it from another.
func (o object) span(i int) (from, to int) {
	switch {
	case len(o.members) == 1:
		return o.open + 1, o.end
	case i == len(o.members)-1:
		return o.members[i-1].end, o.members[i].end
	}
	return o.members[i].start, o.members[i+1].start
}

// nested is a value within objects of one member each.
func nested(value []byte, path []string) []byte {
	for _, key := range slices.Backward(path) {
		name, _ := json.Marshal(key)
		value = slices.Concat([]byte("{"), name, []byte(":"), value, []byte("}"))
	}
	return value
}

// form is how a text is laid out.
type form struct {
	// newline is empty for a text on one line.
	newline, unit, space string
	depth                int
}

// formOf learns the form from the first member, or takes that of Docker.
func formOf(text []byte, root object) form {
	if len(root.members) == 0 {
		return form{newline: "\n", unit: "\t", space: " "}
	}
	first := root.members[0]
	before := string(text[root.open+1 : first.start])
	i := strings.LastIndexByte(before, '\n')
	if i < 0 {
		return form{}
	}
	f := form{newline: "\n", unit: before[i+1:], space: " "}
	if strings.HasSuffix(before[:i], "\r") {
		f.newline = "\r\n"
	}
	return f
}

func (f form) at(depth int) form {
	f.depth = depth
	return f
}

// line begins a line so many levels below the form's depth.
func (f form) line(below int) string {
	if f.newline == "" {
		return ""
	}
	return f.newline + strings.Repeat(f.unit, f.depth+below)
}

// indented lays out a value that stands at a depth.
func (f form) indented(value []byte, depth int) []byte {
	if f.newline == "" {
		return value
	}
	var b bytes.Buffer
	if err := json.Indent(&b, value, strings.Repeat(f.unit, depth), f.unit); err != nil {
		return value
	}
	return bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(f.newline))
}
