package e2e_test

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// corpus generates valid and invalid CLI configurations in both syntaxes, with all of
// OpenTofu's blocks and arguments. Equal seeds result in equal configurations.
type corpus struct{ *rand.Rand }

func newCorpus(seed uint64) corpus { return corpus{rand.New(rand.NewPCG(seed, seed))} }

// value is a value in either syntax: a string, a literal, a list, or an object.
type value struct {
	kind   byte // 't', 'r', 'l', or 'o'
	text   string
	list   []value
	fields []field
}

// field is a member of an object. If assigned is not set, the member is a block.
type field struct {
	name     string
	labels   []string
	assigned bool
	value    value
}

// oddities lists configurations that tofu and tofu-oci read differently in the past, or
// intentionally read differently now.
var oddities = []string{
	"provider_installation {\n  direct {\n    include = [\"a/b\"]\n    include = [\"a/c\"]\n  }\n}",
	"provider_installation {\n  direct = }\n}",
	"provider_installation {\n  direct {\n    include {}\n    Exclude = [\"a/b\"]\n  }\n}",
	"credentials_helper \"one\" {}\ncredentials_helper \"two\" {}",
	"host \"a.example\" {\n  services = {}\n}\nhost \"a.example\" {\n  services { \"providers.v1\" = \"/\" }\n}",
	"host = { \"a.example\" = { services = {} } }\ncredentials { \"a.example\" { token = 7 } }",
	"host \"A.example\" {}\nhost \"a.example\" {}",
	"oci_credentials \"*.a.com\" {\n  docker_credentials_helper = \"x\"\n}",
	"provider_installation {\n  oci_mirror {\n    repository_template = \"*.io/${hostname}/${namespace}/${type}\"\n  }\n}",
	`{"host": {"a.example": {"services": {"providers.v1": "/",},},},}`,
	`{"oci_credentials": null}`, `{"oci_credentials": {"a.io": null}}`, `{"oci_credentials": {"a.io": [{"username": "u", "password": "p"}]}}`, `{"oci_credentials": []}`,
	`{"provider_installation": null}`, `{"provider_installation": []}`, `{"provider_installation": [{"direct": null}]}`, `{"provider_installation": [[]]}`,
	`{"provider_installation": {"direct": {}}}`, `{"provider_installation": [{"direct": [{"include": [true]}]}]}`, `{"plugin_cache_dir": "\/"}`,
	`{"provider_installation": [{"direct": [{}]}`,
}

func text(s string) value          { return value{kind: 't', text: s} }
func raw(s string) value           { return value{kind: 'r', text: s} }
func object(fields ...field) value { return value{kind: 'o', fields: fields} }

func set(name string, v value) field { return field{name: name, assigned: true, value: v} }

func block(name string, labels []string, fields ...field) field {
	return field{name: name, labels: labels, value: object(fields...)}
}

func pick[T any](c corpus, all ...T) T { return all[c.IntN(len(all))] }

// chance returns true with a probability of percent / 100.
func (c corpus) chance(percent int) bool { return c.IntN(100) < percent }

// config generates one configuration file.
func (c corpus) config() string {
	var fields []field
	for range 1 + c.IntN(3) {
		fields = append(fields, c.top())
	}
	root := object(fields...)
	if c.chance(55) {
		for range 1 + c.IntN(2) {
			c.mistake(&root)
		}
	}
	var b strings.Builder
	if c.chance(40) {
		c.json(&b, root)
	} else {
		c.native(&b, root.fields, "")
	}
	if c.chance(12) {
		return c.garble(b.String())
	}
	return b.String()
}

func (c corpus) host() string {
	return pick(c, "registry.example.com", "a.example", "A.example", "a.example:443", "localhost:8443", "bücher.example", "xn--bcher-kva.example", "a.example", "a.example")
}

func (c corpus) top() field {
	switch c.IntN(12) {
	case 0, 1:
		services := object()
		for range c.IntN(3) {
			services.fields = append(services.fields, set(pick(c, "providers.v1", "modules.v1", "login.v1"), text("https://"+c.host()+"/v1/")))
		}
		return block("host", []string{c.host()}, field{name: "services", assigned: c.chance(80), value: services})
	case 2:
		return block("credentials", []string{c.host()}, set(pick(c, "token", "token", "other"), text("t0ken")))
	case 3:
		return block("credentials_helper", []string{pick(c, "one", "two")}, set("args", value{kind: 'l', list: []value{text("-x"), text("y")}}))
	case 4:
		return set(pick(c, "plugin_cache_dir", "plugin_cache_may_break_dependency_lock_file", "disable_checkpoint", "unknown"), pick(c, text("/"), text("/not/there"), raw("true"), raw("7")))
	case 5:
		return block("registry_protocols", nil, set("retry_count", pick(c, raw("2"), text("3"), raw("0x10"))), set("request_timeout_seconds", raw("20")))
	case 6, 7:
		return c.login()
	case 8:
		f := block("oci_default_credentials", nil, set("discover_ambient_credentials", pick(c, raw("true"), raw("false"))))
		if c.chance(40) {
			f.value.fields = append(f.value.fields, set("docker_style_config_files", value{kind: 'l', list: []value{text("auth.json")}}))
		}
		if c.chance(40) {
			f.value.fields = append(f.value.fields, set("docker_credentials_helper", text(pick(c, "osxkeychain", "a/b", ""))))
		}
		return f
	}
	return c.installation()
}

func (c corpus) login() field {
	label := pick(c, "ghcr.io", "ghcr.io/acme", "localhost:5000/a/b", "*.a.com", "quay.io", "a_b.io/x", "quay.io:99999", "ghcr.io/Acme", "https://ghcr.io", "user:pass@ghcr.io/x", "ghcr.io/a:tag")
	forms := [][]field{
		{set("username", text("jane")), set("password", text("secret"))},
		{set("access_token", text("a")), set("refresh_token", text("r"))},
		{set("docker_credentials_helper", text("pass"))},
	}
	fields := pick(c, forms...)
	if c.chance(15) {
		fields = slices.Concat(fields, pick(c, forms...)[:1])
	}
	return block("oci_credentials", []string{label}, fields...)
}

func (c corpus) installation() field {
	f := block("provider_installation", nil)
	if c.chance(20) {
		f.value.fields = append(f.value.fields, block("dev_overrides", nil, set(pick(c, "hashicorp/aws", "aws", "example.com/a/b", "a/b/c/d", "A/b_c"), text("/src/../x"))))
	}
	for range c.IntN(4) {
		f.value.fields = append(f.value.fields, c.method())
	}
	return f
}

func (c corpus) method() field {
	var fields []field
	name := pick(c, "direct", "filesystem_mirror", "network_mirror", "oci_mirror", "oci_mirror")
	switch name {
	case "filesystem_mirror":
		fields = append(fields, set("path", text(pick(c, "/usr/share", "mirror", "", "a b"))))
	case "network_mirror":
		fields = append(fields, set("url", text(pick(c, "https://mirror.example/v1/", "https://user:pass@mirror.example/", "http://mirror.example/", "mirror", "https:///x", "https://[::1/", "HTTPS://mirror.example"))))
		if c.chance(50) {
			fields = append(fields, set("trust_all_hashes", pick(c, raw("true"), raw("false"), text("true"))))
		}
	case "oci_mirror":
		fields = append(fields, set("repository_template", text(pick(c, templates...))))
	}
	if name != "filesystem_mirror" && c.chance(30) {
		fields = append(fields, set("download_retry_count", pick(c, raw("3"), text("4"), text("x"), raw("1.5"), raw("-1"))))
	}
	for _, list := range []string{"include", "exclude"} {
		if c.chance(50) {
			var patterns []value
			for range c.IntN(3) {
				patterns = append(patterns, text(pick(c, patternTexts...)))
			}
			fields = append(fields, set(list, value{kind: 'l', list: patterns}))
		}
	}
	return block(name, nil, fields...)
}

var templates = []string{
	"ghcr.io/${hostname}/${namespace}/${type}", "ghcr.io/${hostname}/${namespace}/${type}", "ghcr.io/${namespace}/${type}", "ghcr.io/acme/${type}",
	"ghcr.io/aws", "localhost:5000/${hostname}/${namespace}-${type}", "ghcr.io/${name}", "ghcr.io/${type", "${hostname}/${namespace}/${type}",
	"ghcr.io/${hostname}/${namespace}/${upper(type)}", "ghcr.io/${type == \"aws\" ? \"a\" : type}/${namespace}/${hostname}", "ghcr.io/{namespace}/{type}",
	"user:pass@ghcr.io/${hostname}/${namespace}/${type}", "ghcr.io/${hostname}/${namespace}/${type}:latest", "", "ghcr.io", "${null}", "GHCR.io/${hostname}/${namespace}/${type}",
	"ghcr.io/${hostname}/${namespace}/${type}%{ if true }x%{ endif }", "*.io/${hostname}/${namespace}/${type}", "oci-layout:x/${hostname}/${namespace}/${type}",
}

var patternTexts = []string{
	"hashicorp/*", "hashicorp/aws", "*/*", "*/*/*", "example.com/*/*", "Example.com/A/b", "example.com:8443/a/b", "registry.opentofu.org/hashicorp/*",
	"aws", "a/b/c/d", "*/aws", "*/a/*", "hashi*/aws", "", "a//b", "bücher.example/a/*", "a_b/c", "a/b-", "example.com/*/x", "-/aws", "a.b/c",
}

// mistake changes a random part of root.
func (c corpus) mistake(root *value) {
	o := root
	for len(o.fields) > 0 && c.chance(70) {
		next := &o.fields[c.IntN(len(o.fields))].value
		if next.kind != 'o' {
			break
		}
		o = next
	}
	if len(o.fields) == 0 {
		o = root
	}
	i := c.IntN(len(o.fields))
	f := &o.fields[i]
	switch c.IntN(9) {
	case 0:
		o.fields = append(o.fields, *f)
	case 1:
		o.fields = slices.Delete(slices.Clone(o.fields), i, i+1)
		if o == root && len(o.fields) == 0 {
			o.fields = []field{c.top()}
		}
	case 2, 3:
		f.value = pick(c, text("x"), text(""), raw("1"), raw("2.5"), raw("true"), raw("null"), value{kind: 'l'}, object(), value{kind: 'l', list: []value{f.value}},
			value{kind: 'l', list: []value{f.value, f.value}}, value{kind: 'l', list: []value{raw("1"), raw("2.5")}}, value{kind: 'l', list: []value{raw("true")}},
			value{kind: 'l', list: []value{{kind: 'l'}}}, object(set("x", text("y"))))
	case 4:
		f.name = pick(c, strings.ToUpper(f.name), f.name+"x", "direct", "include", "services")
	case 5:
		f.labels = append(slices.Clone(f.labels), pick(c, "x", "services", "token", "a.example"))
	case 6:
		f.labels = nil
	case 7:
		f.assigned = !f.assigned
	case 8:
		// Replace the label with a nested object or block, such as name = { label = { …
		// } }.
		if len(f.labels) > 0 {
			f.value = object(field{name: f.labels[0], assigned: c.chance(50), value: f.value})
			f.labels, f.assigned = nil, c.chance(50)
		}
	}
}
