package cliconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// parseJSON reads the JSON syntax: one object. Members that are null count as
// not there, as they do for OpenTofu.
func parseJSON(file string, data []byte) ([]item, error) {
	j := &jsonReader{file: file, data: data, decoder: json.NewDecoder(bytes.NewReader(data))}
	// The decoder of tokens takes some of what is no JSON, and any depth.
	var document any
	if err := json.Unmarshal(data, &document); err != nil {
		e := &SyntaxError{Position: Position{File: file}, Problem: err.Error()}
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			// Offset counts the byte at fault too.
			e.Position = j.position(max(int(syntax.Offset)-1, 0))
		}
		return nil, e
	}
	j.decoder.UseNumber()
	root, err := j.value()
	if err != nil {
		return nil, &SyntaxError{root.at, err.Error()}
	}
	return root.items, nil
}

// jsonReader reads a document that is known to be JSON, for the positions that
// package json keeps to itself.
type jsonReader struct {
	file    string
	data    []byte
	decoder *json.Decoder
	// line and start are the line of the last position and where it begins.
	line, start int
}

// position gives the place of a byte. Bytes are asked for in rising order.
func (j *jsonReader) position(offset int) Position {
	offset = min(offset, len(j.data))
	for {
		i := bytes.IndexByte(j.data[j.start:offset], '\n')
		if i < 0 {
			break
		}
		j.line++
		j.start += i + 1
	}
	return Position{j.file, j.line + 1, utf8.RuneCount(j.data[j.start:offset]) + 1}
}

// token gives the next token, and where it stands in the data.
func (j *jsonReader) token() (t json.Token, from, to int, err error) {
	from = int(j.decoder.InputOffset())
	for from < len(j.data) && bytes.IndexByte([]byte(" \t\r\n,:"), j.data[from]) >= 0 {
		from++
	}
	t, err = j.decoder.Token()
	return t, from, int(j.decoder.InputOffset()), err
}

func (j *jsonReader) value() (node, error) {
	t, from, to, err := j.token()
	n := node{at: j.position(from)}
	if err != nil {
		return n, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			return j.list(n)
		}
		return j.object(n)
	case string:
		n.text = t
		n.plain = string(j.data[from:to]) == `"`+t+`"`
	case json.Number:
		n.kind, n.text = number, t.String()
	case bool:
		n.kind, n.text = boolean, "false"
		if t {
			n.text = "true"
		}
	default:
		n.kind = other
	}
	return n, nil
}

func (j *jsonReader) list(n node) (node, error) {
	n.kind = list
	for j.decoder.More() {
		element, err := j.value()
		if err != nil {
			return n, err
		}
		n.list = append(n.list, element)
	}
	_, _, _, err := j.token()
	return n, err
}

func (j *jsonReader) object(n node) (node, error) {
	n.kind = object
	for j.decoder.More() {
		key, err := j.value()
		if err != nil {
			return n, err
		}
		value, err := j.value()
		if err != nil {
			return n, err
		}
		if value.kind != other {
			n.items = append(n.items, item{at: key.at, name: key.text, value: value})
		}
	}
	_, _, _, err := j.token()
	return n, err
}
