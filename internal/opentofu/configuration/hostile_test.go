package configuration_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/internal/testing/patience"
)

// TestHostile checks that configurations that exceed the limits are rejected quickly.
func TestHostile(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	entry := func(text string) map[string]string {
		return map[string]string{"main.tf": "terraform {\n required_providers {\n  x = " + text + "\n }\n}\n"}
	}
	twice := map[string]string{}
	for i := range 20 {
		name := "main.tf"
		if i > 0 {
			name = fmt.Sprintf("m%d/main.tf", i)
		}
		source := fmt.Sprintf("./m%d", i+1)
		if i > 0 {
			source = "." + source
		}
		twice[name] = fmt.Sprintf("module \"a\" {\n source = %q\n}\nmodule \"b\" {\n source = %q\n}\n", source, source)
	}
	twice["m20/main.tf"] = "\n"
	deep := map[string]string{}
	for i := range 70 {
		dir := strings.Repeat("m/", i)
		deep[dir+"main.tf"] = "module \"a\" {\n source = \"./m\"\n}\n"
	}
	deep[strings.Repeat("m/", 70)+"main.tf"] = "\n"
	parts := ""
	for i := range 30 {
		parts += fmt.Sprintf("provider \"x\" {\n alias = \"a%d\"\n version = \"", i)
		for j := range 40 {
			parts += fmt.Sprintf("!=%d.%d,", i, j)
		}
		parts = strings.TrimSuffix(parts, ",") + "\"\n}\n"
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a large file":   {map[string]string{"main.tf": strings.Repeat("# comment\n", 500_000)}, "main.tf: the file exceeds 4 MiB"},
		"large files":    {numbered(9, ".tf.json", "{"+strings.Repeat(" ", 4<<20-100)+"}\n"), "the configuration exceeds 32 MiB"},
		"many files":     {numbered(5_001, ".tf", ""), "the configuration exceeds 5000 files"},
		"brackets":       {entry(strings.Repeat("[", 100_000)), "brackets are nested more than 64 levels deep"},
		"negations":      {entry(strings.Repeat("!", 200_000)), "expression exceeds 256 operators"},
		"indexes":        {entry("a" + strings.Repeat("[0]", 100_000)), "expression exceeds 256 operators"},
		"templates":      {entry(`"` + strings.Repeat("%{if a}", 50_000)), "expression exceeds 256 operators"},
		"JSON":           {map[string]string{"main.tf.json": strings.Repeat(`{"a":`, 500_000)}, "brackets are nested more than 64 levels deep"},
		"tokens":         {map[string]string{"main.tf": strings.Repeat("a=1\n", 1<<20)}, "text exceeds 524288 tokens"},
		"JSON tokens":    {map[string]string{"main.tf.json": `{"a":[` + strings.Repeat("1,", 1<<20) + "1]}"}, "text exceeds 524288 tokens"},
		"dollars":        {entry(`"` + strings.Repeat("$", 256<<10) + `"`), "literals have too many pieces"},
		"all dollars":    {numbered(4, ".tf", `a="`+strings.Repeat("$", 18_000)+"\"\n"), "literals have too many pieces"},
		"loops":          {entry(`{ source = [for a in [1, 2] : [for b in [1, 2] : b]] }`), "the source must be a quoted string"},
		"numbers":        {entry("1e600000000"), "must be a string or an object"},
		"small numbers":  {entry("1e-600000000"), "must be a string or an object"},
		"written out":    {entry(`{ version = "${1e600000000}" }`), "the version must be a quoted string"},
		"constraint":     {entry(`"` + strings.Repeat(">= 1.0,", 1000) + `"`), "the version constraint exceeds 1024 bytes"},
		"constraints":    {map[string]string{"main.tf": parts}, "the constraints on registry.opentofu.org/hashicorp/x have more than 1000 parts"},
		"calls":          {twice, "the configuration calls more than 20000 modules"},
		"depth":          {deep, "modules are nested more than 64 levels deep"},
		"a reference":    {map[string]string{"main.tf.json": `{"resource":{"a_b":{"c":{"provider":"` + strings.Repeat("(", 2000) + `"}}}}`}, "the provider argument must be a provider name"},
		"many problems":  {map[string]string{"main.tf": strings.Repeat("provider \"A\" {}\n", 5000)}, "and 4980 more"},
		"unreachable":    {map[string]string{"main.tf": "module \"a\" {\n source = \"" + strings.Repeat("../", 1000) + "none\"\n}\n"}, "the directory of module.a does not exist"},
		"a name of NULs": {map[string]string{"main.tf": "module \"a\" {\n source = \"./a\\u0000b\"\n}\n"}, "reading module.a in"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range test.files {
				write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
			}
			c, err := configuration.Load(t.Context(), dir, configuration.Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) || len(c.Required) > 0 {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestHostileSources checks that module sources that contain references are resolved
// within the limits.
func TestHostileSources(t *testing.T) {
	t.Parallel()
	patience.SkipIfShort(t)
	doubled := "locals {\n a0 = \"\"\n"
	for i := range 60 {
		doubled += fmt.Sprintf(" a%d = \"${local.a%d}${local.a%d}\"\n", i+1, i, i)
	}
	doubled += "}\n"
	chain := "locals {\n a0 = \"./m\"\n"
	for i := range 100 {
		chain += fmt.Sprintf(" a%d = local.a%d\n", i+1, i)
	}
	chain += "}\n"
	for name, test := range map[string]struct{ locals, source, want string }{
		"doubled":       {doubled, "local.a60", "the source refers to itself or has too many references"},
		"chain":         {chain, "local.a100", "the source refers to itself or has too many references"},
		"long":          {"locals {\n a = \"" + strings.Repeat("x", 3000) + "\"\n}\n", `"${local.a}${local.a}"`, "the source exceeds 4096 bytes"},
		"number":        {"locals {\n a = 1e600000000\n}\n", `"${local.a}"`, "the source is not a string"},
		"large locals":  {"locals {\n a = \"./m\"\n b = \"" + strings.Repeat("x", 600<<10) + "\"\n}\n", "local.a", "are too large"},
		"large objects": {"locals {\n a = {" + strings.Repeat("x = 1,", 80_000) + "}\n}\n", "local.a.y", "which does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := test.locals
			for i := range 100 {
				text += fmt.Sprintf("module \"m%d\" {\n source = %s\n}\n", i, test.source)
			}
			dir := t.TempDir()
			write(t, filepath.Join(dir, "main.tf"), text)
			c, err := configuration.Load(t.Context(), dir, configuration.Options{})
			if err != nil || len(c.Unread) != 100 || !strings.Contains(c.Unread[0].Reason, test.want) || c.Unread[0].Source != "" {
				t.Errorf("got %v, %v, want %s", c.Unread, err, test.want)
			}
		})
	}
}

// numbered returns n files with the same text.
func numbered(n int, extension, text string) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("%d%s", i, extension)] = text
	}
	return files
}

// busy is a context that is canceled while its first user is busy. The call of Err that
// cancels the context returns only after the test has ended busy.
type busy struct {
	context.Context //nolint:containedctx // this is a context itself
	used            atomic.Bool
	canceled, idle  chan struct{}
}

func (b *busy) Done() <-chan struct{} { return b.canceled }

func (b *busy) Err() error {
	if b.used.CompareAndSwap(false, true) {
		close(b.canceled)
		<-b.idle
	}
	return context.Canceled
}

// TestCanceledWhileParsing checks that Load and Roots return when ctx is canceled, even
// if they are busy in a call that cannot be stopped, such as a call of the parser.
func TestCanceledWhileParsing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), "")
	for name, call := range map[string]func(context.Context) error{
		"Load": func(ctx context.Context) error {
			_, err := configuration.Load(ctx, dir, configuration.Options{})
			return err
		},
		"Roots": func(ctx context.Context) error {
			_, err := configuration.Roots(ctx, configuration.Options{}, dir)
			return err
		},
	} {
		ctx := &busy{Context: t.Context(), canceled: make(chan struct{}), idle: make(chan struct{})}
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
		close(ctx.idle)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), "module \"m\" {\n source = \"./link\"\n}\nmodule \"n\" {\n source = \"./loop\"\n}\n")
	write(t, filepath.Join(dir, "elsewhere", "m", "main.tf"), "module \"sibling\" {\n source = \"../sibling\"\n}\n")
	write(t, filepath.Join(dir, "elsewhere", "sibling", "x"), "resource \"aws_x\" \"x\" {}\n")
	for from, to := range map[string]string{
		"link": "elsewhere/m", "loop": "loop", "d.tf": "elsewhere", "gone.tf": "nowhere", "self.tf": "self.tf", "elsewhere/sibling/x.tf": "x",
	} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := configuration.Load(t.Context(), dir, configuration.Options{})
	for _, want := range []string{"d.tf: reading the file", "gone.tf: reading the file", "self.tf: reading the file", "main.tf:4:1: reading module.n in"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, name := range []string{"d.tf", "gone.tf", "self.tf", "loop"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "main.tf"), "module \"m\" {\n source = \"./link\"\n}\n")
	// As in OpenTofu, the path of a linked module is the link's target.
	c, err := configuration.Load(t.Context(), dir, configuration.Options{})
	if err != nil || len(c.Required) != 1 || c.Required[0].Address.Type != "aws" {
		t.Errorf("got %v, %v", c, err)
	}
}

// TestLinkedRoot checks that errors contain the path as given, even if the directory is
// a link. On macOS, all temporary directories are links.
func TestLinkedRoot(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	link := filepath.Join(above, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile("testdata/installed.txtar")
	if err != nil {
		t.Fatal(err)
	}
	last := len(archive.Files) - 1
	for _, f := range archive.Files[:last] {
		write(t, filepath.Join(above, "real", filepath.FromSlash(f.Name)), string(f.Data))
	}
	if diff := cmp.Diff(string(archive.Files[last].Data), describe(link, configuration.Options{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLinksOutsideOfPackages checks that links in installed modules cannot refer to
// files outside the module's package.
func TestLinksOutsideOfPackages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), "module \"m\" {\n source = \"acme/m/aws\"\n}\n")
	write(t, filepath.Join(dir, "secret", "main.tf"), "resource \"secret_a\" \"a\" {}\n")
	modules := filepath.Join(dir, ".terraform", "modules")
	write(t, filepath.Join(modules, "modules.json"), `{"Modules":[{"Key":"m","Source":"registry.opentofu.org/acme/m/aws","Version":"1.0.0","Dir":".terraform/modules/m"}]}`)
	write(t, filepath.Join(modules, "m", "main.tf"), "module \"n\" {\n source = \"./out\"\n}\n")
	if err := os.Symlink("../../../secret", filepath.Join(modules, "m", "out")); err != nil {
		t.Fatal(err)
	}
	if got := describe(dir, configuration.Options{}); !strings.Contains(got, "is outside its caller's package") {
		t.Errorf("got %s", got)
	}
	// A missing package is reported as not installed.
	if err := os.RemoveAll(filepath.Join(modules, "m")); err != nil {
		t.Fatal(err)
	}
	if got := describe(dir, configuration.Options{}); !strings.HasSuffix(got, "the directory of the installed module does not exist\n") {
		t.Errorf("got %s", got)
	}
}

func TestNoConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "only.tftest.hcl"), "provider \"aws\" {}\n")
	if _, err := configuration.Load(t.Context(), dir, configuration.Options{}); !errors.Is(err, configuration.ErrNoConfiguration) {
		t.Errorf("got %v", err)
	}
	if _, err := configuration.Load(t.Context(), filepath.Join(dir, "none"), configuration.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestErrorPositions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "main.tf")
	write(t, path, "# é\nprovider \"aws\" { version = \"é\" }\n")
	_, err := configuration.Load(t.Context(), dir, configuration.Options{})
	var e *stricthcl.Error
	if !errors.As(err, &e) || e.Position != (stricthcl.Position{File: path, Line: 2, Column: 28}) || e.Problem == "" {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "link.tf"), "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := configuration.Load(ctx, dir, configuration.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), "module \"m\" {\n source = \"acme/m/aws\"\n}\nresource \"aws_x\" \"x\" {}\n")
	write(t, filepath.Join(dir, "main.tofu"), "module \"m\" {\n source = \"acme/m/aws\"\n}\nresource \"tls_x\" \"x\" {}\n")
	for data, recorded := range map[string]string{"data": "data/modules/m", elsewhere: filepath.ToSlash(filepath.Join(elsewhere, "modules", "m"))} {
		base := data
		if !filepath.IsAbs(data) {
			base = filepath.Join(dir, data)
		}
		write(t, filepath.Join(base, "modules", "modules.json"), fmt.Sprintf(`{"Modules":[{"Key":"m","Source":"registry.opentofu.org/acme/m/aws","Version":"1.0.0","Dir":%q}]}`, recorded))
		write(t, filepath.Join(base, "modules", "m", "main.tf"), "resource \"random_x\" \"x\" {}\n")
		for _, terraform := range []bool{false, true} {
			want := "registry.opentofu.org/hashicorp/random registry.opentofu.org/hashicorp/tls"
			if terraform {
				want = "registry.terraform.io/hashicorp/aws registry.terraform.io/hashicorp/random"
			}
			c, err := configuration.Load(t.Context(), dir, configuration.Options{DataDir: data, Terraform: terraform})
			if got := addresses(c); got != want || err != nil || len(c.Unread) != 0 {
				t.Errorf("%s, terraform %v: got %s, %v, want %s", data, terraform, got, err, want)
			}
		}
	}
}

func addresses(c configuration.Configuration) string {
	var all []string
	for _, r := range c.Required {
		all = append(all, r.Address.String())
	}
	return strings.Join(all, " ")
}
