package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// ownHost is the HOST element of links to the set of the host that receives the request.
// Links to the set of another published host contain ownHost followed by the host. In all
// other paths, HOST is the host in the address.
const ownHost = "-"

// providerSet is a set of providers or modules: the repositories to read, and the aliases
// that apply.
type providerSet struct {
	from    []repositoryTemplate
	aliases provider.Aliases
	// as, if not empty, replaces the host of every address, and the host of stored
	// releases is ignored. Otherwise, the host comes from the request path.
	as svchost.Hostname
}

// providerSets contains the providers and the modules of a host.
type providerSets struct{ providers, modules *providerSet }

// repositoryTemplate is a [template.Template] or a [template.ModuleTemplate].
type repositoryTemplate interface {
	Repository(a provider.Address) (template.Reference, error)
	Match(ref template.Reference) (addresses []provider.Address, fits bool)
	UsesHostname() bool
	Redacted() string
}

func newProviderSet[T repositoryTemplate](from []T, as svchost.Hostname, aliases provider.Aliases) *providerSet {
	v := &providerSet{as: as, aliases: aliases}
	for _, t := range from {
		v.from = append(v.from, t)
	}
	if as != "" {
		anyHost, _ := provider.ParseAlias(as.ForDisplay() + "/*/*=*/*/*") // if as is not a valid host, the alias matches nothing
		v.aliases = provider.Aliases{anyHost}
	}
	return v
}

// setsOf returns the sets of the requested host.
func (s *Server) setsOf(r *http.Request) providerSets {
	if h, isPublished := s.requestedHost(r); isPublished {
		return s.setsOfHost(h)
	}
	return s.own
}

// setsOfHost returns the sets of a published host. It always returns the same pointers
// for a host, because cache keys contain these pointers.
func (s *Server) setsOfHost(h access.Host) providerSets {
	var modules []template.ModuleTemplate
	if h.Modules != (template.ModuleTemplate{}) {
		modules = append(modules, h.Modules)
	}
	known, _ := s.hosts.LoadOrStore(h, providerSets{newProviderSet([]template.Template{h.Repository}, h.As, nil), newProviderSet(modules, h.As, nil)})
	all, _ := known.(providerSets)
	return all
}

// publishedHosts returns the hosts in the access rules.
func (s *Server) publishedHosts() []access.Host {
	if rules := s.options.Rules(); rules != nil {
		return rules.Hosts
	}
	return nil
}

// publishedHost returns the host with the given name if the access rules define it.
func (s *Server) publishedHost(name svchost.Hostname) (h access.Host, found bool) {
	for _, h := range s.publishedHosts() {
		if h.Name == name {
			return h, true
		}
	}
	return h, false
}

// requestedHost returns the requested host if the access rules define it.
func (s *Server) requestedHost(r *http.Request) (h access.Host, isPublished bool) {
	name, err := provider.ParseHost(s.requestHost(r))
	if err != nil {
		return h, false
	}
	return s.publishedHost(name)
}

// locate sets the provider or module from the path.
func (s *Server) locate(x *exchange) error {
	// 1. Find the sets of the host.
	all, element, isModule := s.setsOf(x.r), x.r.PathValue("HOST"), x.r.PathValue("SYSTEM") != ""
	element, isOwn := cutOwnHost(element, x.r.PathValue("TOKEN") != "")
	link := ownHost
	var host svchost.Hostname
	if element != "" {
		var err error
		if host, err = parseHost(element); err != nil {
			return err
		}
		published, isPublished := s.publishedHost(host)
		switch isMirror := !isModule && !isOwn && !x.isForAPIOrPage(); {
		case isOwn && !isPublished:
			return &problem{http.StatusNotFound, fmt.Sprintf("the host %s is not published", host.ForDisplay())}
		case isMirror && strings.Contains(string(host), ":"):
			return &problem{http.StatusNotFound, "the network mirror protocol does not support hosts with a port"}
		case isMirror || !isPublished:
			all, link = s.anyHost, string(host)
		default:
			all, link = s.setsOfHost(published), ownHost+string(host)
		}
	}
	// 2. Parse the address.
	v, name := all.providers, x.r.PathValue("TYPE")
	if isModule {
		v, name = all.modules, x.r.PathValue("NAME")+"/"+x.r.PathValue("SYSTEM")
	}
	a, exact, err := parseAddress(cmp.Or(v.as, host).ForDisplay()+"/"+x.r.PathValue("NAMESPACE")+"/"+name, isModule)
	if err != nil {
		return &problem{http.StatusNotFound, err.Error()}
	}
	x.query = query{providerSet: v, address: a, origin: exact, shown: a, host: link}
	x.query.shown.Host = cmp.Or(host, a.Host)
	return nil
}

// cutOwnHost returns the host in the HOST element of a path. For links, it removes
// [ownHost], and reports whether the element started with it.
func cutOwnHost(element string, isLink bool) (host string, isOwn bool) {
	if !isLink {
		return element, false
	}
	return strings.CutPrefix(element, ownHost)
}

// parseHost parses the HOST element of a path.
func parseHost(text string) (svchost.Hostname, error) {
	host, err := provider.ParseHost(text)
	if err != nil || string(host) != text && host.ForDisplay() != text {
		return "", &problem{http.StatusNotFound, "invalid host in the path: want a host name in lower case"}
	}
	return host, nil
}
