//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// programs contains the paths of the programs.
type programs struct {
	tofuOCI, tofu, terraform, registry, regctl, regsync, crane, oras string
	shell, curl, sha256sum, tar                                      string
}

func findPrograms() (found programs, err error) {
	for name, into := range map[string]*string{
		"TOFU_OCI": &found.tofuOCI, "TOFU": &found.tofu, "TERRAFORM": &found.terraform, "REGISTRY": &found.registry,
		"REGCTL": &found.regctl, "REGSYNC": &found.regsync, "CRANE": &found.crane, "ORAS": &found.oras,
	} {
		if *into = os.Getenv(name); *into == "" {
			return found, fmt.Errorf("%s is not set: run make bench-peers", name)
		}
	}
	for name, into := range map[string]*string{"sh": &found.shell, "curl": &found.curl, "sha256sum": &found.sha256sum, "tar": &found.tar} {
		if *into, err = exec.LookPath(name); err != nil {
			return found, err
		}
	}
	return found, nil
}

// Numbers and sizes of the packages: four large packages of different providers, and
// several small packages.
const (
	bigCount    = 4
	bigUnpacked = 740e6
	// smallUnpacked is the size of a small package's content, in bytes. The zips are
	// about 7 MB in size.
	smallUnpacked = 17e6
	smallVersions = 5
	// tenPlatforms is the number of platforms of the locked release.
	tenPlatforms = 10
	bigVersion   = "1.0.0"
)

var smallPlatforms = []provider.Platform{
	{OS: "darwin", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"},
}

// world contains the packages and the origin registry that all works share in both
// places.
type world struct {
	programs
	dir string
	// here is the platform of the large packages.
	here provider.Platform
	big  [bigCount]archive
	// small contains the small packages. Index I contains version 1.I.0.
	small [smallVersions]map[provider.Platform]archive
	// ten contains the small packages of one release for ten platforms. The current
	// platform is not one of these platforms.
	ten    map[provider.Platform]archive
	ca     *testca.CA
	caFile string

	origin  *origintest.Origin
	offered map[string]bool
	// originHost is the origin registry's address, "localhost:PORT". files is the base
	// URL of the registry's files. config is a CLI configuration that refers to the
	// registry.
	originHost, files, config string
	stop                      func()
}

func newWorld(ctx context.Context, dir string) (w *world, err error) {
	w = &world{here: provider.CurrentPlatform(), offered: map[string]bool{}, stop: func() {}}
	if w.programs, err = findPrograms(); err != nil {
		return nil, err
	}
	if w.dir, err = os.MkdirTemp(dir, "peers-*"); err != nil {
		return nil, err
	}
	if err := errors.Join(w.makeZips(ctx), w.serve(ctx)); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *world) close() {
	w.stop()
	_ = os.RemoveAll(w.dir)
}

// makeZips creates all packages from parts of a real program.
func (w *world) makeZips(ctx context.Context) error {
	say("making %d large zips and %d small ones", bigCount, smallVersions*len(smallPlatforms)+tenPlatforms)
	blocks, err := readBlocks(ctx, w.tofu)
	if err != nil {
		return err
	}
	seed := uint64(0)
	next := func(name string, unpacked int64) (archive, error) {
		seed++
		path := filepath.Join(w.dir, fmt.Sprintf("%d.zip", seed))
		made, err := writeZip(path, "terraform-provider-"+name, blocks, unpacked, seed)
		return made, errors.Join(err, ctx.Err())
	}
	for i := range w.big {
		if w.big[i], err = next(bigType(i)+"_v"+bigVersion, bigUnpacked); err != nil {
			return err
		}
	}
	for i := range w.small {
		w.small[i] = map[provider.Platform]archive{}
		for _, p := range smallPlatforms {
			if w.small[i][p], err = next("small_v"+smallVersion(i), smallUnpacked); err != nil {
				return err
			}
		}
	}
	w.ten = map[provider.Platform]archive{}
	for i := range tenPlatforms {
		p := provider.Platform{OS: "plan9", Arch: fmt.Sprintf("arch%d", i)}
		if w.ten[p], err = next(tenType+"_v"+bigVersion, smallUnpacked); err != nil {
			return err
		}
	}
	blocks = nil
	debug.FreeOSMemory()
	return nil
}

// tenType is the type of the provider that supports ten platforms.
const tenType = "ten"

func bigType(i int) string { return fmt.Sprintf("big%d", i) }

func smallVersion(i int) string { return fmt.Sprintf("1.%d.0", i) }

// serve starts the origin registry.
func (w *world) serve(ctx context.Context) (err error) {
	if w.ca, err = testca.New(); err != nil {
		return err
	}
	w.caFile, w.config = filepath.Join(w.dir, "ca.pem"), filepath.Join(w.dir, "origin.tofurc")
	if err := os.WriteFile(w.caFile, w.ca.PEM(), 0o600); err != nil {
		return err
	}
	w.origin = origintest.New(origintest.Options{})
	url, stop, err := fixture.Serve(ctx, w.ca, w.origin)
	if err != nil {
		return err
	}
	w.stop, w.files, w.originHost = stop, url+"/files/"+namespace+"/", strings.TrimPrefix(url, "https://")
	return os.WriteFile(w.config, []byte(fixture.CLIConfig(url)), 0o600)
}

// namespace is the namespace of all providers.
const namespace = "acme"

// offer adds releases to the origin registry, unless the releases already exist. If
// stated is false, the origin registry neither provides h1 hashes nor lists all
// platforms.
func (w *world) offer(ctx context.Context, typ string, stated bool, releases map[string]map[provider.Platform]origintest.Archive) error {
	if w.offered[typ] {
		return nil
	}
	for version, archives := range releases {
		r := origintest.Release{Namespace: namespace, Type: typ, Version: version, Protocols: []string{"5.0"}, Archives: archives}
		if !stated {
			r.Edit = func(_ provider.Platform, document map[string]any) { delete(document, "packages") }
		}
		if err := w.origin.Add(ctx, r); err != nil {
			return err
		}
	}
	w.offered[typ] = true
	return nil
}

// offerBig adds a large package to the origin registry.
func (w *world) offerBig(ctx context.Context, typ string, stated bool, a archive) error {
	return w.offer(ctx, typ, stated, map[string]map[provider.Platform]origintest.Archive{bigVersion: {w.here: {Path: a.path}}})
}

// offerSmall adds the small packages to the origin registry.
func (w *world) offerSmall(ctx context.Context, typ string, stated bool) error {
	releases := map[string]map[provider.Platform]origintest.Archive{}
	for i, packages := range w.small {
		releases[smallVersion(i)] = archives(packages)
	}
	return w.offer(ctx, typ, stated, releases)
}
