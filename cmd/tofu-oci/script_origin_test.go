package main_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tofu-oci/tofu-oci/internal/testing/origintest"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// origin [no-packages] [token=T] replaces the origin registry with an empty one.
func cmdOrigin(ts *testscript.TestScript, _ bool, args []string) {
	var o origintest.Options
	for _, arg := range args {
		switch name, value, _ := strings.Cut(arg, "="); name {
		case "no-packages":
			o.NoPackages = true
		case "token":
			o.Token = value
		default:
			ts.Fatalf("unknown option %s", arg)
		}
	}
	worldOf(ts).origin.Store(origintest.New(o))
}

// release NAMESPACE/TYPE VERSION PLATFORM... [OPTION...] adds a release with a small zip per
// platform to the origin registry. Options:
//
//	salt=TEXT      different contents of the zips
//	mode=OCTAL     mode of the executables, or none
//	directories    an entry for a directory in the zips
//	sums=none      no SHA256SUMS
//	sums=other     SHA256SUMS of version 0.0.1
//	sums=wrong     SHA256SUMS with wrong checksums
//	h1=wrong       wrong h1 hashes in the packages block
//	packages=odd   an invalid platform in the packages block
//	filename=NAME  the file name in the package documents
//	list=null      no platforms in the list of versions
//	list=partial   only the first platform in the list of versions
//	published=AGE  the age of SHA256SUMS, such as 72h, or its date in RFC 3339 format
//	signed         a signature by the throwaway key, and that key
//	signed=NAME    a signature by a key of the command keys, and that key
//	offers=NAME    a different key instead of that key, or none
func cmdRelease(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: release NAMESPACE/TYPE VERSION PLATFORM... [OPTION...]")
	}
	namespace, typ, _ := strings.Cut(args[0], "/")
	r := origintest.Release{
		Namespace: namespace, Type: typ, Version: args[1], Protocols: []string{"5.0"},
		Archives: map[provider.Platform]origintest.Archive{},
	}
	options := map[string]string{}
	var platforms []provider.Platform
	for _, arg := range args[2:] {
		if p, err := provider.ParsePlatform(arg); err == nil {
			platforms = append(platforms, p)
			continue
		}
		name, value, _ := strings.Cut(arg, "=")
		options[name] = value
	}
	for _, p := range platforms {
		r.Archives[p] = origintest.Archive{Bytes: zipFor(ts, args[0], args[1], p, options)}
	}
	for name, value := range options {
		applyReleaseOption(ts, &r, name, value)
	}
	if by, wanted := options["signed"]; wanted {
		signRelease(ts, &r, by, options["offers"])
	}
	ts.Check(worldOf(ts).origin.Load().Add(context.Background(), r))
}

// module NAMESPACE/NAME/SYSTEM VERSION [OPTION...] adds a version of a module to the
// origin registry. Options:
//
//	text=TEXT      the contents of main.tf, the only file of the archive, with \n for a line break
//	published=DATE the date when the registry discovered the version
//	location=URL   a location instead of an archive
func cmdModule(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: module NAMESPACE/NAME/SYSTEM VERSION [OPTION...]")
	}
	options := map[string]string{}
	for _, arg := range args[2:] {
		name, value, _ := strings.Cut(arg, "=")
		options[name] = value
	}
	m := origintest.Module{Name: args[0], Version: args[1], Discovered: options["published"], Location: options["location"]}
	if m.Location == "" {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		f, err := w.Create("main.tf")
		ts.Check(err)
		_, err = f.Write([]byte(strings.ReplaceAll(options["text"], `\n`, "\n")))
		ts.Check(err)
		ts.Check(w.Close())
		m.Archive = b.Bytes()
	}
	worldOf(ts).origin.Load().AddModule(m)
}

func applyReleaseOption(ts *testscript.TestScript, r *origintest.Release, option, value string) {
	switch option {
	case "salt", "mode", "directories": // they change the zips
	case "sums":
		r.NoSums = value == "none"
		listed := map[string]digest.Digest{}
		for p := range r.Archives {
			version := r.Version
			if value == "other" {
				version = "0.0.1"
			}
			listed[fmt.Sprintf("terraform-provider-%s_%s_%s.zip", r.Type, version, p)] = digest.FromString(p.String())
		}
		r.Sums = sums.New(listed).Bytes()
	case "h1":
		r.Edit = func(_ provider.Platform, document map[string]any) {
			for _, item := range document["packages"].(map[string]any) {
				item := item.(map[string]any)
				item["hashes"] = []string{item["hashes"].([]string)[0], "h1:" + strings.Repeat("A", 43) + "="}
			}
		}
	case "packages":
		r.Edit = func(_ provider.Platform, document map[string]any) {
			document["packages"].(map[string]any)["Linux"] = map[string]any{}
		}
	case "filename":
		r.Edit = func(_ provider.Platform, document map[string]any) { document["filename"] = value }
	case "list":
		r.List = func(entry map[string]any) {
			all := entry["platforms"].([]map[string]string)
			if entry["platforms"] = nil; value == "partial" {
				entry["platforms"] = all[:1]
			}
		}
	case "published":
		age, err := time.ParseDuration(value)
		if r.Modified = time.Now().Add(-age); err != nil {
			r.Modified, err = time.Parse(time.RFC3339, value)
			ts.Check(err)
		}
	case "signed", "offers": // applied after all other settings are known
	default:
		ts.Fatalf("unknown option %s", option)
	}
}

// makeSums adds the release's SHA256SUMS for later signing.
func makeSums(r *origintest.Release) {
	if r.Sums != nil {
		return
	}
	listed := map[string]digest.Digest{}
	for p, archive := range r.Archives {
		listed[fmt.Sprintf("terraform-provider-%s_%s_%s.zip", r.Type, r.Version, p)] = digest.FromBytes(archive.Bytes)
	}
	r.Sums = sums.New(listed).Bytes()
}

// signThrowaway adds the throwaway key and its signature.
func signThrowaway(r *origintest.Release) error {
	makeSums(r)
	signature, key, err := throwaway(r.Sums)
	r.Signature, r.Keys = signature, []string{key}
	return err
}

// signRelease adds a signature of SHA256SUMS, and the key that the origin registry
// offers for the signature.
func signRelease(ts *testscript.TestScript, r *origintest.Release, by, offers string) {
	if by == "" {
		ts.Check(signThrowaway(r))
		return
	}
	makeSums(r)
	var err error
	r.Signature, err = signedBy(context.Background(), by, r.Sums)
	ts.Check(err)
	if offers == "none" {
		return
	}
	key, err := publicKey(context.Background(), cmp.Or(offers, by))
	ts.Check(err)
	r.Keys = []string{string(key)}
}

// zipFor returns a provider zip. The zip is not compressed, so its bytes are
// deterministic, and scripts can contain digests.
func zipFor(ts *testscript.TestScript, address, version string, p provider.Platform, options map[string]string) []byte {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	_, typ, _ := strings.Cut(address, "/")
	for name, text := range map[string]string{
		"terraform-provider-" + typ + "_v" + version: fmt.Sprintf("%s %s for %s %s\n", address, version, p, options["salt"]),
	} {
		header := &zip.FileHeader{Name: name, Method: zip.Store, Modified: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		if mode := cmp.Or(options["mode"], "755"); mode != "none" {
			bits, err := strconv.ParseUint(mode, 8, 9)
			ts.Check(err)
			header.SetMode(fs.FileMode(bits))
		}
		if _, wanted := options["directories"]; wanted {
			_, err := archive.Create("docs/")
			ts.Check(err)
		}
		entry, err := archive.CreateHeader(header)
		ts.Check(err)
		_, err = entry.Write([]byte(text))
		ts.Check(err)
	}
	ts.Check(archive.Close())
	return out.Bytes()
}
