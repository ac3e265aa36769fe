package stricthcl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// ParseJSON parses a text in HCL 2's JSON syntax. HCL supports several forms of a
// block, but ParseJSON accepts only one form. A block is an object. A block with labels
// is nested in one object for each label. All blocks of a type are in the same object,
// so a label occurs only once. blocks contains the number of labels for each type of
// block. Duplicate keys are errors. The caller must limit the text's size. Errors
// contain the file name file and are of type *[Error].
func ParseJSON(file string, data []byte, blocks map[string]int) (hcl.Body, error) {
	if err := new(Budget).CheckJSON(file, data); err != nil {
		return nil, err
	}
	parsed, diags := hcljson.Parse(data, file)
	if len(diags) > 0 { // the first error causes all further errors
		return nil, OfDiagnostic(file, diags[0])
	}
	s := shape{file: file, data: data, decoder: json.NewDecoder(bytes.NewReader(data)), blocks: blocks}
	if err := s.value(nil); err != nil {
		return nil, err
	}
	return parsed.Body, nil
}

// shape checks a JSON text's form.
type shape struct {
	file    string
	data    []byte
	decoder *json.Decoder
	blocks  map[string]int
}

// value checks the next value. path contains the keys of the enclosing objects.
func (s shape) value(path []string) error {
	start := s.offset()
	token, err := s.decoder.Token()
	switch {
	case err != nil:
		return s.wrong(start, "invalid JSON: %v", err)
	case token != json.Delim('{') && s.isBlock(path):
		return s.wrong(start, "%s must be an object", cmp.Or(strings.Join(path, " "), "the text"))
	case token == json.Delim('{'):
		return s.object(path)
	case token == json.Delim('['):
		for s.decoder.More() {
			if err := s.value(append(path, "")); err != nil {
				return err
			}
		}
		_, err = s.decoder.Token()
	}
	return err
}

// object checks the rest of an object.
func (s shape) object(path []string) error {
	offsets := map[string]int{}
	for s.decoder.More() {
		start := s.offset()
		token, err := s.decoder.Token()
		if err != nil {
			return s.wrong(start, "invalid JSON: %v", err)
		}
		key, _ := token.(string) // a key is always a string
		if other, duplicate := offsets[key]; duplicate {
			return s.wrong(start, "duplicate key %q: it is also in line %d", key, s.position(other).Line)
		}
		offsets[key] = start
		if err := s.value(append(path, key)); err != nil {
			return err
		}
	}
	_, err := s.decoder.Token()
	return err
}

// isBlock reports whether the value at a path contains blocks. This applies to the text
// itself, to the value of a block type, and to the values of its labels.
func (s shape) isBlock(path []string) bool {
	if len(path) == 0 {
		return true
	}
	labels, ok := s.blocks[path[0]]
	return ok && len(path) <= 1+labels
}

// offset returns the next token's offset.
func (s shape) offset() int {
	at := int(s.decoder.InputOffset())
	return at + len(s.data[at:]) - len(bytes.TrimLeft(s.data[at:], " \t\r\n,:"))
}

func (s shape) position(offset int) Position {
	before := s.data[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return Position{File: s.file, Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(before[start:]) + 1}
}

func (s shape) wrong(offset int, format string, args ...any) error {
	return &Error{Position: s.position(offset), Problem: fmt.Sprintf(format, args...)}
}
