package cliconfig

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// reader reads one file and collects all that is wrong in it.
type reader struct {
	json     bool
	problems []error
	notes    []Note
}

func (r *reader) fail(at stricthcl.Position, format string, args ...any) {
	r.problems = append(r.problems, &stricthcl.Error{Position: at, Problem: message(format, args)})
}

func (r *reader) note(kind NoteKind, at stricthcl.Position, format string, args ...any) {
	r.notes = append(r.notes, Note{at, kind, message(format, args)})
}

// message formats words of the file without the secrets that may be in them.
func message(format string, args []any) string {
	shown := make([]any, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			shown[i] = text.RedactUserinfo(arg)
		case template.Template:
			shown[i] = arg.Redacted()
		case error:
			shown[i] = text.Redact(arg.Error())
		default:
			shown[i] = arg
		}
	}
	return fmt.Sprintf(format, shown...)
}

func (r *reader) err() error { return errors.Join(r.problems...) }

// block is a block of the configuration, whichever syntax it is written in.
type block struct {
	at    stricthcl.Position
	label node
	body  []item
}

// blocks reads an item as a block without label. In JSON it may be a list of
// them.
func (r *reader) blocks(i item) []block {
	if !r.json {
		return r.native(i, 0, i.name+" { … }")
	}
	var blocks []block
	for _, o := range r.objects(i.name, i.value) {
		at := i.at
		if i.value.kind == list {
			at = o.at
		}
		blocks = append(blocks, block{at: at, body: o.items})
	}
	return blocks
}

// labeled reads an item as blocks with one label: in JSON, an object with one
// member a block. The example says what the label is.
func (r *reader) labeled(i item, example string) []block {
	if !r.json {
		return r.native(i, 1, fmt.Sprintf(`%s %q { … }`, i.name, example))
	}
	var blocks []block
	for _, o := range r.objects(i.name, i.value) {
		for _, member := range o.items {
			label := node{at: member.at, text: member.name}
			for _, body := range r.objects(i.name, member.value) {
				blocks = append(blocks, block{member.at, label, body.items})
			}
		}
	}
	return blocks
}

// native reads an item of native syntax as a block. HCL 1 would also take other
// forms; OpenTofu doesn't.
func (r *reader) native(i item, labels int, form string) []block {
	at := i.value.at
	if len(i.labels) > 0 {
		at = i.labels[0].at
	}
	switch {
	case i.value.kind != object || i.assigned:
		r.fail(at, "%s must be a block without an equals sign: %s", i.name, form)
		return nil
	case len(i.labels) != labels && labels == 0:
		r.fail(at, "%s has no label: %s", i.name, form)
		return nil
	case len(i.labels) != labels:
		r.fail(at, "%s must have one label: %s", i.name, form)
		return nil
	}
	b := block{at: i.at, body: i.value.items}
	if labels > 0 {
		b.label = i.labels[0]
	}
	return []block{b}
}

// objects gives a JSON value as objects: it is one, or a list of some.
func (r *reader) objects(name string, value node) []node {
	if value.kind == object {
		return []node{value}
	}
	if value.kind != list {
		r.fail(value.at, "%s must be an object or a list of objects", name)
		return nil
	}
	for _, element := range value.list {
		if element.kind != object {
			r.fail(element.at, "%s must be an object or a list of objects", name)
			return nil
		}
	}
	return value.list
}

// values gives the values of an argument, which HCL 1 lets stand several times,
// in any case.
func values(body []item, name string) []item {
	var found []item
	for _, i := range body {
		if strings.EqualFold(i.name, name) {
			found = append(found, i)
		}
	}
	return found
}

// text reads an argument that is a text; of several the last counts. given is
// false when it is not there.
func (r *reader) text(body []item, name string) (value node, given bool) {
	for _, i := range values(body, name) {
		if i.value.kind != str && i.value.kind != number || len(i.labels) > 0 {
			r.fail(i.value.at, "%s must be a text in quotes", name)
			continue
		}
		value, given = i.value, true
	}
	return value, given
}

// texts reads an argument that is a list of texts; several are put together.
func (r *reader) texts(body []item, name string) (all []node, given bool) {
	for _, i := range values(body, name) {
		if i.value.kind == object && len(i.value.items) == 0 && len(i.labels) == 0 && !r.json {
			given = true // HCL 1 takes {} for an empty list
			continue
		}
		if i.value.kind != list {
			r.fail(i.value.at, "%s must be a list of texts: [\"…\"]", name)
			continue
		}
		given = true
		for _, element := range i.value.list {
			if element.kind != str && element.kind != number {
				r.fail(element.at, "%s must be a list of texts, and this is none", name)
				continue
			}
			all = append(all, element)
		}
	}
	return all, given
}

// boolean reads an argument that is true or false.
func (r *reader) boolean(body []item, name string, otherwise bool) bool {
	for _, i := range values(body, name) {
		if i.value.kind != boolean {
			r.fail(i.value.at, "%s must be true or false", name)
			continue
		}
		otherwise = i.value.text == "true"
	}
	return otherwise
}

// integer checks an argument that is a whole number, which HCL 1 also takes from
// a text.
func (r *reader) integer(body []item, name string) {
	for _, i := range values(body, name) {
		_, err := strconv.ParseInt(i.value.text, 0, 0)
		if err != nil || i.value.kind != number && i.value.kind != str || len(i.labels) > 0 {
			r.fail(i.value.at, "%s must be a whole number", name)
		}
	}
}
