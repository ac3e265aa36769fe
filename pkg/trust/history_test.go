package trust_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/trust"
)

// stored is a source with older releases. It counts requests.
type stored struct {
	releases map[string]provider.Release
	lists    atomic.Int64
	reads    atomic.Int64
}

func (s *stored) Versions(context.Context, provider.Address) (versions []provider.Version, err error) {
	s.lists.Add(1)
	for text := range s.releases {
		v, err := provider.ParseVersion(text)
		if err != nil {
			return nil, err
		}
		versions = append(versions, v)
	}
	if versions == nil {
		return nil, provider.ErrProviderNotFound
	}
	return versions, nil
}

func (s *stored) Release(_ context.Context, _ provider.Address, v provider.Version, _ ...provider.Platform) (provider.Release, error) {
	s.reads.Add(1)
	r := s.releases[v.String()]
	r.Version = v
	return r, nil
}

func (s *stored) Open(context.Context, provider.Package) (io.ReadCloser, int64, error) {
	return nil, 0, errors.ErrUnsupported
}

// TestKeyChanged checks the warning about a changed key if no key is explicitly
// trusted.
func TestKeyChanged(t *testing.T) {
	t.Parallel()
	by := func(name string, keys ...string) provider.Release { return signed(t, world.signatures[name], keys...) }
	ed := by("ed25519", "ed25519")
	older := func(r provider.Release) *trust.SignerHistory {
		return &trust.SignerHistory{Source: &stored{releases: map[string]provider.Release{"0.9.0": r, "0.8.0": by("rsa", "rsa"), "1.1.0": ed}}}
	}
	now := by("rsa", "rsa")
	for name, test := range map[string]struct {
		policy trust.Policy
		warned bool
	}{
		"the same key":           {trust.Policy{History: older(by("rsa", "rsa"))}, false},
		"another key":            {trust.Policy{History: older(ed)}, true},
		"another key, required":  {trust.Policy{Mode: trust.ModeRequire, History: older(ed)}, true},
		"another, expired":       {trust.Policy{History: older(by("expired", "expired"))}, true},
		"unsigned before":        {trust.Policy{History: older(signed(t, nil))}, false},
		"unknown before":         {trust.Policy{History: older(by("ed25519"))}, false},
		"only later ones":        {trust.Policy{History: &trust.SignerHistory{Source: &stored{releases: map[string]provider.Release{"1.0.0": ed, "1.1.0": ed}}}}, false},
		"nothing before":         {trust.Policy{History: &trust.SignerHistory{Source: &stored{}}}, false},
		"pinned":                 {trust.Policy{Rules: pin(t, "", "rsa"), History: older(ed)}, false},
		"in the keyring":         {trust.Policy{Keyring: keyring(t, "rsa"), History: older(ed)}, false},
		"mode off":               {trust.Policy{Mode: trust.ModeOff, History: older(ed)}, false},
		"a rule without any pin": {trust.Policy{Rules: rulesOf(t, "trust \"*/*/*\" {}"), History: older(ed)}, true},
	} {
		v, err := test.policy.VerifyOffered(t.Context(), now)
		if warned := strings.Contains(v.Warning, "the key has changed: the existing version 0.9.0 is signed by "); err != nil || warned != test.warned {
			t.Errorf("%s: got %q, %v", name, v.Warning, err)
		}
	}
}

// TestKeyChange checks which releases count as changed. A release without a verified
// signature is a change, unless the trust file accepts unsigned releases.
func TestKeyChange(t *testing.T) {
	t.Parallel()
	by := func(name string, keys ...string) provider.Release { return signed(t, world.signatures[name], keys...) }
	existing := map[string]provider.Release{"0.9.0": by("ed25519", "ed25519")}
	for name, test := range map[string]struct {
		release  provider.Release
		policy   trust.Policy
		existing provider.Release
		want     string
	}{
		"another key":       {release: by("rsa", "rsa"), want: "the key has changed: the existing version 0.9.0 is signed by "},
		"the same key":      {release: by("ed25519", "ed25519")},
		"no key":            {release: by("ed25519"), want: "the existing version 0.9.0 is signed by "},
		"no signature":      {release: signed(t, nil), want: "the existing version 0.9.0 is signed by "},
		"accepted unsigned": {release: signed(t, nil), policy: trust.Policy{Rules: rulesOf(t, "trust \"*/*/*\" {\n  unsigned = \"accept\"\n}")}},
		"accepted earlier":  {release: by("rsa", "rsa"), existing: by("rsa", "rsa")},
		"another existing":  {release: by("rsa", "rsa"), existing: by("expired", "expired"), want: "the key has changed: "},
	} {
		releases := maps.Clone(existing)
		if test.existing.Packages != nil {
			releases[test.release.Version.String()] = test.existing
		}
		test.policy.History = &trust.SignerHistory{Source: &stored{releases: releases}}
		v, err := test.policy.VerifyOffered(t.Context(), test.release)
		if err != nil || !strings.HasPrefix(v.KeyChange, test.want) || (v.KeyChange == "") != (test.want == "") || !strings.HasSuffix(v.Warning, v.KeyChange) {
			t.Errorf("%s: got %q, warning %q, %v", name, v.KeyChange, v.Warning, err)
		}
	}
}

// TestHistoryReadsOnce checks that a run requests only one list and one release, even
// if no release exists. Releases that are published by the run are ignored.
func TestHistoryReadsOnce(t *testing.T) {
	t.Parallel()
	for name, releases := range map[string]map[string]provider.Release{
		"nothing": {}, "one": {"0.9.0": signed(t, world.signatures["ed25519"], "ed25519")},
	} {
		s := &stored{releases: releases}
		policy := trust.Policy{History: &trust.SignerHistory{Source: s}}
		before := int64(len(releases))
		for range 3 {
			v, err := policy.VerifyOffered(t.Context(), signed(t, world.signatures["rsa"], "rsa"))
			if warned := v.Warning != ""; err != nil || warned != (before > 0) {
				t.Errorf("%s: got %q, %v", name, v.Warning, err)
			}
			releases["0.9.5"] = signed(t, world.signatures["rsa"], "rsa")
		}
		if s.lists.Load() != 1 || s.reads.Load() != before {
			t.Errorf("%s: asked for %d lists and %d releases", name, s.lists.Load(), s.reads.Load())
		}
	}
}
