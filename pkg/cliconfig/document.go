package cliconfig

import (
	"bytes"
	"fmt"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// document is what one file says.
type document struct {
	services       map[svchost.Hostname]map[string]string
	tokens         map[svchost.Hostname]Secret
	pluginCacheDir node
	installations  []Installation
	logins         []Login
	defaults       []DefaultLogins
	notes          []Note
}

// parse reads the text of one file.
func parse(file string, data []byte) (d document, err error) {
	// HCL 1 panics at some texts.
	defer func() {
		if p := recover(); p != nil {
			d, err = document{}, &SyntaxError{Position{File: file}, fmt.Sprintf("the parser breaks down: %v", p)}
		}
	}()
	// OpenTofu's parser goes by the first character too, not by the file's name.
	isJSON := bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))
	read := parseNative
	if isJSON {
		read = parseJSON
	}
	items, err := read(file, data)
	if err != nil {
		return document{}, err
	}
	r := &reader{json: isJSON}
	d = document{services: map[svchost.Hostname]map[string]string{}, tokens: map[svchost.Hostname]Secret{}}
	for _, i := range items {
		r.item(&d, i)
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
		for _, b := range r.labeled(i, "registry.example.com") {
			r.host(d, b)
		}
	case "credentials":
		for _, b := range r.labeled(i, "registry.example.com") {
			r.credentials(d, b)
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
	}
}

// host reads: host "NAME" { services = { "providers.v1" = "URL" } }.
func (r *reader) host(d *document, b block) {
	host, ok := r.hostname(b)
	if !ok {
		return
	}
	if _, twice := d.services[host]; twice {
		r.fail(b.label.at, "a second host block for %s", host.ForDisplay())
		return
	}
	services := map[string]string{}
	for _, i := range values(b.body, "services") {
		found := []node{i.value}
		if r.json {
			found = r.objects(i.name, i.value)
		} else if i.value.kind != object || len(i.labels) > 0 {
			r.fail(i.value.at, "services must be an object: services = { … }")
			continue
		}
		for _, o := range found {
			for _, service := range o.items {
				// Other services, such as login.v1, are objects; they are not ours.
				if service.value.kind == text {
					services[service.name] = service.value.text
				}
			}
		}
	}
	d.services[host] = services
}

// credentials reads: credentials "NAME" { token = "…" }. Without a token of that
// name it is for other versions of OpenTofu, and left alone.
func (r *reader) credentials(d *document, b block) {
	host, ok := r.hostname(b)
	if !ok {
		return
	}
	for _, i := range b.body {
		if i.name == "token" && i.value.kind == text {
			d.tokens[host] = Secret(i.value.text)
		}
	}
}

func (r *reader) hostname(b block) (svchost.Hostname, bool) {
	host, err := provider.ParseHost(b.label.text)
	if err != nil {
		r.fail(b.label.at, "%q is not a host name: %v", b.label.text, err)
		return "", false
	}
	return host, true
}
