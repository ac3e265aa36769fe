package cliconfig

import (
	"regexp"
	"strconv"

	"github.com/tailscale/hujson"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
)

// checkJSON rejects JSON in which OpenTofu's parser silently drops content. After a
// syntax error or a nested list, the parser drops the rest of the file. In lists, it
// drops true and false.
func checkJSON(name string, data []byte) error {
	root, err := hujson.Parse(data)
	if err != nil {
		at := stricthcl.Position{File: name}
		if place := placeInJSON.FindStringSubmatch(err.Error()); place != nil {
			at.Line, _ = strconv.Atoi(place[1])
			at.Column, _ = strconv.Atoi(place[2])
		}
		return &stricthcl.Error{Position: at, Problem: "invalid JSON syntax"}
	}
	for value := range root.All() {
		list, ok := value.Value.(*hujson.Array)
		if !ok {
			continue
		}
		for _, element := range list.Elements {
			switch element.Value.Kind() {
			case '[', 'n', 't', 'f':
				return &stricthcl.Error{Position: after(stricthcl.Position{File: name, Line: 1, Column: 1}, string(data[:element.StartOffset])), Problem: "a list must not contain lists, null, true, or false"}
			}
		}
	}
	return nil
}

// placeInJSON matches the position in an error from hujson. The rest of the message can
// contain secrets.
var placeInJSON = regexp.MustCompile(`^hujson: line (\d+), column (\d+):`)
