package serve

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/internal/serve/api"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// shownPlace is a provider as the API and the pages show it. The address is the one
// that users write, which for providers of a published host is not the stored one.
type shownPlace struct {
	place
	shown provider.Address
}

// shownAt gives the provider that a path names, if the caller may have it.
func (s *Server) shownAt(x *exchange) (shownPlace, error) {
	host, err := provider.ParseHost(x.values["HOST"])
	if err != nil || string(host) != x.values["HOST"] && host.ForDisplay() != x.values["HOST"] {
		return shownPlace{}, &problem{http.StatusNotFound, "the path has no host name, in lower case, where one belongs"}
	}
	at, err := placeIn(x, s.mirrored, host)
	if err != nil {
		return shownPlace{}, err
	}
	p := shownPlace{at, at.address}
	for _, h := range s.publishedHosts() {
		if h.Name == host {
			p.view = s.viewOfHost(h)
			p.address.Host = p.as
		}
	}
	p.place, err = s.admit(x, p.place)
	return p, err
}

// publishedHosts are those that the rules name.
func (s *Server) publishedHosts() []access.Host {
	if rules := s.options.Rules(); rules != nil {
		return rules.Hosts
	}
	return nil
}

// viewOfHost gives the view of a published host. What is known goes by the view, so a
// host has the same one each time.
func (s *Server) viewOfHost(h access.Host) *view {
	known, _ := s.hosts.LoadOrStore(h, published([]template.Template{h.Repository}, h.As, s.options.Unannotated))
	v, _ := known.(*view)
	return v
}

// ref names a provider, with the URL below which more is said of it.
func (p shownPlace) ref(base string) api.ProviderRef {
	return api.ProviderRef{
		Address: p.shown.String(), Host: p.shown.Host.ForDisplay(), Namespace: p.shown.Namespace, Type: p.shown.Type,
		URL: p.url(base),
	}
}

// url is where the API speaks of a provider, with more words at its end.
func (p shownPlace) url(base string, more ...string) string {
	words := append([]string{p.shown.Host.ForDisplay(), p.shown.Namespace, p.shown.Type}, more...)
	for i, word := range words {
		words[i] = url.PathEscape(word)
	}
	return base + "/api/v1/providers/" + strings.Join(words, "/")
}

// baseText is the URL under which the client reached the server.
func (s *Server) baseText(x *exchange) (string, error) {
	base, err := s.base(x.r)
	if err != nil {
		return "", err
	}
	return base.String(), nil
}
