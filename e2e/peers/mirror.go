//go:build unix

package main

import (
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"golang.org/x/crypto/bcrypt"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// script performs the same work without tofu-oci.
//
//go:embed mirror.sh
var script string

const scriptName, sbomName = "script", "SBOM"

// release maps the platforms of a mirrored release to the digests of their zips.
type release map[provider.Platform]digest.Digest

// mirrorBig returns the work of mirroring one large package to an empty registry.
func (s *site) mirrorBig() work {
	const unstated = "unstated"
	want := map[string]release{bigVersion: {s.here: s.big[0].digest}}
	return work{
		name: "mirror 1",
		ready: func(ctx context.Context) error {
			if err := s.offerBig(ctx, unstated, false, s.big[0]); err != nil {
				return err
			}
			return s.offerBig(ctx, bigType(0), true, s.big[0])
		},
		doers: []doer{
			s.mirrorOurs("h1 computed", unstated, true, want),
			s.mirrorOurs("h1 stated", bigType(0), true, want),
			s.mirrorOurs("no h1", unstated, false, want, "--h1=skip"),
			s.mirrorOurs(sbomName, unstated, true, want, "--sbom=auto"),
			s.mirrorOurs("SBOM, h1 stated", bigType(0), true, want, "--sbom=auto"),
			s.mirrorScript(bigType(0), want),
		},
		rows: []row{
			{"`mirror` of a 300 MB zip, h1 computed", "h1 computed", []string{scriptName}, 0.85},
			{"the same, h1 from the origin", "h1 stated", []string{scriptName}, 0.33},
			{"the same, `--h1 skip`", "no h1", []string{scriptName}, 0.33},
			{"the same, h1 computed, `--sbom auto`", sbomName, []string{"h1 computed"}, 1.03},
			{"the same, h1 from the origin, `--sbom auto`", "SBOM, h1 stated", []string{"h1 computed"}, 1.03},
		},
	}
}

// mirrorSmall returns the work of mirroring all small packages to an empty registry.
func (s *site) mirrorSmall() work {
	const stated, unstated = "small", "smallunstated"
	want := map[string]release{}
	for i, packages := range s.small {
		want[smallVersion(i)] = release{}
		for p, a := range packages {
			want[smallVersion(i)][p] = a.digest
		}
	}
	return work{
		name: "mirror 20",
		ready: func(ctx context.Context) error {
			if err := s.offerSmall(ctx, unstated, false); err != nil {
				return err
			}
			return s.offerSmall(ctx, stated, true)
		},
		doers: []doer{
			s.mirrorOurs("h1 computed", unstated, true, want, "--all"),
			s.mirrorOurs("h1 stated", stated, true, want, "--all"),
			s.mirrorScript(stated, want),
		},
		rows: []row{
			{fmt.Sprintf("`mirror` of %d × 7 MB in %d versions, h1 from the origin", smallVersions*len(smallPlatforms), smallVersions), "h1 stated", []string{scriptName}, 0.15},
			{"the same, h1 computed", "h1 computed", []string{scriptName}, 0.15},
		},
	}
}

// mirrorTiny returns the work of mirroring many small releases to an empty registry,
// with and without a login. Its processor time is the cost of a package besides its
// transfer. The wall times differ because the registry hashes the password for each
// request.
func (s *site) mirrorTiny() work {
	const login, noLogin = "login", "no login"
	return work{
		name:  "mirror 2000",
		ready: func(ctx context.Context) error { return s.offerTiny(ctx, manyType, manyVersions, manyPlatforms) },
		doers: []doer{s.mirrorMany(noLogin, false), s.mirrorMany(login, true)},
		rows: []row{
			{fmt.Sprintf("`mirror` of %d versions × %d platforms of 1 kB, with a login", manyVersions, manyPlatforms), login, []string{noLogin}, 0},
		},
		memoryOnly: true,
	}
}

func (s *site) mirrorMany(name string, login bool) doer {
	return doer{name, func(ctx context.Context, dir string) (task, error) {
		auth, environ := "", s.environ("TF_CLI_CONFIG_FILE="+s.config)
		if login {
			auth, environ = fmt.Sprintf("auth: {htpasswd: {realm: peers, path: '%s'}}", filepath.Join(dir, "htpasswd")), append(environ, "DOCKER_CONFIG="+dir)
		}
		hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
		if err != nil {
			return task{}, err
		}
		if err := os.WriteFile(filepath.Join(dir, "htpasswd"), []byte(username+":"+string(hash)), 0o600); err != nil {
			return task{}, err
		}
		host, stop, err := s.startRegistryWith(ctx, auth)
		if err != nil {
			return task{done: stop}, err
		}
		c := s.ours(dir, "mirror", namespace+"/"+manyType, "--all", "--to", host+"/{namespace}/{type}")
		c.environ = environ
		auths := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, base64.StdEncoding.EncodeToString([]byte(username+":"+password)))
		return task{command: c, right: s.hasTags(host+"/v2/"+namespace+"/"+manyType, manyVersions), done: stop}, os.WriteFile(filepath.Join(dir, "config.json"), []byte(auths), 0o600)
	}}
}

func (s *site) mirrorOurs(name, typ string, h1 bool, want map[string]release, flags ...string) doer {
	return doer{name, func(ctx context.Context, dir string) (task, error) {
		host, stop, err := s.startRegistry(ctx)
		args := append([]string{"mirror", namespace + "/" + typ, "--to", host + "/{namespace}/{type}"}, flags...)
		return task{command: s.ours(dir, args...), right: s.isMirrored(host+"/v2/"+namespace+"/"+typ, want, h1), done: stop}, err
	}}
}

func (s *site) mirrorScript(typ string, want map[string]release) doer {
	versions := slices.Sorted(maps.Keys(want))
	var platforms []string // all versions support the same platforms
	for p := range want[versions[0]] {
		platforms = append(platforms, p.String())
	}
	slices.Sort(platforms)
	return doer{scriptName, func(ctx context.Context, dir string) (task, error) {
		host, stop, err := s.startRegistry(ctx)
		return task{
			command: command{
				args: []string{s.shell, "-c", script}, dir: dir, stdout: filepath.Join(dir, "stdout"),
				environ: s.environ("FILES="+s.files+typ, "TYPE="+typ, "REGCTL="+s.regctl, "REPOSITORY="+host+"/"+namespace+"/"+typ,
					"VERSIONS="+strings.Join(versions, " "), "PLATFORMS="+strings.Join(platforms, " ")),
			},
			right: s.isMirrored(host+"/v2/"+namespace+"/"+typ, want, false), done: stop,
		}, err
	}}
}
