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

// ParseJSON parses a text in HCL 2's JSON syntax. HCL has several forms for a block.
// ParseJSON accepts only one: a block is an object, a block with labels is an object in an
// object for each label, and all blocks of a type are in one object, so a label occurs only
// once. blocks contains the number of labels of each type of block. Duplicate keys are
// errors. The caller must limit the size of the text. file is the file name in errors,
// which are of type *[Error].
func ParseJSON(file string, data []byte, blocks map[string]int) (hcl.Body, error) {
	if err := new(Budget).CheckJSON(file, data); err != nil {
		return nil, err
	}
	parsed, diags := hcljson.Parse(data, file)
	if len(diags) > 0 { // others are consequences of the first
		return nil, OfDiagnostic(file, diags[0])
	}
	s := shape{file: file, data: data, decoder: json.NewDecoder(bytes.NewReader(data)), blocks: blocks}
	if err := s.value(nil); err != nil {
		return nil, err
	}
	return parsed.Body, nil
}

// shape checks the form of a JSON text.
type shape struct {
	file    string
	data    []byte
	decoder *json.Decoder
	blocks  map[string]int
}

// value checks the next value. path contains the keys of the objects around it.
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
		key, _ := token.(string) // always a string
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

// isBlock reports whether the value at a path contains blocks: the text itself, the value
// of a type of block, and the values of its labels.
func (s shape) isBlock(path []string) bool {
	if len(path) == 0 {
		return true
	}
	labels, ok := s.blocks[path[0]]
	return ok && len(path) <= 1+labels
}

// offset returns the offset of the next token.
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
