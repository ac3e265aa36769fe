package serve

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/serve/access"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

func (s *Server) isTrustedProxy(client string) bool {
	ip, err := netip.ParseAddr(client)
	if err != nil {
		return false
	}
	ip = ip.Unmap().WithZone("")
	for _, prefix := range s.options.TrustedProxies {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}

// network returns the network of a client. Limits apply to each network. The network is
// zero for clients without an IP address and for trusted proxies, because they forward
// requests from many clients.
func (s *Server) network(client string) netip.Prefix {
	ip, err := netip.ParseAddr(client)
	if err != nil || s.isTrustedProxy(client) {
		return netip.Prefix{}
	}
	return access.Network(ip)
}

// forwarded returns the value of a header that was set by a trusted proxy. If several
// proxies appended values, it returns the last value.
func (s *Server) forwarded(r *http.Request, header string) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !s.isTrustedProxy(peer.Addr().String()) {
		return ""
	}
	values := strings.Split(strings.Join(r.Header.Values(header), ","), ",")
	return strings.TrimSpace(values[len(values)-1])
}

// requestHost returns the host and port that the client requested.
func (s *Server) requestHost(r *http.Request) string {
	if host := s.forwarded(r, "X-Forwarded-Host"); host != "" {
		return host
	}
	return r.Host
}

// base returns the URL of the server as seen by the client, without a trailing slash.
// It returns the configured URL, unless the client requested a published host.
func (s *Server) base(r *http.Request) (*url.URL, error) {
	host := s.requestHost(r)
	_, isPublished := s.requestedHost(r)
	if s.options.BaseURL != nil && !isPublished {
		u := *s.options.BaseURL
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
		return &u, nil
	}
	if !isHost(host) {
		return nil, &problem{http.StatusBadRequest, "invalid Host header"}
	}
	u := &url.URL{Scheme: "https", Host: host}
	if r.TLS == nil {
		u.Scheme = "http"
	}
	if scheme := s.forwarded(r, "X-Forwarded-Proto"); scheme == "https" || scheme == "http" {
		u.Scheme = scheme
	}
	prefix := s.forwarded(r, "X-Forwarded-Prefix")
	if prefix == "" && s.options.BaseURL != nil {
		prefix = s.options.BaseURL.Path
	}
	if strings.HasPrefix(prefix, "/") && !strings.HasPrefix(prefix, "//") {
		u.Path = strings.TrimRight(prefix, "/")
	}
	return u, nil
}

// isHost reports whether a Host header is safe to use in a URL.
func isHost(host string) bool {
	if _, err := netip.ParseAddrPort(host); err == nil {
		return true
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	_, err := provider.ParseHost(host)
	return err == nil
}
