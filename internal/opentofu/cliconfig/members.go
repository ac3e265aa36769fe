package cliconfig

import (
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// member is a block of those that OpenTofu reads with HCL 1's decoder, which
// takes more forms: name "key" { … }, name { key { … } } and name = { key = { … } }.
type member struct {
	at   stricthcl.Position
	key  node
	body []item
}

// members reads an item as such blocks.
func (r *reader) members(i item, form string) []member {
	var all []member
	for _, e := range r.entries(i, form) {
		values := []node{e.value}
		if r.json {
			values = r.objects(i.name, e.value)
		} else if e.value.kind != object {
			r.fail(e.value.at, "%s must have the form %s", i.name, form)
			continue
		}
		for _, value := range values {
			all = append(all, member{i.at, e.key, value.items})
		}
	}
	return all
}

// entry is a key of a map, as HCL 1's decoder sees it, and a value of it. The
// same key may come several times.
type entry struct{ key, value node }

// entries reads an item as a map, whose first key may be the item's label.
func (r *reader) entries(i item, form string) []entry {
	if len(i.labels) > 0 {
		value := i.value
		for _, label := range slices.Backward(i.labels[1:]) {
			value = node{at: label.at, kind: object, items: []item{{at: label.at, name: label.text, value: value}}}
		}
		return []entry{{i.labels[0], value}}
	}
	objects := []node{i.value}
	if r.json {
		objects = r.objects(i.name, i.value)
	} else if i.value.kind != object {
		r.fail(i.value.at, "%s must have the form %s", i.name, form)
		return nil
	}
	var all []entry
	for _, o := range objects {
		for _, m := range o.items {
			m.labels = slices.Concat([]node{{at: m.at, text: m.name}}, m.labels)
			all = append(all, r.entries(m, form)...)
		}
	}
	return all
}
