// Command demo demonstrates the complete workflow on the local machine. It builds a
// real provider for the current platform and a second platform, and serves the provider
// from a small origin registry on a loopback address. It then mirrors the provider to
// an OCI image layout, and installs it from the layout with OpenTofu.
//
// It prints each step, each tofu-oci command, and the command's output. If tofu is not
// on PATH, it prints only the command that runs OpenTofu. With -svg FILE, it generates
// the README's animation.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/e2e/recording"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/internal/testing/testca"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// dir is the directory below the project's root that contains all files of the
	// demonstration.
	dir = recording.Dir
	// configuration selects the configuration file that contains the origin registry's
	// address. The demonstration ignores the user's configuration.
	configuration = "TF_CLI_CONFIG_FILE=" + dir + "/tofurc"
)

func main() {
	picture := flag.String("svg", "", "write the animation to `FILE`, relative to the project's root")
	began := flag.Int64("began", time.Now().Unix(), "measure the duration from this Unix `TIME`, such as the start of make")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := demo(ctx, *picture, time.Unix(*began, 0))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo runs the demonstration, which the user started at a time.
func demo(ctx context.Context, picture string, began time.Time) error {
	// 1. Change to the project's root, so that paths in the output are relative to the
	// root.
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
	// 2. Start an origin registry with a real provider.
	platforms := []provider.Platform{provider.CurrentPlatform(), otherPlatform(provider.CurrentPlatform())}
	stop, err := origin(ctx, platforms)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("$ export %s\n\n", configuration)
	// 3. Run the commands.
	var scenes []recording.Scene
	for _, step := range recording.Road(platforms...) {
		scene, err := run(ctx, step)
		if err != nil {
			return err
		}
		scenes = append(scenes, scene)
	}
	install := recording.Install()
	if _, err := exec.LookPath("tofu"); err != nil {
		fmt.Printf("# %s\n# tofu is not on PATH. With tofu, the demonstration would run:\n$ tofu-oci %s\n\n", install.Why, install.Command)
	} else if _, err := run(ctx, install); err != nil {
		return err
	}
	if picture != "" {
		if err := draw(picture, scenes); err != nil {
			return err
		}
	}
	fmt.Printf("Done in %s. Everything is in ./%s; make clean removes it.\n", time.Since(began).Round(time.Second), dir)
	return nil
}

// otherPlatform returns a second platform: a typical server platform or, if p is that
// platform, a typical laptop platform.
func otherPlatform(p provider.Platform) provider.Platform {
	other := provider.Platform{OS: "linux", Arch: "amd64"}
	if p == other {
		other = provider.Platform{OS: "darwin", Arch: "arm64"}
	}
	return other
}

// build builds the provider's zips. In the first run, compiling takes most of the time,
// so build prints its progress. It compiles all platforms concurrently, because linking
// uses only one core.
func build(ctx context.Context, platforms []provider.Platform) (map[provider.Platform]string, error) {
	module, err := filepath.Abs(filepath.Join("e2e", "tools", "time"))
	if err != nil {
		return nil, err
	}
	paths, errs := make([]string, len(platforms)), make([]error, len(platforms))
	began := time.Now()
	var builds sync.WaitGroup
	for i, p := range platforms {
		fmt.Printf("Building hashicorp/time %s for %s (minutes the first time, then seconds) …\n", fixture.TimeVersion, p)
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

// origin builds the provider and serves it from an origin registry.
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
	if err := os.Mkdir(filepath.Join(dir, "project"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "project", "main.tf"), []byte(recording.Configuration), 0o600); err != nil {
		return nil, err
	}
	return stop, os.WriteFile(filepath.Join(dir, "tofurc"), []byte(fixture.CLIConfig(url)), 0o600)
}

// run prints and runs one command.
func run(ctx context.Context, step recording.Step) (recording.Scene, error) {
	fmt.Printf("# %s\n$ tofu-oci %s\n", step.Why, step.Command)
	binary := os.Getenv("TOFU_OCI")
	if binary == "" {
		binary = filepath.Join("bin", "tofu-oci")
	}
	var printed bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, strings.Fields(step.Command)...)
	cmd.Env = append(os.Environ(), configuration, "TF_IN_AUTOMATION=1") // shortens the output of tofu
	cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stdout, &printed), os.Stderr
	if err := cmd.Run(); err != nil {
		return recording.Scene{}, fmt.Errorf("tofu-oci %s: %w", step.Command, err)
	}
	fmt.Println()
	return recording.Scene{Step: step, Output: printed.String()}, nil
}

// draw generates the README's animation.
func draw(file string, scenes []recording.Scene) error {
	var picture bytes.Buffer
	if err := recording.Draw(&picture, scenes); err != nil {
		return err
	}
	return os.WriteFile(file, picture.Bytes(), 0o600)
}
