//go:build wine

// Package wine_test runs the Windows build in Wine: the unit tests, the scripts, and a
// complete workflow with the program itself. make wine runs the tests.
package wine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// world is shared by all tests. The tests do not modify it.
var world struct {
	// root is the root of the checkout. registry and timeModule are paths that the
	// environment specifies.
	root, registry, timeModule string
	// prefix is the directory of the Wine prefix. See makePrefix.
	prefix string
	// overlay is the file for go's -overlay flag.
	overlay string
	// environment is the environment of go build for Windows and of programs in Wine.
	environment []string
}

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	for name, into := range map[string]*string{"ROOT": &world.root, "REGISTRY": &world.registry, "TIME_MODULE": &world.timeModule} {
		if *into = os.Getenv(name); *into == "" {
			fmt.Fprintf(os.Stderr, "%s is not set: run make wine\n", name)
			return 1
		}
	}
	dir, err := os.MkdirTemp("", "tofu-oci-wine-*")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		err = makeWorld(context.Background(), dir)
	}
	// Without this command, the Wine server would keep files in the prefix open for a
	// while.
	defer func() { _ = wine(context.Background(), "wineserver", "-k").Run() }()
	if err == nil {
		var stop func()
		stop, err = stayUp(context.Background())
		defer stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func makeWorld(ctx context.Context, dir string) (err error) {
	world.prefix = filepath.Join(dir, "prefix")
	world.environment = append(os.Environ(), "TF_CLI_CONFIG_FILE=", "DOCKER_CONFIG=", "REGISTRY_AUTH_FILE=", "WINEPREFIX="+world.prefix, "WINEDEBUG=-all", "DISPLAY=", "WINEDLLOVERRIDES=mscoree,mshtml=",
		"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	if world.overlay, err = writeOverlay(ctx, dir); err != nil {
		return err
	}
	return makePrefix(ctx)
}

// makePrefix creates a Wine prefix, which emulates a Windows system with its drives and
// its registry.
func makePrefix(ctx context.Context) error {
	for _, args := range [][]string{
		{"wineboot", "--init"},
		{"wine", "winecfg", "-v", "win10"}, // the oldest version that Go supports
		{"wineserver", "--wait"},
	} {
		if out, err := wine(ctx, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: make wine requires the Debian packages wine and wine64\n%s", args, err, out)
		}
	}
	system := filepath.Join(world.prefix, "drive_c", "windows", "system32")
	if _, err := os.Stat(filepath.Join(system, randomLibrary)); err == nil {
		return nil
	}
	return os.WriteFile(filepath.Join(system, randomLibrary), forwarder(randomLibrary, "ProcessPrng", "advapi32.SystemFunction036"), 0o600)
}

// stayUp starts a program that runs until its stdin is closed. The first program in
// Wine starts the Windows services, which inherit the program's stdout and stderr.
// Without stayUp, go test would wait for services that a test has started.
func stayUp(ctx context.Context) (stop func(), err error) {
	cmd := wine(ctx, "wine", "cmd")
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return func() {}, err
	}
	return func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	}, nil
}

// wine returns a command in the prefix.
func wine(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = world.environment
	return cmd
}
