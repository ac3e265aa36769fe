//go:build wine

// Package wine_test runs the Windows build under Wine: the unit tests, and a round
// with the program itself. make wine runs it.
package wine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// world is what all tests share: it is made once and not changed.
var world struct {
	// root is that of the checkout, registry and timeModule are where the environment
	// says they are.
	root, registry, timeModule string
	// prefix is a directory, see makePrefix.
	prefix string
	// overlay is the file for go's flag of that name.
	overlay string
	// environment is that of programs under Wine, and of those that build for it.
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
	// Its server holds files of the prefix open a while longer.
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

// makePrefix makes the prefix, which is what Wine calls a Windows with its drives and
// its registry.
func makePrefix(ctx context.Context) error {
	for _, args := range [][]string{
		{"wineboot", "--init"},
		{"wine", "winecfg", "-v", "win10"}, // Go wants no less
		{"wineserver", "--wait"},
	} {
		if out, err := wine(ctx, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w: make wine wants Debian's packages wine and wine64\n%s", args, err, out)
		}
	}
	system := filepath.Join(world.prefix, "drive_c", "windows", "system32")
	if _, err := os.Stat(filepath.Join(system, randomLibrary)); err == nil {
		return nil
	}
	return os.WriteFile(filepath.Join(system, randomLibrary), forwarder(randomLibrary, "ProcessPrng", "advapi32.SystemFunction036"), 0o600)
}

// stayUp starts a program that waits for its stdin to end. The first program starts
// Windows' services, which have its stdout and stderr as long as they run: go test would
// wait for those of a test's.
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

// wine is a command in the prefix.
func wine(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = world.environment
	return cmd
}
