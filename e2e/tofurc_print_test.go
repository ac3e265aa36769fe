package e2e_test

import (
	"fmt"
	"slices"
	"strings"
)

// garble changes s at random.
func (c corpus) garble(s string) string {
	if s == "" {
		return s
	}
	at := c.IntN(len(s))
	switch c.IntN(5) {
	case 0:
		return s[:at]
	case 1:
		return s[:at] + s[at+1:]
	case 2:
		return s[:at] + pick(c, "{", "}", "[", "]", ",", "=", "\"", "\n", "#", "\\", "\\/", "\\u00e9", "x", "\x00", "\xff", "$", "${", "<<E\n") + s[at:]
	case 3:
		return strings.Replace(s, "}", ",}", 1)
	}
	return strings.Replace(s, "/", `\/`, 1)
}

func (c corpus) native(b *strings.Builder, fields []field, indent string) {
	for _, f := range fields {
		name := f.name
		if strings.ContainsAny(name, "/.:ü") {
			name = `"` + name + `"`
		}
		b.WriteString(indent + name)
		for _, label := range f.labels {
			fmt.Fprintf(b, ` "%s"`, label)
		}
		if f.assigned || f.value.kind != 'o' {
			b.WriteString(" =")
		}
		b.WriteString(" ")
		c.nativeValue(b, f.value, indent)
		b.WriteString("\n")
	}
}

func (c corpus) nativeValue(b *strings.Builder, v value, indent string) {
	switch v.kind {
	case 't':
		b.WriteString(`"` + v.text + `"`)
	case 'r':
		b.WriteString(v.text)
	case 'l':
		b.WriteString("[")
		for i, element := range v.list {
			if i > 0 {
				b.WriteString(", ")
			}
			c.nativeValue(b, element, indent)
		}
		b.WriteString("]")
	case 'o':
		b.WriteString("{\n")
		c.native(b, v.fields, indent+"  ")
		b.WriteString(indent + "}")
	}
}

// json prints a value as JSON. It prints labels as members, and blocks as objects or as
// lists that contain one object.
func (c corpus) json(b *strings.Builder, v value) {
	switch v.kind {
	case 't':
		b.WriteString(`"` + strings.ReplaceAll(v.text, `"`, `\"`) + `"`)
	case 'r':
		b.WriteString(v.text)
	case 'l':
		b.WriteString("[")
		for i, element := range v.list {
			if i > 0 {
				b.WriteString(", ")
			}
			c.json(b, element)
		}
		b.WriteString("]")
	case 'o':
		b.WriteString("{")
		for i, f := range v.fields {
			if i > 0 {
				b.WriteString(",\n")
			}
			fmt.Fprintf(b, `"%s": `, f.name)
			inner := f.value
			for _, label := range slices.Backward(f.labels) {
				inner = object(field{name: label, value: inner})
			}
			if !f.assigned && c.chance(45) {
				inner = value{kind: 'l', list: []value{inner}}
			}
			c.json(b, inner)
		}
		b.WriteString("}")
	}
}
