// Command demo shows the whole road on this machine alone: it builds a real
// provider for this machine and one more platform, serves it from a small origin
// registry on loopback, mirrors it into an OCI image layout, and pulls it out
// again.
//
// It says what it waits for, and prints every tofu-oci command that it runs, with
// its real output.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// dir is where everything goes, below the project's root.
	dir = "demo"
	// configuration names the file that says where the origin registry is. Your
	// own configuration has no part in this.
	configuration = "TF_CLI_CONFIG_FILE=" + dir + "/tofurc"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := demo(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context) error {
	began := time.Now()
	// 1. The project's root is where paths are relative to, as a user would have it.
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	// 2. An origin registry with a real provider.
	platforms := []provider.Platform{provider.CurrentPlatform(), otherPlatform(provider.CurrentPlatform())}
	stop, err := origin(ctx, platforms)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("$ export %s\n\n", configuration)
	// 3. The road.
	const (
		layout = "oci-layout:./demo/mirror/{namespace}/{type}"
		trust  = " --ca-file demo/ca.pem"
	)
	for _, step := range []struct{ why, command string }{
		{"Mirror the newest release, all platforms, into an OCI image layout", "mirror hashicorp/time --to " + layout + trust},
		{"Again: nothing is downloaded or written", "mirror hashicorp/time --to " + layout + trust},
		{"Which versions are there", "list hashicorp/time --from " + layout},
		{"What the version holds", "list hashicorp/time@" + fixture.TimeVersion + " --from " + layout},
		{"Pull this machine's zip, checked against the mirrored SHA256SUMS", "pull hashicorp/time --from " + layout + " --dir demo/zip"},
		{"A filesystem_mirror of zips for all platforms", "pull hashicorp/time --from " + layout + " --dir demo/packed --layout packed" + flags(platforms)},
		{"A filesystem_mirror of directories", "pull hashicorp/time --from " + layout + " --dir demo/unpacked --layout unpacked"},
		{"What OpenTofu needs to install from a registry that was filled like this", "tofurc ghcr.io/acme/providers/{namespace}/{type}"},
	} {
		if err := run(ctx, step.why, step.command); err != nil {
			return err
		}
	}
	fmt.Printf("Done in %s. Everything is in ./%s; make clean removes it.\n", time.Since(began).Round(100*time.Millisecond), dir)
	return nil
}

// otherPlatform is one that a team has beside p: the servers of those who work
// on laptops, and the other way round.
func otherPlatform(p provider.Platform) provider.Platform {
	other := provider.Platform{OS: "linux", Arch: "amd64"}
	if p == other {
		other = provider.Platform{OS: "darwin", Arch: "arm64"}
	}
	return other
}

func flags(platforms []provider.Platform) string {
	var b strings.Builder
	for _, p := range platforms {
		b.WriteString(" --platform " + p.String())
	}
	return b.String()
}

// build makes the provider's zips. Compiling is nearly all of the time that a
// first run takes, so it says what it is at. All platforms are compiled at once,
// as a build alone leaves cores idle while it links.
func build(ctx context.Context, platforms []provider.Platform) (map[provider.Platform]string, error) {
	module, err := filepath.Abs(filepath.Join("e2e", "tools", "time"))
	if err != nil {
		return nil, err
	}
	paths, errs := make([]string, len(platforms)), make([]error, len(platforms))
	began := time.Now()
	var builds sync.WaitGroup
	for i, p := range platforms {
		fmt.Printf("Waiting for: go build of hashicorp/time %s for %s, minutes the first time, seconds later …\n", fixture.TimeVersion, p)
		builds.Go(func() {
			paths[i], errs[i] = fixture.BuildTime(ctx, module, filepath.Join(dir, "origin"), p)
			fmt.Printf("… %s after %s.\n", p, time.Since(began).Round(100*time.Millisecond))
		})
	}
	builds.Wait()
	zips := map[provider.Platform]string{}
	for i, p := range platforms {
		zips[p] = paths[i]
	}
	return zips, errors.Join(errs...)
}

// origin builds the provider and serves it.
func origin(ctx context.Context, platforms []provider.Platform) (stop func(), err error) {
	zips, err := build(ctx, platforms)
	if err != nil {
		return nil, err
	}
	release, err := fixture.ReleaseTime(zips)
	if err != nil {
		return nil, err
	}
	registry := origintest.New(origintest.Options{})
	if err := registry.Add(ctx, release); err != nil {
		return nil, err
	}
	ca, err := testca.New()
	if err != nil {
		return nil, err
	}
	url, stop, err := fixture.Serve(ctx, ca, registry)
	if err != nil {
		return nil, err
	}
	fmt.Printf("An origin registry with this release listens at %s.\n\n", url)
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), ca.PEM(), 0o600); err != nil {
		return nil, err
	}
	return stop, os.WriteFile(filepath.Join(dir, "tofurc"), []byte(fixture.CLIConfig(url)), 0o600)
}

// run prints and runs one command.
func run(ctx context.Context, why, command string) error {
	fmt.Printf("# %s\n$ tofu-oci %s\n", why, command)
	binary := os.Getenv("TOFU_OCI")
	if binary == "" {
		binary = filepath.Join("bin", "tofu-oci")
	}
	cmd := exec.CommandContext(ctx, binary, strings.Fields(command)...)
	cmd.Env = append(os.Environ(), configuration)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tofu-oci %s: %w", command, err)
	}
	fmt.Println()
	return nil
}
