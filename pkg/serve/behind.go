package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/serve/pullthrough"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// decisionAge is the maximum age of the list of tags that is checked before a release is
// pulled. It lets concurrent requests share a list.
const decisionAge = time.Second

// maxWhy bounds the reason in a link, in bytes: clients print the link in one line.
const maxWhy = 300

// originOf names an origin where the log names a repository.
func originOf(a provider.Address) string { return "origin " + a.Host.ForDisplay() }

// list gives the versions that the repositories have, and those that only the origin
// has. The repository of the former is nil where none has the provider.
func (s *Server) list(ctx context.Context, at place) (known listing, behind []provider.Version, how state, err error) {
	if !s.isThrough(at) {
		known, how, err = s.known.list(ctx, at)
		return known, nil, how, err
	}
	dating, cancel := context.WithTimeout(ctx, maxWait) // the time that clients give all of it
	defer cancel()
	behind, behindHow, behindErr := s.beside(ctx, at, func() { known, how, err = s.known.list(ctx, at) })
	if how, err = s.join(at, how, behindHow, err, behindErr); err != nil {
		return listing{}, nil, how, err
	}
	behind = without(behind, known.versions)
	return known, s.aged(dating, at, behind, len(known.versions) > 0), how, nil
}

// without gives the versions that others are not.
func without(versions, others []provider.Version) []provider.Version {
	there := make(map[provider.Version]bool, len(others))
	for _, v := range others {
		there[v] = true
	}
	return slices.DeleteFunc(slices.Clone(versions), func(v provider.Version) bool { return there[v] })
}

// offers is offer, with what only the origin has. Nobody has looked at those yet: whether
// clients would install them turns out when they ask for one.
func (s *Server) offers(ctx context.Context, at place) (offered offer, how state, err error) {
	if !s.isThrough(at) {
		return s.offer(ctx, at)
	}
	dating, cancel := context.WithTimeout(ctx, maxWait) // the time that clients give all of it
	defer cancel()
	var known listing
	behind, behindHow, behindErr := s.beside(ctx, at, func() {
		if offered, how, err = s.offer(ctx, at); err == nil {
			known, _, err = s.known.list(ctx, at)
		}
	})
	if how, err = s.join(at, how, behindHow, err, behindErr); err != nil {
		return offer{}, how, err
	}
	if offered.repository == "" {
		offered.repository = originOf(at.address)
	}
	offered.versions = slices.Clip(offered.versions)
	behind = without(behind, known.versions)
	for _, v := range s.aged(dating, at, behind, len(known.versions) > 0) {
		offered.versions = append(offered.versions, offeredVersion{Version: v.String(), Platforms: []offeredPlatform{}})
	}
	return offered, how, nil
}

// home is where a release of a provider goes: to its other versions, and to the last
// choice where it has none.
func (s *Server) home(ctx context.Context, at place) (template.Reference, error) {
	refs, err := at.references()
	if err != nil {
		return template.Reference{}, err
	}
	known, _, err := s.known.find(ctx, at)
	switch {
	case err == nil && known.choice < len(refs):
		return refs[known.choice].Reference, nil
	case err == nil || s.lacks(at, err):
		return refs[len(refs)-1].Reference, nil
	}
	return template.Reference{}, err
}

// behind describes a release that only the origin has. What failed lately may not be
// had either.
func (s *Server) behind(x *exchange) (described, state, error) {
	at, v := x.at, x.version
	d, how, err := s.origins.release(x.r.Context(), at.address, v)
	x.answered.Repository = originOf(at.address)
	if err != nil || d.refused != nil {
		return d, how, err
	}
	to, err := s.home(x.r.Context(), at)
	if err != nil {
		return d, how, err
	}
	_, err = s.checkDecisions(x.r.Context(), at, v, s.options.MaxAge)
	if refused, is := errors.AsType[*pullthrough.RefusedError](err); is {
		d.refused = refused
		return d, how, nil
	}
	d.refused = s.origins.puller.Failed(to, at.address, v)
	return d, how, err
}

// checkDecisions returns a *[pullthrough.RefusedError] if a release is pending or denied in
// any of the repositories.
func (s *Server) checkDecisions(ctx context.Context, at place, v provider.Version, maxAge time.Duration) (state, error) {
	decided, how, err := s.known.decisions(ctx, at, maxAge, v)
	var why string
	switch {
	case err != nil:
		return how, err
	case slices.Contains(decided.denied, v):
		why = "was denied"
	case slices.Contains(decided.pending, v):
		why = "waits for approval"
	default:
		return how, nil
	}
	return how, &pullthrough.RefusedError{Address: at.address, Version: v, Err: fmt.Errorf("%s %s %s", at.address, v, why)}
}

// mirrorVersionBehind is mirrorVersion for a release that only the origin has. Clients
// print no word of an answer that refuses; but they print the link of an archive that
// they cannot have. So the reason stands there.
func (s *Server) mirrorVersionBehind(x *exchange, absent error) error {
	d, how, err := s.behind(x)
	if isAbsent(err) {
		return absent
	}
	if err != nil {
		return err
	}
	archives := map[string]mirrorArchive{}
	for _, p := range d.Packages {
		path := withWhy(s.tokenPath(x, x.at.address, p.Filename), reason(d.refused))
		// What the origin says of h1 is not signed.
		archives[p.Platform.String()] = mirrorArchive{URL: mirrorLink(path), Hashes: []string{sums.ZH(p.Digest)}}
	}
	return x.answer(mirrorArchives{archives}, how)
}

// proofBehind is proof for a release that only the origin has.
func (s *Server) proofBehind(x *exchange) (proven, error) {
	d, how, err := s.behind(x)
	if err != nil {
		return proven{}, err
	}
	pkg, err := d.at(x.platform)
	if err != nil {
		return proven{}, err
	}
	r := d.Release
	r.Packages = []provider.Package{pkg}
	e, err := s.known.evidenceOf(x.r.Context(), r)
	if isLeftOut(err) && d.refused != nil {
		return proven{}, d.refused
	}
	return proven{e, how, x.at.address, reason(d.refused)}, err
}

// at gives the package of a platform.
func (d described) at(p provider.Platform) (provider.Package, error) {
	at := slices.IndexFunc(d.Packages, func(pkg provider.Package) bool { return pkg.Platform == p })
	if at < 0 {
		return provider.Package{}, &provider.PlatformError{Address: d.Address, Version: d.Version, Wanted: p, Have: d.Platforms()}
	}
	return d.Packages[at], nil
}

// pull answers with the zip of a release that only the origin has, while it is mirrored.
// The error is [pullthrough.ErrStored] when the repository has it by now.
func (s *Server) pull(x *exchange) error {
	d, how, err := s.behind(x)
	if err != nil {
		return err
	}
	if d.refused != nil {
		return d.refused
	}
	pkg, err := d.at(x.platform)
	if err != nil {
		return err
	}
	if x.r.Method == http.MethodHead { // which is no reason to mirror anything
		s.describe(x, pkg, how)
		if pkg.Size >= 0 {
			x.Header().Set("Content-Length", strconv.FormatInt(pkg.Size, 10))
		}
		return nil
	}
	to, err := s.home(x.r.Context(), x.at)
	if err != nil {
		return err
	}
	zip, err := s.origins.puller.Fetch(x.r.Context(), to, d.Release, x.platform, func(ctx context.Context) error {
		how, err := s.checkDecisions(ctx, x.at, x.version, decisionAge)
		if err == nil {
			err = how.stale // a decision that can't be read stops the pull
		}
		return err
	})
	if err != nil {
		return err
	}
	defer zip.Close()
	x.answered.Repository = zip.Repository.String()
	s.describe(x, zip.Package, how)
	if zip.File == nil {
		return s.send(x, target{repo: zip.Repository, zip: artifact.ZipDescriptor(zip.Package), pkg: zip.Package})
	}
	return s.sendContent(x, &content{
		ctx: x.r.Context(), size: zip.Package.Size, digest: zip.Package.Digest, name: zip.Package.Filename,
		random: true, file: zip.File, whole: func() {},
	})
}

// reason is a text for a link: what clients print escaped there would be no text.
func reason(why error) string {
	if why == nil {
		return ""
	}
	_, text := statusOf(why)
	if refused, ok := errors.AsType[*pullthrough.RefusedError](why); ok {
		text = refused.Error()
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune(".:-+=", r):
			return r
		}
		return '_'
	}, text)
	return text[:min(len(text), maxWhy)]
}

// withWhy puts a reason into the link of an archive; without one it stays as it is.
func withWhy(path, why string) string {
	if why == "" {
		return path
	}
	at := strings.LastIndexByte(path, '/')
	return path[:at] + "/" + why + path[at:]
}
