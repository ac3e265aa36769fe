package credentials

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
)

// errNoObject means that the text is not a JSON object, or that a value on the path is
// not an object.
var errNoObject = errors.New("not a JSON object")

// errDuplicate means that an object contains a key twice. Different programs would read
// different values from such an object.
var errDuplicate = errors.New("duplicate key")

// setMember sets the JSON value at a path of keys and returns the modified text. It
// creates missing objects on the path and treats empty text as an empty object. It
// returns [errNoObject], [errDuplicate], and *[json.SyntaxError].
func setMember(text, value []byte, path ...string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	form, at := formOf(root), &root
	for depth, key := range path {
		if isNull(at) && depth > 0 {
			at.Value = &hujson.Object{}
		}
		o, there, err := find(at, key)
		if err != nil {
			return nil, err
		}
		if there == nil {
			there = form.add(o, key, depth)
		}
		at = there
	}
	laid, err := hujson.Parse(form.indented(value, len(path)))
	if err != nil {
		return nil, err
	}
	at.Value = laid.Value
	return root.Pack(), nil
}

// removeMember removes the members at a path of keys and returns the modified text. If
// these members do not exist, it returns the text unchanged. It returns the same errors
// as [setMember].
func removeMember(text []byte, path ...string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	at, last := &root, path[len(path)-1]
	for _, key := range path[:len(path)-1] {
		_, there, err := find(at, key)
		if err != nil {
			return nil, err
		}
		if there == nil || isNull(there) {
			return text, nil
		}
		at = there
	}
	o, ok := at.Value.(*hujson.Object)
	if !ok {
		return nil, errNoObject
	}
	removeFrom(o, last)
	return root.Pack(), nil
}

// removeFrom removes a key from an object and preserves the formatting.
func removeFrom(o *hujson.Object, key string) {
	if len(o.Members) == 0 {
		return
	}
	before := o.Members[0].Name.BeforeExtra
	o.Members = slices.DeleteFunc(o.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == key })
	if len(o.Members) == 0 {
		o.AfterExtra = nil
		return
	}
	o.Members[0].Name.BeforeExtra = before
	o.Members[len(o.Members)-1].Value.AfterExtra = nil // removes the comma
}

// parse parses plain JSON, without comments and trailing commas.
func parse(text []byte) (hujson.Value, error) {
	if !json.Valid(text) {
		var v any
		return hujson.Value{}, bounded.JSONError(json.Unmarshal(text, &v))
	}
	return hujson.Parse(text)
}

// find returns at as an object, and the value of the object's member named key. If no
// member has this name, found is nil.
func find(at *hujson.Value, key string) (o *hujson.Object, found *hujson.Value, err error) {
	o, ok := at.Value.(*hujson.Object)
	if !ok {
		return nil, nil, errNoObject
	}
	for i, m := range o.Members {
		switch {
		case nameOf(m) != key:
		case found != nil:
			return nil, nil, fmt.Errorf("%w: %q", errDuplicate, key)
		default:
			found = &o.Members[i].Value
		}
	}
	return o, found, nil
}

func nameOf(m hujson.ObjectMember) string {
	name, _ := m.Name.Value.(hujson.Literal)
	return name.String()
}

func isNull(v *hujson.Value) bool { return v.Value.Kind() == 'n' }

// form is the formatting of a JSON document.
type form struct {
	// newline is empty if the text is on one line.
	newline, unit, space string
}

// formOf derives the formatting from the first member, or returns Docker's formatting.
func formOf(root hujson.Value) form {
	o, ok := root.Value.(*hujson.Object)
	if !ok || len(o.Members) == 0 {
		return form{newline: "\n", unit: "\t", space: " "}
	}
	before := string(o.Members[0].Name.BeforeExtra)
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

// add appends a member with the value null to an object at the given depth.
func (f form) add(o *hujson.Object, key string, depth int) *hujson.Value {
	if len(o.Members) == 0 {
		o.AfterExtra = f.line(depth)
	}
	o.Members = append(o.Members, hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: f.line(depth + 1), Value: hujson.String(key)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(f.space), Value: hujson.Literal("null")},
	})
	return &o.Members[len(o.Members)-1].Value
}

// line returns a line break and the indentation for the given depth.
func (f form) line(depth int) hujson.Extra {
	if f.newline == "" {
		return nil
	}
	return hujson.Extra(f.newline + strings.Repeat(f.unit, depth))
}

// indented formats a value at the given depth.
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
