package cliconfig

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// modulesService and providersService are service names in host blocks.
const modulesService, providersService = "modules.v1", "providers.v1"

// providerServices contains the provider registries of well-known hosts.
var providerServices = map[string]string{
	"registry.opentofu.org": "https://registry.opentofu.org/v1/providers/",
	"registry.terraform.io": "https://registry.terraform.io/v1/providers/",
}

// HostBlock is a host block that redirects the module registry of a host. A host block
// replaces all services of its host. To keep direct installation working, the block
// also contains the provider registry of well-known hosts.
type HostBlock struct {
	Host svchost.Hostname
	// Services maps the names of services to URLs.
	Services map[string]string
}

// HostBlocks returns blocks that redirect the module registries of hosts to tofu-oci
// servers, sorted by host. A server has the form URL or HOST=URL. The default host is
// [provider.DefaultHost].
func HostBlocks(servers []string) (blocks []HostBlock, err error) {
	for _, server := range servers {
		host, base, found := strings.Cut(server, "=")
		if !found || strings.Contains(host, "://") {
			host, base = string(provider.DefaultHost), server
		}
		parsed, err := provider.ParseHost(host)
		if err == nil {
			base, err = baseURL(base)
		}
		if err != nil {
			return nil, err
		}
		services := map[string]string{modulesService: base + "v1/modules/" + string(parsed) + "/"}
		if providers := providerServices[string(parsed)]; providers != "" {
			services[providersService] = providers
		}
		if slices.ContainsFunc(blocks, func(b HostBlock) bool { return b.Host == parsed }) {
			return nil, fmt.Errorf("duplicate host %s", parsed)
		}
		blocks = append(blocks, HostBlock{parsed, services})
	}
	slices.SortFunc(blocks, func(a, b HostBlock) int { return cmp.Compare(a.Host, b.Host) })
	return blocks, nil
}

// HasProviders reports whether the block contains the host's provider registry.
func (b HostBlock) HasProviders() bool { return b.Services[providersService] != "" }

// String returns the block in native syntax.
func (b HostBlock) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "host %s {\n  services = {\n", quote(string(b.Host)))
	for _, name := range slices.Sorted(maps.Keys(b.Services)) {
		fmt.Fprintf(&s, "    %s = %s\n", quote(name), quote(b.Services[name]))
	}
	s.WriteString("  }\n}\n")
	return s.String()
}

// baseURL returns an https URL with a slash at the end, or an error if s is not a valid
// https URL.
func baseURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(s, "${}\"\\") {
		return "", fmt.Errorf("invalid URL %q: want https://HOST/ without credentials", text.RedactUserinfo(s))
	}
	return strings.TrimSuffix(s, "/") + "/", nil
}

// MergeHosts adds host blocks to a file's text and keeps the rest of the text byte for
// byte. If the file has a block for the same host, only its module registry changes.
// MergeHosts keeps a block that contains the same services, and replaces a block in the
// format that tofurc writes. Otherwise, MergeHosts returns a *[MergeError]. It also
// returns the errors from [Parse].
func MergeHosts(name string, data []byte, blocks []HostBlock) (merged []byte, err error) {
	for _, b := range blocks {
		if data, err = b.merge(name, data); err != nil {
			return nil, err
		}
	}
	return data, nil
}

func (b HostBlock) merge(name string, data []byte) ([]byte, error) {
	before, newline := withoutCR(data)
	f, err := parseFile(name, []byte(before))
	if err != nil {
		return nil, err
	}
	c, err := single(f, nil)
	if err != nil {
		return nil, err
	}
	there := c.Services[b.Host]
	if b = b.with(there); b.isIn(there) {
		return data, nil
	}
	if f.json {
		member, _ := json.MarshalIndent(map[string]any{string(b.Host): map[string]any{"services": b.Services}}, "", "  ") // strings can always be encoded
		return nil, &MergeError{stricthcl.Position{File: name}, "tofu-oci does not modify files in JSON syntax", "\"host\": " + string(member) + "\n"}
	}
	after := appended(before, b.String())
	for _, block := range f.labeled("host") {
		if normalHost(keyOf(block, 1)) != string(b.Host) {
			continue
		}
		written := strings.TrimSuffix(HostBlock{b.Host, there}.String(), "\n")
		start := block.Pos().Offset
		if strings.Contains(before, "\r\n") || !strings.HasPrefix(before[start:], written) {
			problem := fmt.Sprintf("the file already has a host block for %s that was not written by tofu-oci or was changed later", b.Host)
			return nil, &MergeError{f.at(block), problem, b.String()}
		}
		after = before[:start] + strings.TrimSuffix(b.String(), "\n") + before[start+len(written):]
	}
	after = strings.ReplaceAll(after, "\n", newline)
	// Check that the result has the intended meaning.
	if c, err := Parse(name, []byte(after)); err != nil || !b.isIn(c.Services[b.Host]) {
		return nil, &MergeError{stricthcl.Position{File: name}, "the block would have a different meaning in this file", b.String()}
	}
	return []byte(after), nil
}

// isIn reports whether the services of a host contain the services of the block.
func (b HostBlock) isIn(services map[string]string) bool {
	for name, url := range b.Services {
		if services[name] != url {
			return false
		}
	}
	return true
}

// with returns a copy of the block that also contains the services of an existing
// block, except the module registry.
func (b HostBlock) with(services map[string]string) HostBlock {
	all := maps.Clone(b.Services)
	maps.Copy(all, services)
	all[modulesService] = b.Services[modulesService]
	return HostBlock{b.Host, all}
}
