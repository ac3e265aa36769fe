package template_test

import (
	"errors"
	"strings"
	"testing"

	"oras.land/oras-go/v2/registry"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, text, providerAddress string) {
		parsed, err := template.Parse(text)
		if err != nil {
			var syntax *provider.SyntaxError
			if !errors.As(err, &syntax) || syntax.Input != text || syntax.Offset < 0 || syntax.Offset > len(text) {
				t.Errorf("%v, %+v", err, syntax)
			}
			return
		}
		if again, err := template.Parse(parsed.String()); again != parsed || err != nil {
			t.Errorf("round trip of %q: %q, %v", text, again, err)
		}
		a, err := provider.ParseAddress(providerAddress)
		if err != nil {
			return
		}
		ref, err := parsed.Repository(a)
		var bad *template.ReferenceError
		if err != nil && !errors.As(err, &bad) {
			t.Errorf("error of another type: %v", err)
		}
		checkForms(t, parsed, a)
		if err == nil {
			checkReference(t, ref)
		}
	})
}

// checkForms converts a template in the {…} form to HCL and compares the results. HCL
// normalizes non-ASCII characters, and has additional sequences.
func checkForms(t *testing.T, parsed template.Template, a provider.Address) {
	t.Helper()
	text := parsed.String()
	if strings.ContainsAny(text, "$%\r") || strings.ContainsFunc(text, func(r rune) bool { return r > '~' }) {
		return
	}
	inHCL, err := template.Parse(strings.ReplaceAll(text, "{", "${"))
	if err != nil {
		t.Errorf("%q is fine and in HCL it is not: %v", text, err)
		return
	}
	ref, err := parsed.Repository(a)
	refHCL, errHCL := inHCL.Repository(a)
	if ref != refHCL || (err == nil) != (errHCL == nil) {
		t.Errorf("%q: got %q, %v; in HCL form %q, %v", text, ref, err, refHCL, errHCL)
	}
}

// checkReference checks that formatting and parsing a reference returns the same
// reference. It also checks that oras, which OpenTofu uses, accepts the same references
// to registries.
func checkReference(t *testing.T, ref template.Reference) {
	t.Helper()
	if again, err := template.ParseReference(ref.String()); again != ref || err != nil {
		t.Errorf("round trip of %q: %q, %v", ref, again, err)
	}
	if ref.IsLayout() {
		return
	}
	want := registry.Reference{Registry: ref.Registry, Repository: ref.Name}
	if got, err := registry.ParseReference(ref.String()); got != want || err != nil {
		t.Errorf("oras reads %q as %+v, %v", ref, got, err)
	}
}
