package configuration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plainText contains all elements that isPlain recognizes.
const plainText = `# a comment
variable "name" {
  description = "The \"name\" of ${var.kind}, äöü\n" # optional
  type        = map(object({ size = number, "name" = list(string) }))
  default = {
    a = { b = 1 }
    c = [1, 2,
      -3,
    ]
  }
  validation {
    condition = !can(regex("^[a-z]+", var.name)) || (length(var.name) >= 3 && var.a-b[0].c != null)
  }
}
variable "empty" {}
output "text" {
  value = aws_vpc.this[*].id == true ? "a${upper("b")}" : join("-", values(local.all)["x"])
}
resource "aws_vpc" "this" {
  count = 1 < 2 ? 1 + 2 * 3 / 4 % 5 : 0

  timeouts {
  }
}
data "aws_vpc" "that" {
  id = aws_vpc.this.id
}
/* a comment
   of two lines */
locals { // another comment
  names = { for k, v in var.all : k => "$5 100%, ${v.name}" if v.enabled } // and another one
  sizes = [for a in var.all : a.b.*.size
    if a.b]
  list = concat(local.all...)
  map  = { (var.key) : 1, type = 2 }
  type = <<-EOT
    {"id": "${aws_vpc.this.arn}"}
    $HOME
    EOT
  text = trimspace(<<TEXT
  EOT
TEXT
  )
}
output "line" { value = "a" }
resource "aws_vpc" "blocks" {
  dynamic "tag" {
    for_each = var.tags
    content { key = tag.key }
  }
}`

// notPlain contains files with errors, and valid files that only the parser recognizes.
var notPlain = []string{
	"output \"a\" {\n  a = 1\n  a = 2\n}", "output \"a\" {\n  a = {for = 1}\n}", "output \"a\" { a = 1", "output \"a\" {\n  a = 1", "output \"a\" { a = 1\n}", "output \"a\" { a = 1 b = 2 }", "resource \"a_b\" \"c\" { provider = 1 }",
	"locals {\n  a = <<A\nA", "locals {\n  a = <<A\n${\nA\n}", "locals {\n  a = <<A\n%{if}\nA\n}", "locals {\n  a = [for b in c : d => e]\n}", "locals {\n  a = {for b in c : d}\n}", "locals \"a\" {\n}", "/*",
	"variable \"a\" {\n  default {\n  }\n}", "resource \"a_b\" \"c\" {\n  provider = 1\n}", "resource \"_b\" \"c\" {}", "resource \"a_b\" {}",
	"output \"a\" {\n  a = \"$${b\"\n}", "output \"a\" {\n  a = f(1...)\n}", "output \"a\" {\n  a = a.0.1\n}", "output \"a\" {\n  a = \"\\q\"\n}",
	"output \"a\" {\n  a = a?b::c\n}", "output \"a\" {\n  a = 1 b\n}", "output \"a\" {\n  a =\n    1\n}", "output \"a\" {\n  a = \"\n\"\n}", "output \"a\" {} output \"b\" {}",
	"output \"a\" {\n  a = 1e\n}", "output \"a\" {\n  a = [1 2]\n}", "output \"a\" {\n  a = {b = 1 c = 2}\n}", "output \"a\" {\n  a = ()\n}", "\xff", "\ufeff", "output \"a\" {}\r",
	"module \"a\" {\n}", "terraform {\n}", "output \"a\" {\n  a = " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + "\n}",
}

// TestPlain checks which files isPlain recognizes. Check must reject the same files as
// Load.
func TestPlain(t *testing.T) {
	t.Parallel()
	if !isPlain([]byte(plainText)) {
		t.Error("isPlain doesn't recognize a file of the subset")
	}
	for _, text := range notPlain {
		if isPlain([]byte(text)) {
			t.Errorf("isPlain accepts %q", text)
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, "main.tf"), text)
		_, want := Load(t.Context(), dir, Options{})
		if err := Check(t.Context(), dir); (err == nil) != (want == nil) {
			t.Errorf("Check(%q) returns %v, Load returns %v", text, err, want)
		}
	}
}

// FuzzPlain checks that the parser accepts all files that isPlain accepts.
func FuzzPlain(f *testing.F) {
	for block := range strings.SplitSeq(plainText, "\n}\n") {
		f.Add(block + "\n}\n")
	}
	for _, text := range notPlain {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !isPlain([]byte(text)) {
			return
		}
		dir := t.TempDir()
		write(t, filepath.Join(dir, "main.tf"), text)
		if _, err := Load(t.Context(), dir, Options{}); err != nil {
			t.Errorf("isPlain accepts a file that Load rejects:\n%s\n%v", text, err)
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
