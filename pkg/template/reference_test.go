package template_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func TestParseReference(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]template.Reference{
		"ghcr.io/acme/x":         {Registry: "ghcr.io", Name: "acme/x"},
		"localhost:5000/x":       {Registry: "localhost:5000", Name: "x"},
		"acme/x":                 {Registry: "acme", Name: "x"},
		"oci-layout:mirror/x":    {Layout: "mirror/x"},
		`oci-layout:C:\mirror`:   {Layout: `C:\mirror`},
		"oci-layout:a{b}/${c}":   {Layout: "a{b}/${c}"}, // references have no variables
		"oci-layout:oci-layout:": {Layout: "oci-layout:"},
	} {
		got, err := template.ParseReference(text)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", text, diff)
		}
		if got.String() != text {
			t.Errorf("%s: String = %s", text, got)
		}
	}
	if s := (template.Reference{}).String(); s != "" {
		t.Errorf("zero value: %q", s)
	}
}

func TestParseReferenceErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		offset  int
		problem string
	}{
		"":                    {0, "a slash"},
		"ghcr.io":             {0, "a slash"},
		"oci-layout:":         {11, "empty"},
		"oci-layout:m\x00":    {12, "control character"},
		"oci-layout:\xff":     {11, "UTF-8"},
		"ghcr.io/acme/X":      {13, "upper-case"},
		"ghcr.io/acme/x:1":    {13, "tag"},
		"ghcr.io/größe":       {8, "non-ASCII"},
		"https://ghcr.io/x":   {0, "scheme"},
		"ghcr.io/{namespace}": {8, "single separators"},
	} {
		ref, err := template.ParseReference(text)
		var syntax *provider.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: %#v, %v", text, ref, err)
			continue
		}
		if syntax.Offset != want.offset || !strings.Contains(syntax.Problem, want.problem) || syntax.What != "repository" {
			t.Errorf("%q: offset %d, %v", text, syntax.Offset, err)
		}
	}
}

// TestErrorsHidePasswords checks that errors hide passwords that were written instead
// of a registry.
func TestErrorsHidePasswords(t *testing.T) {
	t.Parallel()
	a := provider.Address{Host: provider.DefaultHost, Namespace: "hashicorp", Type: "null"}
	for _, text := range []string{
		"user:s3cret@ghcr.io/{type}", "user:s3cret@ghcr.io/{typ}", "user:s3/cret@ghcr.io/${type}", "https://user:s3cret@ghcr.io/${type}",
		"https://s3cret@ghcr.io/{type", `${"user:s3cret@"}ghcr.io/${type}`, "user:s3cret@ghcr.io", "ghcr.io/user:s3cret@x/${type",
	} {
		parsed, err := template.Parse(text)
		if err == nil {
			_, err = parsed.Repository(a)
		}
		message := fmt.Sprint(err, " ", parsed.Redacted())
		var syntax *provider.SyntaxError
		if errors.As(err, &syntax) {
			message += syntax.Pointer()
		}
		if err == nil || strings.Contains(message, "cret") {
			t.Errorf("%s: %s", text, message)
		}
	}
	if _, err := template.ParseReference("user:s3cret@ghcr.io/x"); err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "log in to the registry instead") {
		t.Errorf("got %v", err)
	}
}
