//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tofu-oci/tofu-oci/e2e/fixture"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// TestFilesystemMirrorPage runs all commands of docs/filesystem-mirror.md in a shell,
// with the page's configurations and the real tofu and terraform. No origin registry is
// available, so the clients install all providers from the directories.
func TestFilesystemMirrorPage(t *testing.T) {
	t.Parallel()
	const page, wanted = "filesystem-mirror.md", 11
	commands := pageCommands(t, page)
	if len(commands) != wanted {
		t.Fatalf("got %d commands, want %d:\n%s", len(commands), wanted, strings.Join(commands, "\n"))
	}
	// 1. Create a registry that contains the provider, and a configuration that
	// requires the provider.
	dir, target := t.TempDir(), startRegistry(t)
	_, config := serveOrigin(t, origintest.Options{}, world.release)
	run(t, programs.tofuOCI, "mirror", "hashicorp/time", "--to", target+"/acme/providers/{namespace}/{type}", "--config", config, "--ca-file", world.caFile)
	for name, program := range map[string]string{"tofu-oci": programs.tofuOCI, "tofu": programs.tofu, "terraform": programs.terraform} {
		if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "main.tf"), mainTF)
	// 2. Run the page's commands, adapted to this registry, provider, and platforms.
	adapt := strings.NewReplacer("ghcr.io", target, "/srv/", dir+"/", "hashicorp/random", "hashicorp/time",
		"linux_amd64", provider.CurrentPlatform().String(), "darwin_arm64", "windows_386")
	files := pageFiles(t, page)
	for name, text := range files {
		write(t, filepath.Join(dir, name), adapt.Replace(text))
	}
	if len(files) != 2 {
		t.Fatalf("%d configurations", len(files))
	}
	cmd := command(t, "sh", "-euxc", adapt.Replace(strings.Join(commands, "\n")))
	cmd.Dir, cmd.Env = dir, append(cmd.Env, "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"), "TF_DATA_DIR=")
	output(t, cmd)
	// 3. Check that terraform, which runs last, installed a copy from the zip.
	installed := filepath.Join(dir, ".terraform", "providers", terraformHost, "hashicorp", "time", fixture.TimeVersion, provider.CurrentPlatform().String())
	if info, err := os.Lstat(installed); err != nil || !info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
	// 4. Check that tofu links to the unpacked directory.
	cli := filepath.Join(t.TempDir(), "tofurc")
	write(t, cli, strings.ReplaceAll(adapt.Replace(files["offline.tofurc"]), "/providers", "/unpacked"))
	tofu(t, dir, cli, "init", "-input=false", "-upgrade")
	installed = strings.Replace(installed, terraformHost, provider.DefaultHost.String(), 1)
	if to, err := os.Readlink(installed); err != nil || !strings.HasPrefix(to, filepath.Join(dir, "unpacked")) {
		t.Errorf("%s, %v", to, err)
	}
}

// pageFiles returns the files on a page. A file is a code block that starts with a
// comment containing the file name.
func pageFiles(t *testing.T, page string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, block := range strings.Split(string(text), "\n```hcl\n# ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		content, _, _ := strings.Cut(rest, "\n```\n")
		files[name] = content + "\n"
	}
	return files
}
