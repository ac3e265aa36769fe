package cliconfig

import (
	"bytes"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// document is what one file says.
type document struct {
	file string
	json bool
	// items are all that it says.
	items          []item
	services       map[svchost.Hostname]map[string]string
	tokens         map[svchost.Hostname]Secret
	helpers        []CredentialsHelper
	pluginCacheDir node
	installations  []Installation
	logins         []Login
	unusable       []node // labels of logins for no registry
	defaults       []DefaultLogins
	notes          []Note
	// hosts has where each host of services was named first, and how.
	hosts        map[svchost.Hostname]node
	hasProtocols bool
}

// parse reads the text of one file.
func parse(file string, data []byte) (d document, err error) {
	// HCL 1 panics at some texts, with words of theirs.
	defer func() {
		if p := recover(); p != nil {
			d, err = document{}, &stricthcl.Error{Position: stricthcl.Position{File: file}, Problem: "OpenTofu's parser breaks down at this file: a text in it has an escape that is none"}
		}
	}()
	// OpenTofu's parser goes by the first character too, not by the file's name.
	isJSON := bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))
	read := parseNative
	if isJSON {
		read = parseJSON
	}
	if err := stricthcl.CheckHCL1(file, data, isJSON); err != nil {
		return document{}, err
	}
	items, err := read(file, data)
	if err != nil {
		return document{}, err
	}
	r := &reader{json: isJSON}
	d = document{file: file, json: isJSON, items: items, services: map[svchost.Hostname]map[string]string{}, tokens: map[svchost.Hostname]Secret{}, hosts: map[svchost.Hostname]node{}}
	for _, i := range items {
		r.item(&d, i)
	}
	if len(r.problems) == 0 {
		r.judge(file, data, items)
	}
	d.notes = r.notes
	if err := r.err(); err != nil {
		return document{}, err
	}
	return d, nil
}

// item reads what stands at the top of a file. The blocks that OpenTofu's
// decoder reads have names in any case, the newer ones do not.
func (r *reader) item(d *document, i item) {
	switch strings.ToLower(i.name) {
	case "host":
		for _, m := range r.members(i, `host "registry.example.com" { … }`) {
			r.host(d, m)
		}
	case "credentials":
		for _, m := range r.members(i, `credentials "registry.example.com" { … }`) {
			r.credentials(d, m)
		}
	case "credentials_helper":
		for _, m := range r.members(i, `credentials_helper "name" { … }`) {
			d.helpers = append(d.helpers, r.credentialsHelper(m))
		}
	case "plugin_cache_dir":
		if value, given := r.text([]item{i}, "plugin_cache_dir"); given {
			d.pluginCacheDir = value
		}
	}
	switch i.name {
	case "provider_installation":
		for _, b := range r.blocks(i) {
			d.installations = append(d.installations, r.installation(b))
		}
	case "oci_credentials":
		for _, b := range r.labeled(i, "registry.example.com/repository") {
			r.login(d, b)
		}
	case "oci_default_credentials":
		for _, b := range r.blocks(i) {
			d.defaults = append(d.defaults, r.defaultLogins(b))
		}
	case "registry_protocols":
		r.protocols(d, i)
	}
}

// host reads: host "NAME" { services = { "providers.v1" = "URL" } }. Several for
// one host count together; of a service that they repeat, the last counts.
func (r *reader) host(d *document, m member) {
	host, ok := r.hostname(m.key)
	if !ok {
		return
	}
	// OpenTofu goes by the name as it is written, and takes one of two forms by
	// chance.
	if first, known := d.hosts[host]; known && first.text != m.key.text {
		r.fail(m.key.at, "%q and %q, at %s, are the same host: write its name in one form", m.key.text, first.text, first.at)
		return
	}
	d.hosts[host] = m.key
	if d.services[host] == nil {
		d.services[host] = map[string]string{}
	}
	for _, i := range m.body {
		if !strings.EqualFold(i.name, "services") {
			r.note(NoteIgnored, i.at, "host has no argument %q; it is ignored", i.name)
		}
	}
	for _, i := range values(m.body, "services") {
		for _, service := range r.entries(i, "services = { … }") {
			if service.value.kind != str {
				// Other services, such as login.v1, are objects; they are not ours.
				delete(d.services[host], service.key.text)
				continue
			}
			d.services[host][service.key.text] = service.value.text
		}
	}
}

// credentials reads: credentials "NAME" { token = "…" }. Without a token of that
// name it is for other versions of OpenTofu, but keeps the helper from the host.
func (r *reader) credentials(d *document, m member) {
	host, ok := r.hostname(m.key)
	if !ok {
		return
	}
	if _, known := d.tokens[host]; !known {
		d.tokens[host] = ""
	}
	for _, i := range m.body {
		if r.isObject(i) {
			r.fail(i.value.at, "OpenTofu crashes at an object within a credentials block")
		}
		if i.name == "token" && i.value.kind == str && len(i.labels) == 0 {
			d.tokens[host] = Secret(i.value.text)
		}
	}
}

// isObject tells whether HCL 1 takes an item for an object: in JSON it does so
// for a list of objects too.
func (r *reader) isObject(i item) bool {
	if r.json && i.value.kind == list && len(i.value.list) > 0 {
		return !slices.ContainsFunc(i.value.list, func(n node) bool { return n.kind != object })
	}
	return i.value.kind == object
}

// protocols checks: registry_protocols { retry_count = 1 }. What it says is for
// OpenTofu's own requests. There may be one in each file.
func (r *reader) protocols(d *document, i item) {
	blocks := []node{i.value}
	if r.json {
		blocks = r.objects(i.name, i.value)
	}
	for _, b := range blocks {
		if b.kind != object {
			continue // the judge says what it must be
		}
		if d.hasProtocols {
			r.fail(i.at, "a second registry_protocols block in this file")
		}
		d.hasProtocols = true
		r.integer(b.items, "retry_count")
		r.integer(b.items, "request_timeout_seconds")
	}
}

func (r *reader) hostname(name node) (svchost.Hostname, bool) {
	host, err := provider.ParseHost(name.text)
	if err != nil {
		r.fail(name.at, "%q is not a host name: %v", name.text, err)
		return "", false
	}
	return host, true
}
