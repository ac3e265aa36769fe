package cliconfig

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/hcl/ast"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// CredentialsHelper is a credentials_helper block. The program
// terraform-credentials-NAME returns tokens for hosts.
type CredentialsHelper struct {
	Position stricthcl.Position
	Name     string
	// Args precede the arguments that OpenTofu adds.
	Args []string
}

// hosts reads host blocks. If several files have blocks for a host, the last file takes
// precedence. A block has the form: host "NAME" { services = { "providers.v1" = "URL" }
// }.
func (r *reader) hosts() {
	var decoded struct {
		Hosts map[string]*struct {
			Services map[string]any `hcl:"services"`
		} `hcl:"host"`
	}
	if !r.decodeTop("host", &decoded) {
		return
	}
	first := map[svchost.Hostname]*ast.ObjectItem{}
	for _, b := range r.labeled("host") {
		host, ok := r.hostname(b)
		if !ok {
			continue
		}
		// OpenTofu compares names as written. If a host is written in two forms,
		// OpenTofu picks one of the blocks at random.
		name := keyOf(b, 1)
		if other := first[host]; other != nil && keyOf(other, 1) != name {
			r.fail(r.label(b), "%q and %q, at %v, are the same host; use the same spelling in all blocks", name, keyOf(other, 1), r.label(other))
			continue
		}
		first[host] = b
		services := map[string]string{}
		if block := decoded.Hosts[name]; block != nil {
			for service, value := range block.Services {
				// Other services, such as login.v1, are objects.
				if url, ok := value.(string); ok {
					services[service] = url
				}
			}
		}
		r.config.Services[host] = services
		r.checkHostArguments(b)
	}
}

func (r *reader) checkHostArguments(host *ast.ObjectItem) {
	body, ok := host.Val.(*ast.ObjectType)
	if !ok || len(host.Keys) > 2 {
		return
	}
	for _, i := range body.List.Items {
		if name := keyOf(i, 0); !strings.EqualFold(name, "services") {
			r.note(NoteIgnored, r.position(i.Pos(), host), "host blocks have no argument %q, so OpenTofu ignores it", name)
		}
	}
}

// tokens reads credentials blocks. Even without a token, a block disables the
// credentials helper for its host. A block has the form: credentials "NAME" { token =
// "…" }.
func (r *reader) tokens() {
	var decoded struct {
		Hosts map[string]map[string]any `hcl:"credentials"`
	}
	if !r.decodeTop("credentials", &decoded) {
		return
	}
	for _, b := range r.labeled("credentials") {
		host, ok := r.hostname(b)
		if !ok {
			continue
		}
		block := decoded.Hosts[keyOf(b, 1)]
		for _, value := range block {
			if _, isObject := value.([]map[string]any); isObject {
				r.fail(r.label(b), "OpenTofu crashes on an object in a credentials block")
				break
			}
		}
		token, _ := block["token"].(string)
		r.config.Tokens[host] = text.NewSecret(token)
	}
}

// credentialsHelper reads a credentials_helper block. The block has the form:
// credentials_helper "NAME" { args = ["…"] }.
func (r *reader) credentialsHelper() {
	var decoded struct {
		Helpers map[string]*struct {
			Args []string `hcl:"args"`
		} `hcl:"credentials_helper"`
	}
	if !r.decodeTop("credentials_helper", &decoded) {
		return
	}
	for _, b := range r.labeled("credentials_helper") {
		name := keyOf(b, 1)
		if first := r.config.CredentialsHelper; first != nil && first.Name != name {
			r.failOnce(r.at(b), first.Position, "credentials_helper block")
			continue
		}
		helper := &CredentialsHelper{Position: r.at(b), Name: name}
		if block := decoded.Helpers[name]; block != nil {
			helper.Args = block.Args
		}
		r.config.CredentialsHelper = helper
	}
}

// pluginCache reads plugin_cache_dir. The first file that sets it takes precedence.
func (r *reader) pluginCache() {
	var cache struct {
		Dir string `hcl:"plugin_cache_dir"`
	}
	if r.decodeTop("plugin_cache_dir", &cache) && r.config.PluginCacheDir == "" {
		r.config.PluginCacheDir = r.expand(cache.Dir)
	}
	r.decodeTop("plugin_cache_may_break_dependency_lock_file", &struct {
		May bool `hcl:"plugin_cache_may_break_dependency_lock_file"`
	}{})
}

// protocols reports invalid registry_protocols blocks. Their values affect only
// OpenTofu's requests, and each file can contain only one block. A block has the form:
// registry_protocols { retry_count = 1 }.
func (r *reader) protocols() {
	const name = "registry_protocols"
	found := false
	for _, i := range r.items {
		if keyOf(i, 0) != name {
			continue
		}
		body, isObject := i.Val.(*ast.ObjectType)
		switch {
		case found:
			r.fail(r.at(i), "duplicate registry_protocols block in this file")
		case !isObject:
			r.refuse(name, r.at(i))
		default:
			r.decodeBlock(name, body, i, &struct {
				Retries *int `hcl:"retry_count"`
				Timeout *int `hcl:"request_timeout_seconds"`
			}{})
		}
		found = true
	}
}

// hostname returns the host in a block's label.
func (r *reader) hostname(b *ast.ObjectItem) (svchost.Hostname, bool) {
	host, err := provider.ParseHost(keyOf(b, 1))
	if err != nil {
		r.fail(r.label(b), "invalid host name %q: %v", keyOf(b, 1), err)
	}
	return host, err == nil
}

// label returns the position of a block's label.
func (r *reader) label(b *ast.ObjectItem) stricthcl.Position {
	return r.position(b.Keys[1].Pos(), b)
}

// isKnown reports whether a list contains a name. It ignores case.
func isKnown(name string, known []string) bool {
	return slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
}
