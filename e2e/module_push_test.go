package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// pushedModule contains the parts of module push's JSON output that the tests read.
type pushedModule struct {
	Items []struct{ Status, Digest, Source string }
}

// pushModule pushes the module in a directory.
func pushModule(tb testing.TB, dir string, args ...string) pushedModule {
	tb.Helper()
	args = append([]string{"module", "push", dir, "--ca-file", world.caFile, "--output", "json"}, args...)
	var p pushedModule
	text := run(tb, programs.tofuOCI, args...)
	if err := json.Unmarshal([]byte(text), &p); err != nil || len(p.Items) != 1 {
		tb.Fatalf("want a report with one result: %v\n%s", err, text)
	}
	return p
}

// TestTofuInstallsPushedModules installs a module from each form of an oci:// source.
func TestTofuInstallsPushedModules(t *testing.T) {
	t.Parallel()
	dir, repository := t.TempDir(), startRegistry(t)+"/acme/modules/vpc"
	for name, text := range map[string]string{
		"main.tf":                "output \"text\" {\n  value = \"root ${file(\"${path.module}/version.txt\")} ${module.subnet.text}\"\n}\nmodule \"subnet\" {\n  source = \"./modules/subnet\"\n}\n",
		"modules/subnet/main.tf": "output \"text\" {\n  value = \"subnet ${file(\"${path.module}/../../version.txt\")}\"\n}\n",
		"terraform.tfstate":      "{}",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
	}
	write(t, filepath.Join(dir, "version.txt"), "1.0.0")
	first := pushModule(t, dir, "--to", repository, "--version", "1.0.0", "--tag-latest").Items[0]
	if first.Status != "created" || first.Source != "oci://"+repository+"?tag=1.0.0" {
		t.Errorf("unexpected result of the first push: %+v", first)
	}
	if again := pushModule(t, dir, "--to", repository, "--version", "1.0.0", "--tag-latest").Items[0]; again.Status != "unchanged" || again.Digest != first.Digest {
		t.Errorf("unexpected result of the second push: %+v, want %s", again, first.Digest)
	}
	write(t, filepath.Join(dir, "version.txt"), "1.1.0")
	pushModule(t, dir, "--to", repository, "--version", "1.1.0")

	for _, test := range []struct{ source, want string }{
		{"oci://" + repository + "?tag=1.1.0", "root 1.1.0 subnet 1.1.0"},
		{"oci://" + repository + "?digest=" + first.Digest, "root 1.0.0 subnet 1.0.0"},
		{"oci://" + repository + "//modules/subnet?tag=1.1.0", "subnet 1.1.0"},
		{"oci://" + repository, "root 1.0.0 subnet 1.0.0"}, // the tag latest
	} {
		root, config := t.TempDir(), filepath.Join(t.TempDir(), "tofurc")
		write(t, config, "")
		write(t, filepath.Join(root, "main.tf"), fmt.Sprintf("module \"vpc\" {\n  source = %q\n}\noutput \"text\" {\n  value = module.vpc.text\n}\n", test.source))
		tofu(t, root, config, "init", "-input=false", "-no-color")
		tofu(t, root, config, "apply", "-input=false", "-no-color", "-auto-approve")
		if got := tofu(t, root, config, "output", "-raw", "text"); got != test.want {
			t.Errorf("%s: output %q, want %q", test.source, got, test.want)
		}
	}
}

// pushedFile is a part of a file with common elements of the language.
const pushedFile = `/*
 * The rules %[2]d of the file %[1]d.
 */
locals {
  names_%[1]d_%[2]d = { for k, n in var.subnets : k => "${var.prefix}-${n.name}" if n.enabled }
}
variable "v%[1]d_%[2]d" { type = string }
resource "aws_security_group_rule" "r%[1]d_%[2]d" {
  for_each = toset([for s in local.names_%[1]d_%[2]d : s])
  type     = "ingress" // from other networks
  dynamic "ingress" {
    for_each = var.rules
    content {
      from_port = ingress.value.from
      to_port   = ingress.value["to"]
    }
  }
  policy = <<-EOT
    {"Version": "2012-10-17", "Resource": "${aws_vpc.this.arn}"}
  EOT
  tags = merge(var.tags, { Name = format("%%s-%%d", var.name, %[2]d) })
}
`

// maxPushRatio is the maximum duration of module push, divided by the duration of zip
// and oras push.
const maxPushRatio = 2

// BenchmarkModulePush pushes a module with 1,000 files to new repositories, once with
// module push and once with zip and oras push. It fails if module push takes longer
// than allowed. It is skipped without the program ORAS.
func BenchmarkModulePush(b *testing.B) {
	oras := os.Getenv("ORAS")
	if _, err := exec.LookPath("zip"); oras == "" || err != nil {
		b.Skip("ORAS is not set, or zip is not installed")
	}
	host, dir := startRegistry(b), b.TempDir()
	for i := range 1000 { // files of 5 kB
		text := ""
		for v := range 9 {
			text += fmt.Sprintf(pushedFile, i, v)
		}
		write(b, filepath.Join(dir, fmt.Sprintf("file%d.tf", i)), text)
	}
	var ours, theirs []time.Duration
	for n := 0; b.Loop(); n++ {
		out := b.TempDir()
		zipped := exec.CommandContext(b.Context(), "zip", "-q", "-r", filepath.Join(out, "module.zip"), ".")
		zipped.Dir = dir
		pushed := command(b, oras, "push", "--artifact-type", "application/vnd.opentofu.modulepkg", "--plain-http=false", "--ca-file", world.caFile,
			fmt.Sprintf("%s/acme/theirs%d:1.0.0", host, n), "module.zip:archive/zip")
		pushed.Dir = out
		began := time.Now()
		output(b, zipped)
		output(b, pushed)
		theirs = append(theirs, time.Since(began))
		began = time.Now()
		pushModule(b, dir, "--to", fmt.Sprintf("%s/acme/ours%d", host, n), "--version", "1.0.0")
		ours = append(ours, time.Since(began))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	ratio := ours[len(ours)/2].Seconds() / theirs[len(theirs)/2].Seconds()
	b.ReportMetric(ours[len(ours)/2].Seconds(), "s/push")
	b.ReportMetric(ratio, "push/zip+oras")
	if ratio > maxPushRatio {
		b.Errorf("module push takes %.2f times as long as zip and oras push, want at most %d", ratio, maxPushRatio)
	}
}
