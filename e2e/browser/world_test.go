//go:build browser

package browser_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// world is shared by all tests. It contains image layouts that the real program
// created, and servers that run the real program.
var world struct {
	program, dir string
	// home is the directory of this package.
	home string
	ca   *testca.CA
	// site is the URL of a server without access control.
	site string
}

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	if world.program = os.Getenv("TOFU_OCI"); world.program == "" {
		fmt.Fprintln(os.Stderr, "TOFU_OCI is not set: run make browser")
		return 1
	}
	dir, err := os.MkdirTemp("", "tofu-oci-browser-*")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		world.dir = dir
		world.home, err = os.Getwd()
	}
	if err == nil {
		err = os.Chdir(dir) // makes pages show short repository paths
	}
	if err == nil {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		err = makeWorld(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// The provider that tests search for, and the provider's newest version.
const (
	rocket     = "acme/rocket"
	newest     = "2.24.0"
	rocketPage = "/providers/registry.opentofu.org/" + rocket
	// staged is a pending version of the provider. brokenPage is the page of a version with
	// a missing zip. vpcPage is the page of a module.
	staged     = "3.0.0"
	brokenPage = "/providers/registry.opentofu.org/parts/part00/0.1.0"
	vpcPage    = "/modules/registry.opentofu.org/acme/vpc/aws"
	// repositories is the template for --from.
	repositories = "oci-layout:mirror/{namespace}/{type}"
	// published is the server's public URL. Browsers connect to a different host and
	// must not follow links to the public URL.
	published = "https://tofu.example.com"
)

func makeWorld(ctx context.Context) (err error) {
	if world.ca, err = testca.New(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(world.dir, "ca.pem"), world.ca.PEM(), 0o600); err != nil {
		return err
	}
	// 1. Start an origin registry that offers many providers, including a provider with
	// many versions.
	origin := origintest.New(origintest.Options{})
	signer, err := fixture.NewSigner()
	if err != nil {
		return err
	}
	var providers []string
	for minor := range 25 {
		if err := offer(ctx, origin, signer, rocket, fmt.Sprintf("2.%d.0", minor)); err != nil {
			return err
		}
	}
	for name := range strings.FieldsSeq("hashicorp/aws hashicorp/azurerm hashicorp/google hashicorp/null hashicorp/random integrations/github cloudflare/cloudflare grafana/grafana") {
		if err := offer(ctx, origin, signer, name, "1.5.0"); err != nil {
			return err
		}
		providers = append(providers, name)
	}
	for i := range 52 {
		name := fmt.Sprintf("parts/part%02d", i)
		if err := offer(ctx, origin, signer, name, "0.1.0"); err != nil {
			return err
		}
		providers = append(providers, name)
	}
	// 2. Mirror the providers with the real program. The newest version includes SBOMs.
	url, stop, err := fixture.Serve(ctx, world.ca, origin)
	if err != nil {
		return err
	}
	defer stop()
	if err := os.WriteFile(filepath.Join(world.dir, "origin.tofurc"), []byte(fixture.CLIConfig(url)), 0o600); err != nil {
		return err
	}
	program, err := sbomProgram()
	if err != nil {
		return err
	}
	err = errors.Join(
		mirror(ctx, rocket+"@"+newest, "--sbom", program), mirror(ctx, rocket, "--all"), mirror(ctx, providers...),
	)
	if err != nil {
		return err
	}
	// 3. Add a pending version, a broken version, a module, and the result of a sync that
	// mirrors a version and holds another one back.
	err = errors.Join(
		offer(ctx, origin, signer, rocket, staged), offer(ctx, origin, signer, "grafana/grafana", "1.6.0"), offer(ctx, origin, signer, "cloudflare/cloudflare", "1.6.0"),
		mirror(ctx, rocket+"@"+staged, "--stage"), removeZip("mirror/parts/part00"), pushModule(ctx),
	)
	if err != nil {
		return err
	}
	if err := syncMirror(ctx); err != nil {
		return err
	}
	// 4. Serve the providers with the real program.
	args, err := siteArgs("open", "")
	if err == nil {
		world.site, err = serve(ctx, "open", args...)
	}
	return err
}

// siteArgs returns the arguments of a server without access control, except the
// repositories of the providers. Its --serve-config file also contains the given blocks.
func siteArgs(name, blocks string) ([]string, error) {
	config := filepath.Join(world.dir, name+".hcl")
	err := os.WriteFile(config, fmt.Appendf(nil, `
anonymous {
  allow   = ["*/*/*"]
  modules = ["*/*/*/*"]
}
server {
  base_url     = %q
  title        = "Acme providers"
  sync_results = ["result.json"]
}
%s`, published, blocks), 0o600)
	return []string{"--serve-config", config, "--modules-from", "oci-layout:modules/{namespace}/{name}/{system}"}, err
}

// removeZip removes a zip from an image layout.
func removeZip(layout string) error {
	blobs, err := filepath.Glob(filepath.Join(world.dir, layout, "blobs", "sha256", "*"))
	for _, blob := range blobs {
		if info, err := os.Stat(blob); err == nil && info.Size() > 10_000 {
			return os.Remove(blob)
		}
	}
	return errors.Join(err, fmt.Errorf("no zip in %s", layout))
}

// pushModule stores a module.
func pushModule(ctx context.Context) error {
	dir := filepath.Join(world.dir, "vpc")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("variable \"name\" {}\n"), 0o600); err != nil {
		return err
	}
	return run(ctx, "module", "push", dir, "--version", "1.2.0", "--to", "oci-layout:modules/acme/vpc/aws")
}

// syncMirror applies a declaration and writes its result.
func syncMirror(ctx context.Context) error {
	const declaration = `version = 1
target "main" {
  repository = "` + repositories + `"
}
provider "grafana/grafana" {
}
provider "cloudflare/cloudflare" {
  min_age = "9999d"
}
`
	if err := os.WriteFile(filepath.Join(world.dir, "mirror.hcl"), []byte(declaration), 0o600); err != nil {
		return err
	}
	return run(ctx, "sync", "apply", "mirror.hcl", "--result-file", "result.json")
}

// mirror runs tofu-oci mirror.
func mirror(ctx context.Context, args ...string) error {
	return run(ctx, append([]string{"mirror", "--to", repositories}, args...)...)
}

// run runs tofu-oci with access to the origin registry.
func run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, world.program, append(args, "--quiet", "--config", filepath.Join(world.dir, "origin.tofurc"), "--ca-file", filepath.Join(world.dir, "ca.pem"))...)
	cmd.Env = append(os.Environ(), "HOME="+world.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", args, err, out)
	}
	return nil
}

// serve starts tofu-oci serve and returns its URL. The server stops when the context is
// canceled.
func serve(ctx context.Context, name string, args ...string) (string, error) {
	dir := filepath.Join(world.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	server, err := fixture.StartServer(ctx, world.program, dir, world.ca, append([]string{"--from", repositories}, args...)...)
	if err != nil {
		return "", err
	}
	return server.URL, nil
}

// guarded returns the arguments for a server that requires a token.
func guarded(tb testing.TB, token string) []string {
	tb.Helper()
	hash := sha256.Sum256([]byte(token))
	rules := filepath.Join(tb.TempDir(), "rules.hcl")
	text := fmt.Sprintf("token \"desk\" {\n  sha256 = %q\n  allow  = [\"acme/*\"]\n}\n", hex.EncodeToString(hash[:]))
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return []string{"--serve-config", rules}
}

// offer adds a release for the usual platforms to the origin registry.
func offer(ctx context.Context, origin *origintest.Origin, signer *fixture.Signer, name, version string) error {
	namespace, kind, _ := strings.Cut(name, "/")
	r := origintest.Release{
		Namespace: namespace, Type: kind, Version: version, Protocols: []string{"5.0", "6.0"}, Keys: []string{signer.PublicKey},
		Archives: map[provider.Platform]origintest.Archive{}, Modified: releasedOn(version),
	}
	listed := map[string]digest.Digest{}
	for _, p := range []provider.Platform{{OS: "darwin", Arch: "arm64"}, {OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}, {OS: "windows", Arch: "amd64"}} {
		content, err := archive(kind, version, p)
		if err != nil {
			return err
		}
		r.Archives[p] = origintest.Archive{Bytes: content}
		listed[fmt.Sprintf("terraform-provider-%s_%s_%s.zip", kind, version, p)] = digest.FromBytes(content)
	}
	var err error
	r.Sums = sums.New(listed).Bytes()
	if r.Signature, err = signer.Sign(r.Sums); err != nil {
		return err
	}
	return origin.Add(ctx, r)
}

// releasedOn returns the publication date of a version. Higher versions have later
// dates.
func releasedOn(version string) time.Time {
	var major, minor, patch int
	_, _ = fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch)
	return time.Date(2024, 1, 8, 9, 30, 0, 0, time.UTC).AddDate(0, major+minor, 3*patch)
}

// archive returns a zip whose content resembles a real provider.
func archive(kind, version string, p provider.Platform) ([]byte, error) {
	name := "terraform-provider-" + kind + "_v" + version
	if p.OS == "windows" {
		name += ".exe"
	}
	header := &zip.FileHeader{Name: name, Method: zip.Store}
	header.SetMode(0o755)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	entry, err := w.CreateHeader(header)
	if err != nil {
		return nil, err
	}
	content := fmt.Sprintf("%s %s for %s\n", kind, version, p)
	if _, err := io.WriteString(entry, strings.Repeat(content, 2000)); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// sbom returns the SBOM that sbomProgram prints.
func sbom() ([]byte, error) {
	return json.MarshalIndent(map[string]any{"spdxVersion": "SPDX-2.3", "name": "rocket", "packages": []any{}}, "", "  ")
}

// sbomProgram writes a program for --sbom and returns its path.
func sbomProgram() (string, error) {
	document, err := sbom()
	if err != nil {
		return "", err
	}
	program, data := filepath.Join(world.dir, "make-sbom"), filepath.Join(world.dir, "sbom.json")
	if err := os.WriteFile(data, document, 0o600); err != nil {
		return "", err
	}
	return program, os.WriteFile(program, []byte("#!/bin/sh\nexec cat '"+data+"'\n"), 0o700)
}
