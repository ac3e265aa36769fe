package lock_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/testing/nouns"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// predecessor is a provider whose successor in OpenTofu is called successor.
const (
	predecessor = "registry.terraform.io/hashicorp/thing"
	successor   = "registry.opentofu.org/hashicorp/thing"
)

// requiring returns a configuration that requires providers.
func requiring(addresses ...string) string {
	text := "terraform {\n  required_providers {\n"
	for i, a := range addresses {
		text += fmt.Sprintf("    p%d = { source = %q }\n", i, a)
	}
	return text + "  }\n}\n"
}

// TestReadSelections checks that the configuration next to a lock file, the program, and
// the explicitly required providers determine whether a predecessor is replaced.
func TestReadSelections(t *testing.T) {
	t.Parallel()
	requires := func(address string) func(provider.Address) bool {
		return func(a provider.Address) bool { return a.String() == address }
	}
	for name, test := range map[string]struct {
		configuration string
		options       lock.ReadOptions
		want          []string
	}{
		"no configuration":      {"", lock.ReadOptions{}, []string{successor}},
		"invalid configuration": {"terraform {", lock.ReadOptions{}, []string{successor}},
		"requires neither":      {requiring(), lock.ReadOptions{}, []string{successor}},
		"default host":          {requiring("hashicorp/thing"), lock.ReadOptions{}, []string{successor}},
		"explicit host":         {requiring(predecessor), lock.ReadOptions{}, []string{predecessor}},
		"both":                  {requiring(predecessor, successor), lock.ReadOptions{}, []string{successor, predecessor}},
		"Terraform":             {requiring("hashicorp/thing"), lock.ReadOptions{Configuration: configuration.Options{Terraform: true}}, []string{predecessor}},
		"requested":             {requiring("hashicorp/thing"), lock.ReadOptions{Requires: requires(predecessor)}, []string{successor, predecessor}},
		"only this requested":   {"", lock.ReadOptions{Requires: requires(predecessor)}, []string{predecessor}},
		"successor requested":   {requiring(predecessor), lock.ReadOptions{Requires: requires(successor)}, []string{successor, predecessor}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := lockFile(t, file(t, []string{predecessor, "1.0.0", "zh:a"}), "")
			if test.configuration != "" {
				if err := os.WriteFile(filepath.Join(filepath.Dir(path), "main.tf"), []byte(test.configuration), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			all, err := lock.ReadSelections(t.Context(), test.options, nil, filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range all {
				got = append(got, s.Address.String())
				if replaced := s.Address.String() == successor; replaced != (s.Hashes == nil) || replaced != (s.Predecessor == nouns.Address(t, predecessor)) {
					t.Errorf("got %+v", s)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestReadSelectionsInvalid checks that invalid files and blocks don't hide valid ones.
func TestReadSelectionsInvalid(t *testing.T) {
	t.Parallel()
	const valid, other = "provider \"example.com/acme/a\" {\n  version = \"1.0.0\"\n}\n", "provider \"example.com/acme_corp/b\" {\n  version = \"1.0.0\"\n}\n"
	for name, test := range map[string]struct {
		files    []string
		want     int
		problems int
		err      bool
	}{
		"a conflict":        {[]string{valid, "<<<<<<< HEAD\n" + valid}, 1, 1, false},
		"only a conflict":   {[]string{"<<<<<<< HEAD\n" + valid}, 0, 0, true},
		"an invalid block":  {[]string{valid + other}, 1, 1, false},
		"only invalid ones": {[]string{other, other + "x = 1\n"}, 0, 0, true},
		"a valid file":      {[]string{valid, valid}, 1, 0, false},
		"empty and invalid": {[]string{"", other}, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i, text := range test.files {
				path := filepath.Join(dir, fmt.Sprint(i), lock.Filename)
				if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			var problems []error
			all, err := lock.ReadSelections(t.Context(), lock.ReadOptions{}, func(err error) { problems = append(problems, err) }, dir)
			if len(all) != test.want || len(problems) != test.problems || errors.Is(err, lockfile.ErrSyntax) != test.err || (err != nil) != test.err {
				t.Errorf("got %v, %v, %v", all, problems, err)
			}
		})
	}
}

// TestPredecessorHashes checks that any package is accepted if lock files lock only its
// predecessor. If one of them locks the version itself, its hashes apply.
func TestPredecessorHashes(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, successor, "1.0.0")
	r := s.releases[0]
	replaced := lockfile.Selection{Address: r.Address, Version: r.Version, Predecessor: nouns.Address(t, predecessor)}
	itself := lockfile.Selection{Address: r.Address, Version: r.Version, Hashes: []lockfile.Hash{wrongZH}}
	for name, test := range map[string]struct {
		files   []lockfile.Selection
		refused bool
	}{
		"predecessor":            {[]lockfile.Selection{replaced, replaced}, false},
		"predecessor and itself": {[]lockfile.Selection{replaced, itself}, true},
		"itself and predecessor": {[]lockfile.Selection{itself, replaced}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			locked := lock.Union(test.files)
			_, err := lock.NewSource(s, locked, lock.Options{}, nil).Release(t.Context(), r.Address, r.Version)
			for _, err := range []error{err, locked.Check(r.Packages[0])} {
				if _, refused := errors.AsType[*lock.HashError](err); refused != test.refused || err != nil && !refused {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

// TestDirectoryPredecessor checks that the version of a locked predecessor is kept like
// the version of a locked provider, but with new hashes.
func TestDirectoryPredecessor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		locked                []string
		configuration, wanted string
		terraform, upgrade    bool
		version               string
		removed               int
		fits                  func(error) bool
	}{
		"kept":                         {[]string{predecessor, "1.0.0"}, requiring("hashicorp/thing"), "", false, false, "1.0.0", 1, nil},
		"upgraded":                     {[]string{predecessor, "1.0.0"}, requiring("hashicorp/thing"), "", false, true, "1.2.0", 1, nil},
		"by name":                      {[]string{predecessor, "1.0.0"}, "", successor, false, false, "1.0.0", 0, nil},
		"by name with a constraint":    {[]string{predecessor, "1.0.0"}, "", successor + "@~> 1.1", false, false, "", 0, is(lock.ErrLocked)},
		"missing version":              {[]string{predecessor, "9.0.0"}, requiring("hashicorp/thing"), "", false, false, "", 0, isNotFound},
		"both are locked":              {[]string{successor, "1.2.0"}, requiring("hashicorp/thing"), "", false, false, "1.2.0", 0, nil},
		"Terraform":                    {[]string{predecessor, "1.0.0"}, requiring(successor), "", true, false, "1.2.0", 1, nil},
		"the predecessor is required":  {[]string{predecessor, "1.0.0"}, requiring(predecessor, successor), "", false, false, "1.0.0", 0, is(provider.ErrProviderNotFound)},
		"another namespace, same type": {[]string{"registry.terraform.io/acme/thing", "1.0.0"}, requiring("hashicorp/thing"), "", false, false, "1.2.0", 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := lockFile(t, file(t, append(test.locked, string(wrongZH))), "")
			if test.locked[0] == successor {
				path = lockFile(t, file(t, test.locked), "")
			}
			dir := filepath.Dir(path)
			if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(test.configuration), 0o600); err != nil {
				t.Fatal(err)
			}
			o := lock.FileOptions{Upgrade: test.upgrade}
			o.Configuration.Terraform = test.terraform
			if test.wanted != "" {
				o.Named = []provider.Requirement{want(t, test.wanted)}
			}
			c, err := lock.Directory(t.Context(), newFakeSource(t, successor, "1.0.0", "1.2.0"), dir, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range c.Providers {
				if p.Requirement.Address.String() == predecessor {
					if !test.fits(p.Err) || p.Previous.Predecessor != (provider.Address{}) {
						t.Errorf("got %+v", p)
					}
					continue
				}
				if test.version == "" {
					if !test.fits(p.Err) {
						t.Errorf("got %v", p.Err)
					}
				} else if p.Err != nil || p.Selection.Version.String() != test.version || len(p.Selection.Hashes) != 5 {
					t.Errorf("got %+v", p)
				}
			}
			if len(c.Removed) != test.removed {
				t.Errorf("removed %v", c.Removed)
			}
		})
	}
}

// TestCheckPredecessor checks the finding about a successor, and that the predecessor
// itself is checked only for Terraform.
func TestCheckPredecessor(t *testing.T) {
	t.Parallel()
	s := newFakeSource(t, successor, "1.0.0")
	f := file(t, []string{predecessor, "1.0.0", string(wrongZH)})
	for terraform, want := range map[bool]string{
		false: "lock-hash-missing The lock file locks " + predecessor + " instead of " + successor + ". OpenTofu selects the locked version 1.0.0, but the locked hashes don't apply. The hash for haiku_riscv64 is " + string(zh(s.releases[0].Packages[0].Digest)) + ".",
		true:  "lock-provider-missing " + predecessor + " does not exist in the source.",
	} {
		o := lock.Options{Platforms: []provider.Platform{nouns.Haiku}}
		o.Configuration.Terraform = terraform
		all := lock.Check(t.Context(), s, filepath.Join(t.TempDir(), lock.Filename), f, o)
		if len(all) != 1 || len(all[0].Findings) != 1 {
			t.Fatalf("got %+v", all)
		}
		if got := all[0].Findings[0].Code + " " + all[0].Findings[0].Message; got != want {
			t.Errorf("got %s", got)
		}
	}
}
