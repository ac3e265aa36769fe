package cliconfig

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// providerServices contains the provider registries of well-known hosts.
var providerServices = map[string]string{
	"registry.opentofu.org": "https://registry.opentofu.org/v1/providers/",
	"registry.terraform.io": "https://registry.terraform.io/v1/providers/",
}

// HostBlocks returns host blocks that redirect the module registries of hosts to a
// tofu-oci server. A host is HOST or HOST=URL, where URL is its provider registry. The
// default is [provider.DefaultHost]. A git mirror is HOST=URL. For git mirrors, the
// result contains comments with git commands. Without a server, the result is empty.
func HostBlocks(server string, hosts, gitMirrors []string) (string, error) {
	if server == "" {
		return "", nil
	}
	base, err := baseURL(server)
	if err != nil {
		return "", err
	}
	if len(hosts) == 0 {
		hosts = []string{string(provider.DefaultHost)}
	}
	var b strings.Builder
	b.WriteString("# A host block replaces all services of its host, so providers.v1 keeps direct\n# installation working.\n")
	for _, host := range slices.Compact(slices.Sorted(slices.Values(hosts))) {
		name, providers, _ := strings.Cut(host, "=")
		parsed, err := provider.ParseHost(name)
		if err == nil && providers != "" {
			providers, err = baseURL(providers)
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "host %s {\n  services = {\n    \"modules.v1\" = %s\n", quote(string(parsed)), quote(base+"v1/modules/"+string(parsed)+"/"))
		if providers = cmp.Or(providers, providerServices[string(parsed)]); providers != "" {
			fmt.Fprintf(&b, "    \"providers.v1\" = %s\n", quote(providers))
		}
		b.WriteString("  }\n}\n")
	}
	for _, mirror := range gitMirrors {
		name, target, _ := strings.Cut(mirror, "=")
		parsed, err := provider.ParseHost(name)
		if err == nil {
			target, err = baseURL(target)
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "# To redirect git repositories at %s, run:\n", parsed)
		for _, prefix := range []string{"https://%s/", "ssh://git@%s/", "git@%s:"} {
			fmt.Fprintf(&b, "#   git config --global --add %s %s\n", text.Quote("url."+target+".insteadOf"), text.Quote(fmt.Sprintf(prefix, parsed)))
		}
	}
	return b.String(), nil
}

// baseURL checks an https URL and adds a slash at the end.
func baseURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(s, "${}\"\\") {
		return "", fmt.Errorf("invalid URL %q: want https://HOST/ without credentials", text.RedactUserinfo(s))
	}
	return strings.TrimSuffix(s, "/") + "/", nil
}
