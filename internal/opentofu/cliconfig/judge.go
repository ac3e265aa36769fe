package cliconfig

import (
	"errors"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"slices"
	"strings"

	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/parser"
)

// judge gives a file to HCL 1's decoder in the shapes that OpenTofu decodes, and
// tells what it refuses that the reader took: in JSON, HCL 1 merges objects into
// their parents, and what is left is often not what was meant. The error's text
// is ours, since the decoder's repeats values.
//
// https://github.com/opentofu/opentofu/blob/v1.12.6/internal/command/cliconfig/cliconfig.go
func (r *reader) judge(file string, data []byte, items []item) {
	root, err := hcl.ParseBytes(data)
	if err != nil {
		r.problems = append(r.problems, parserError(file, err))
		return
	}
	j := &judge{r, file, items}
	for _, shape := range shapes() {
		if err := hcl.DecodeObject(shape.into, root); err != nil {
			j.refuse(shape.name, err)
		}
	}
	if body, ok := root.Node.(*ast.ObjectList); ok {
		j.blocks(body)
	}
}

// judge has what its messages are made of.
type judge struct {
	*reader
	file  string
	items []item
}

// shape is what OpenTofu's decoder puts members of the file into, by a name in
// any case.
type shape struct {
	name string
	into any
}

func shapes() []shape {
	return []shape{
		{"host", &struct {
			V map[string]*struct {
				V map[string]any `hcl:"services"`
			} `hcl:"host"`
		}{}},
		{"credentials", &struct {
			V map[string]map[string]any `hcl:"credentials"`
		}{}},
		{"credentials_helper", &struct {
			V map[string]*struct {
				V []string `hcl:"args"`
			} `hcl:"credentials_helper"`
		}{}},
		{"plugin_cache_dir", &struct {
			V string `hcl:"plugin_cache_dir"`
		}{}},
		{"plugin_cache_may_break_dependency_lock_file", &struct {
			V bool `hcl:"plugin_cache_may_break_dependency_lock_file"`
		}{}},
	}
}

// forms are what blocks look like in both syntaxes.
var forms = map[string]struct{ native, json string }{
	"host":               {`host "registry.example.com" { services = { … } }`, `"host": {"registry.example.com": {"services": {…}}}`},
	"credentials":        {`credentials "registry.example.com" { token = "…" }`, `"credentials": {"registry.example.com": {"token": "…"}}`},
	"credentials_helper": {`credentials_helper "name" { args = ["…"] }`, `"credentials_helper": {"name": {"args": ["…"]}}`},
	"plugin_cache_dir":   {`plugin_cache_dir = "…"`, `"plugin_cache_dir": "…"`},
	"plugin_cache_may_break_dependency_lock_file": {
		`plugin_cache_may_break_dependency_lock_file = true`, `"plugin_cache_may_break_dependency_lock_file": true`,
	},
	"registry_protocols":      {`registry_protocols { retry_count = 1 }`, `"registry_protocols": {"retry_count": 1}`},
	"oci_default_credentials": {`oci_default_credentials { … }`, `"oci_default_credentials": {"discover_ambient_credentials": true}`},
	"oci_credentials":         {`oci_credentials "registry.example.com" { … }`, `"oci_credentials": {"registry.example.com": {…}}, without lists or null`},
	"provider_installation":   {`provider_installation { direct { … } }`, `"provider_installation": [{"direct": [{…}]}]`},
}

// blocks looks at the blocks that OpenTofu takes from the syntax tree.
func (j *judge) blocks(body *ast.ObjectList) {
	for _, i := range body.Items {
		if len(i.Keys) == 0 {
			continue
		}
		name, _ := i.Keys[0].Token.Value().(string)
		content, isObject := i.Val.(*ast.ObjectType)
		switch name {
		case "oci_credentials":
			j.login(i)
		case "registry_protocols":
			j.decode(name, content, isObject, &struct {
				Retries *int `hcl:"retry_count"`
				Timeout *int `hcl:"request_timeout_seconds"`
			}{})
		case "oci_default_credentials":
			j.decode(name, content, isObject, &struct {
				Ambient *bool     `hcl:"discover_ambient_credentials"`
				Files   *[]string `hcl:"docker_style_config_files"`
				Helper  *string   `hcl:"docker_credentials_helper"`
			}{})
		case "provider_installation":
			if !j.misread() {
				j.methods(content, isObject)
			}
		}
	}
}

// misread tells that there is a note about provider_installation, which says
// more than its decoder would.
func (j *judge) misread() bool {
	for _, n := range j.notes {
		if n.Kind == NoteObjects {
			return true
		}
	}
	return false
}

// login looks at an oci_credentials block. In JSON its label is a member's name.
func (j *judge) login(i *ast.ObjectItem) {
	content, isObject := i.Val.(*ast.ObjectType)
	j.decode("oci_credentials", content, isObject && len(i.Keys) == 2, &struct {
		Username *string `hcl:"username"`
		Password *string `hcl:"password"`
		Access   *string `hcl:"access_token"`
		Refresh  *string `hcl:"refresh_token"`
		Helper   *string `hcl:"docker_credentials_helper"`
	}{})
}

// methods looks at the blocks within provider_installation.
func (j *judge) methods(body *ast.ObjectType, isObject bool) {
	const name = "provider_installation"
	if !isObject {
		j.refuse(name, nil)
		return
	}
	for _, i := range body.List.Items {
		if len(i.Keys) == 0 {
			continue
		}
		content, isObject := i.Val.(*ast.ObjectType)
		method, _ := i.Keys[0].Token.Value().(string)
		if into := methodShape(method); into != nil || !isObject {
			j.decode(name, content, isObject, into)
		}
	}
}

// methodShape is what OpenTofu decodes a method's block into; nil for one that
// it does not know.
func methodShape(name string) any {
	type Patterns struct {
		Include []string `hcl:"include"`
		Exclude []string `hcl:"exclude"`
	}
	switch Kind(name) {
	case Direct:
		return &struct {
			Patterns `hcl:",squash"`
			Retries  *int `hcl:"download_retry_count"`
		}{}
	case FilesystemMirror:
		return &struct {
			Patterns `hcl:",squash"`
			Path     string `hcl:"path"`
		}{}
	case NetworkMirror:
		return &struct {
			Patterns `hcl:",squash"`
			URL      string `hcl:"url"`
			Retries  *int   `hcl:"download_retry_count"`
			Trusted  bool   `hcl:"trust_all_hashes"`
		}{}
	case OCIMirror:
		return &struct {
			Patterns `hcl:",squash"`
			Template string `hcl:"repository_template"`
		}{}
	case DevOverrides:
		return &map[string]string{}
	}
	return nil
}

func (j *judge) decode(name string, body *ast.ObjectType, fits bool, into any) {
	if !fits {
		j.refuse(name, nil)
	} else if err := hcl.DecodeObject(into, body); err != nil {
		j.refuse(name, err)
	}
}

// refuse reports a block, at the place that the decoder's error has, or else
// where the first of its name stands.
func (j *judge) refuse(name string, err error) {
	at := stricthcl.Position{File: j.file}
	if e, ok := errors.AsType[*parser.PosError](err); ok && e.Pos.IsValid() {
		at.Line, at.Column = e.Pos.Line, e.Pos.Column
	} else if i := slices.IndexFunc(j.items, func(i item) bool { return strings.EqualFold(i.name, name) }); i >= 0 {
		at = j.items[i].at
	}
	form := forms[name].native
	if j.json {
		form = forms[name].json
	}
	j.fail(at, "OpenTofu refuses %s as it is written here; its form is %s", name, form)
}
