package sourcetest

import (
	"bytes"
	"context"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// testCapabilities checks that a source's capabilities work as declared.
func testCapabilities(f Fixture) func(*testing.T) {
	return func(t *testing.T) {
		src := f.New(t)
		can := provider.CapabilitiesOf(src)
		r, err := src.Release(t.Context(), f.Address, f.Versions[0])
		if err != nil {
			t.Fatal(err)
		}
		if can.Platforms != nil {
			got, err := can.Platforms(t.Context(), f.Address, f.Versions[0])
			if diff := cmp.Diff(f.platforms(), got); diff != "" || err != nil {
				t.Errorf("Platforms: %v %s", err, diff)
			}
		}
		if can.Digests != nil {
			got, err := can.Digests(t.Context(), f.Address, f.Versions[0])
			if err != nil {
				t.Errorf("Digests: %v", err)
			}
			for p, zip := range f.Zips {
				if got != nil && got[p] != digest.FromBytes(zip) {
					t.Errorf("Digests: %s has %s", p, got[p])
				}
			}
		}
		if can.Documents != nil {
			documents, err := can.Documents(t.Context(), r)
			if err != nil {
				t.Errorf("Documents: %v", err)
			}
			for _, d := range documents {
				if content, err := d.Read(t.Context()); err != nil || digest.FromBytes(content) != d.Digest || d.Scope != provider.ScopeRelease {
					t.Errorf("Documents: %s (scope %s): wrong content, digest, or scope: %v", d.Name, d.Scope, err)
				}
			}
		}
		for _, p := range r.Packages {
			if can.Stat != nil {
				if checked, err := can.Stat(t.Context(), p); !checked || err != nil {
					t.Errorf("Stat: %s: got %v and error %v", p.Platform, checked, err)
				}
			}
			if can.Directory != nil {
				if at, ok := can.Directory(p); ok {
					t.Errorf("Directory: %s has a zip, but the directory %s was returned", p.Platform, at)
				}
			}
			if can.Path == nil {
				continue
			}
			if at, ok := can.Path(p); ok {
				got, err := os.ReadFile(at)
				if err != nil || !bytes.Equal(got, f.Zips[p.Platform]) {
					t.Errorf("Path: the file %s does not contain the zip: %v", at, err)
				}
			}
		}
	}
}

// everything is a source that declares every capability.
type everything struct {
	provider.Source
	can provider.Capabilities
}

func (e everything) Capabilities() provider.Capabilities { return e.can }

// RunDecorator checks that a source's decorator forwards all capabilities. It fails if
// a new capability is not forwarded.
func RunDecorator(t *testing.T, inner provider.Source, decorate func(provider.Source) provider.Source) {
	t.Helper()
	called := map[string]bool{}
	full := everything{Source: inner}
	set := reflect.ValueOf(&full.can).Elem()
	for i := range set.NumField() {
		name, field := set.Type().Field(i).Name, set.Field(i)
		switch field.Kind() {
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Func:
			field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value {
				called[name] = true
				return zeros(field.Type().NumOut(), field.Type().Out)
			}))
		default:
			t.Fatalf("%s is neither a trait nor a function", name)
		}
	}
	got := reflect.ValueOf(provider.CapabilitiesOf(decorate(full)))
	for i := range got.NumField() {
		name, field := got.Type().Field(i).Name, got.Field(i)
		if field.IsZero() {
			t.Errorf("the capability %s is not forwarded", name)
			continue
		}
		if field.Kind() == reflect.Func {
			arguments := zeros(field.Type().NumIn(), field.Type().In)
			if field.Type().In(0) == reflect.TypeFor[context.Context]() {
				arguments[0] = reflect.ValueOf(t.Context())
			}
			field.Call(arguments)
		}
	}
	for i := range got.NumField() {
		if name := got.Type().Field(i).Name; got.Field(i).Kind() == reflect.Func && !called[name] {
			t.Errorf("the capability %s does not call the source; the forwarded capabilities are %v", name, slices.Sorted(maps.Keys(called)))
		}
	}
	// A source without capabilities must have no capabilities after it is decorated.
	if none := provider.CapabilitiesOf(decorate(everything{Source: inner})); !reflect.ValueOf(none).IsZero() {
		t.Errorf("capabilities that the source does not have: %+v", none)
	}
}

func zeros(n int, typ func(int) reflect.Type) []reflect.Value {
	values := make([]reflect.Value, n)
	for i := range values {
		values[i] = reflect.Zero(typ(i))
	}
	return values
}
