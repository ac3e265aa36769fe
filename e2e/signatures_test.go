package e2e_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/testing/gpgtest"
	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// Outcomes of installing or mirroring a release.
const (
	accepts = "accepts"
	refuses = "refuses"
)

// signatureCase is a release in an origin registry, with the outcomes of the real tofu
// and of mirror. If the outcomes differ, why explains the difference. docs/trust.md
// lists these differences.
type signatureCase struct {
	// signature creates the signature of SHA256SUMS. If signature is nil, the release
	// is unsigned.
	signature func(s *signing, sums []byte) []byte
	// keys lists the keys in the order in which the origin registry offers them.
	keys      []string
	otherHost bool
	env       string
	tofu, we  string
	why       string
}

// by returns a function that signs with the given keys and gpg options.
func by(keys string, options ...string) func(*signing, []byte) []byte {
	return func(s *signing, document []byte) []byte { return s.sign(document, options, strings.Fields(keys)...) }
}

func ofOther(key string) func(*signing, []byte) []byte {
	return func(s *signing, _ []byte) []byte { return s.sign([]byte("other sums"), nil, key) }
}

func literally(signature string) func(*signing, []byte) []byte {
	return func(*signing, []byte) []byte { return []byte(signature) }
}

const (
	expiration = "OPENTOFU_ENFORCE_GPG_EXPIRATION=true"
	validation = "OPENTOFU_ENFORCE_GPG_VALIDATION=true"
)

var signatureCases = map[string]signatureCase{
	"rsa":              {signature: by("rsa"), keys: []string{"rsa"}, tofu: accepts, we: accepts},
	"ed25519":          {signature: by("ed"), keys: []string{"ed"}, tofu: accepts, we: accepts},
	"subkey":           {signature: by("sub"), keys: []string{"sub"}, tofu: accepts, we: accepts},
	"text":             {signature: by("rsa", "--textmode"), keys: []string{"rsa"}, tofu: accepts, we: accepts},
	"sha1":             {signature: by("rsa", "--digest-algo", "SHA1"), keys: []string{"rsa"}, tofu: accepts, we: accepts},
	"other-host":       {signature: by("rsa"), keys: []string{"rsa"}, otherHost: true, tofu: accepts, we: accepts},
	"second-key":       {signature: by("rsa"), keys: []string{"ed", "rsa"}, tofu: accepts, we: accepts},
	"one-block":        {signature: by("rsa"), keys: []string{"ed rsa"}, tofu: accepts, we: accepts},
	"two-first":        {signature: by("rsa ed"), keys: []string{"rsa"}, tofu: accepts, we: accepts},
	"two-second":       {signature: by("rsa ed"), keys: []string{"ed"}, tofu: accepts, we: accepts},
	"expired":          {signature: by("expired"), keys: []string{"expired"}, tofu: accepts, we: accepts},
	"expired-enforced": {signature: by("expired"), keys: []string{"expired"}, env: expiration, tofu: refuses, we: refuses},
	"expired-shout":    {signature: by("expired"), keys: []string{"expired"}, env: strings.ToUpper(expiration), tofu: accepts, we: accepts},
	"expired-old-copy": {signature: by("prolonged"), keys: []string{"prolonged, before", "prolonged"}, env: expiration, tofu: accepts, we: accepts},
	"short":            {signature: by("short"), keys: []string{"rsa"}, tofu: accepts, we: accepts},
	"short-enforced":   {signature: by("short"), keys: []string{"rsa"}, env: expiration, tofu: refuses, we: refuses},
	"revoked":          {signature: by("revoked"), keys: []string{"revoked, after"}, tofu: refuses, we: refuses},
	"other-key":        {signature: by("rsa"), keys: []string{"ed"}, tofu: refuses, we: refuses},
	"other-sums":       {signature: ofOther("rsa"), keys: []string{"rsa"}, tofu: refuses, we: refuses},
	"garbage":          {signature: literally("a signature"), keys: []string{"rsa"}, tofu: refuses, we: refuses},
	"empty":            {signature: literally(""), keys: []string{"rsa"}, tofu: refuses, we: refuses},
	"garbage-key":      {signature: by("rsa"), keys: []string{"garbage"}, tofu: refuses, we: refuses},
	"keyless":          {signature: by("rsa"), tofu: accepts, we: accepts},
	"keyless-enforced": {signature: by("rsa"), env: validation, tofu: refuses, we: refuses},

	"keyless-other-host": {signature: by("rsa"), otherHost: true, tofu: refuses, we: accepts, why: "no keys are offered, on another host: a warning here, --signatures require refuses"},
	"keyless-other-sums": {signature: ofOther("rsa"), tofu: accepts, we: refuses, why: "the hash that the signature shows is of other bytes, which needs no key to be seen"},
	"keyless-garbage":    {signature: literally("a signature"), tofu: accepts, we: refuses, why: "it is not a signature, which is detected without a key"},
	"unsigned":           {keys: []string{"rsa"}, tofu: refuses, we: accepts, why: "no signature is offered: a warning here, --signatures require refuses"},
	"armored":            {signature: by("rsa", "--armor"), keys: []string{"rsa"}, tofu: refuses, we: accepts, why: "the armor of a signature changes nothing about it"},
	"garbage-key-first":  {signature: by("rsa"), keys: []string{"garbage", "rsa"}, tofu: refuses, we: accepts, why: "an unreadable key does not affect the others"},
	"revoked-copy":       {signature: by("revoked"), keys: []string{"revoked", "revoked, after"}, tofu: accepts, we: refuses, why: "who has revoked a key has done so in all its copies"},
	"second-is-bad": {signature: func(s *signing, document []byte) []byte {
		return slices.Concat(s.sign(document, nil, "rsa"), s.sign([]byte("other sums"), nil, "ed"))
	}, keys: []string{"rsa ed"}, tofu: accepts, we: refuses, why: "a bad signature makes the release bad despite a good one"},
}

// TestSignaturesMatchOpenTofu runs the real tofu init and tofu-oci mirror with the same
// releases from the same origin registry.
func TestSignaturesMatchOpenTofu(t *testing.T) {
	t.Parallel()
	s := newSigning(t)
	var releases []origintest.Release
	for name, c := range signatureCases {
		releases = append(releases, s.release(name, c))
	}
	_, config := serveOrigin(t, origintest.Options{}, releases...)
	for _, name := range slices.Sorted(maps.Keys(signatureCases)) {
		c := signatureCases[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := string(provider.DefaultHost) + "/acme/" + name
			if c.otherHost {
				address = otherHost + "/acme/" + name
			}
			tofu, output := tofuInit(t, config, address, c.env)
			ours, ourWords := mirrors(t, config, address, c.env)
			if tofu != c.tofu || ours != c.we || (tofu != ours) != (c.why != "") {
				t.Errorf("tofu %s, mirror %s; want %s and %s\n%s\n%s", tofu, ours, c.tofu, c.we, output, ourWords)
			}
		})
	}
}

// otherHost is a second host, which the same origin registry serves.
const otherHost = "registry.example.org"

// bothHosts adds otherHost to a CLI configuration that serveOrigin returned.
func bothHosts(t *testing.T, config string) string {
	t.Helper()
	text := readFile(t, config)
	both := text + strings.Replace(text, string(provider.DefaultHost), otherHost, 1)
	path := filepath.Join(t.TempDir(), "both.tofurc")
	write(t, path, both)
	return path
}

// tofuInit runs the real tofu and returns the outcome and the message.
func tofuInit(t *testing.T, config, address, env string) (does, says string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.tf"), fmt.Sprintf("terraform {\n  required_providers {\n    x = { source = %q }\n  }\n}\n", address))
	cmd := command(t, programs.tofu, "init", "-input=false", "-no-color")
	cmd.Dir, cmd.Env = dir, append(cmd.Env, "TF_CLI_CONFIG_FILE="+bothHosts(t, config), env)
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return accepts, string(out)
	case strings.Contains(string(out), "sign"): // the signature must be the reason for the failure
		return refuses, string(out)
	}
	t.Fatalf("tofu init: %v\n%s", err, out)
	return "", ""
}

// mirrors runs tofu-oci mirror and returns the outcome and the message.
func mirrors(t *testing.T, config, address, env string, flags ...string) (does, says string) {
	t.Helper()
	layout := filepath.ToSlash(filepath.Join(t.TempDir(), "layout"))
	args := append([]string{"mirror", address, "--to", "oci-layout:" + layout, "--config", bothHosts(t, config), "--ca-file", world.caFile}, flags...)
	cmd := command(t, programs.tofuOCI, args...)
	cmd.Env = append(cmd.Env, env)
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return accepts, string(out)
	case cmd.ProcessState.ExitCode() == 4 && strings.Contains(string(out), " is refused: "):
		return refuses, string(out)
	}
	t.Fatalf("tofu-oci mirror: %v\n%s", err, out)
	return "", ""
}

// signing creates keys, signatures, and releases with the real gpg.
type signing struct {
	t            *testing.T
	gpg          *gpgtest.GPG
	fingerprints map[string]string
	public       map[string]string
}

func newSigning(t *testing.T) *signing {
	t.Helper()
	gpg, err := gpgtest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gpg.Close() })
	s := &signing{t, gpg, map[string]string{}, map[string]string{"garbage": "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n"}}
	for name, at := range map[string]gpgtest.At{
		"rsa": {Algorithm: "rsa2048"}, "ed": {Algorithm: "ed25519"}, "sub": {Algorithm: "ed25519", Usage: "cert"},
		"expired": {Algorithm: "ed25519", Time: signedThen, Lifetime: "1y"}, "prolonged": {Algorithm: "ed25519", Time: signedThen, Lifetime: "1y"},
		"revoked": {Algorithm: "ed25519"},
	} {
		s.fingerprints[name] = s.must(gpg.Key(t.Context(), name+" <"+name+"@example.com>", at))
	}
	s.try(gpg.AddSubkey(t.Context(), s.fingerprints["sub"], gpgtest.At{Algorithm: "ed25519"}))
	s.public["prolonged, before"] = s.export("prolonged")
	s.try(gpg.SetExpiry(t.Context(), s.fingerprints["prolonged"], "never"))
	for name := range s.fingerprints {
		s.public[name] = s.export(name)
	}
	other, err := gpgtest.New()
	s.try(err)
	t.Cleanup(func() { _ = other.Close() })
	after, err := gpg.Revoked(t.Context(), other, s.fingerprints["revoked"])
	s.try(err)
	s.public["revoked, after"] = string(after)
	return s
}

// signedThen is the date on which expired keys were created.
var signedThen = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *signing) try(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *signing) must(text string, err error) string {
	s.t.Helper()
	s.try(err)
	return text
}

func (s *signing) export(name string) string {
	s.t.Helper()
	key, err := s.gpg.Export(s.t.Context(), []string{"--armor"}, s.fingerprints[name])
	s.try(err)
	return string(key)
}

// sign creates a signature. The key named expired signs at a time when the key was
// valid. The key named short creates a signature that was valid for one day.
func (s *signing) sign(document []byte, options []string, keys ...string) []byte {
	s.t.Helper()
	var when time.Time
	var fingerprints []string
	for _, key := range keys {
		switch key {
		case "expired", "prolonged":
			when = signedThen.AddDate(0, 1, 0)
		case "short":
			key, when = "rsa", time.Now().AddDate(0, 0, -3)
			options = append(options, "--default-sig-expire", "1d", "--ignore-time-conflict")
		}
		fingerprints = append(fingerprints, s.fingerprints[key])
	}
	signature, err := s.gpg.Sign(s.t.Context(), document, when, options, fingerprints...)
	s.try(err)
	return signature
}

// release creates release acme/NAME 1.0.0 for the current platform.
func (s *signing) release(name string, c signatureCase) origintest.Release {
	s.t.Helper()
	r := s.signedRelease(name, "1.0.0", "", c.signature)
	for _, key := range c.keys {
		var block string
		if names := strings.Fields(key); len(names) == 2 && s.fingerprints[names[1]] != "" {
			both, err := s.gpg.Export(s.t.Context(), []string{"--armor"}, s.fingerprints[names[0]], s.fingerprints[names[1]])
			s.try(err)
			block = string(both)
		} else {
			block = s.public[key]
		}
		r.Keys = append(r.Keys, block)
	}
	return r
}

// signedRelease creates a release whose provider is a text file. salt changes the
// file's bytes.
func (s *signing) signedRelease(name, version, salt string, signature func(*signing, []byte) []byte) origintest.Release {
	s.t.Helper()
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	header := &zip.FileHeader{Name: "terraform-provider-" + name + "_v" + version, Method: zip.Store}
	header.SetMode(0o755)
	entry, err := archive.CreateHeader(header)
	s.try(err)
	_, err = fmt.Fprintf(entry, "#!/bin/sh\necho %s %s\n", version, salt)
	s.try(err)
	s.try(archive.Close())
	here := provider.CurrentPlatform()
	r := origintest.Release{
		Namespace: "acme", Type: name, Version: version, Protocols: []string{"6.0"},
		Archives: map[provider.Platform]origintest.Archive{here: {Bytes: content.Bytes()}},
	}
	file := fmt.Sprintf("terraform-provider-%s_%s_%s.zip", name, version, here)
	r.Sums = sums.New(map[string]digest.Digest{file: digest.FromBytes(content.Bytes())}).Bytes()
	if signature != nil {
		r.Signature = signature(s, r.Sums)
	}
	return r
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
