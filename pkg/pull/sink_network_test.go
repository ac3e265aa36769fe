package pull_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/pull"
	"github.com/tofu-oci/tofu-oci/pkg/sums"
)

// networkCase returns a case with a package in a network mirror.
func networkCase(t *testing.T, v, platform string) sinkCase {
	t.Helper()
	data := sinkZip(t, v+platform, "terraform-provider-x")
	c := sinkCase{layout: pull.LayoutNetwork, p: sinkPackage(t, data), zip: data}
	var err error
	if c.p.Version, err = provider.ParseVersion(v); err != nil {
		t.Fatal(err)
	}
	if c.p.Platform, err = provider.ParsePlatform(platform); err != nil {
		t.Fatal(err)
	}
	c.place = sinkParent + provider.Filename(c.p.Address, c.p.Version, c.p.Platform)
	return c
}

// TestNetworkSinkMerges adds packages to a mirror of another program. It uses separate
// sinks concurrently, like separate processes.
func TestNetworkSinkMerges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeIn(t, dir, "index.json", `{"versions":{"0.9.0":{}}}`)
	writeIn(t, dir, "0.9.0.json", `{"archives":{}}`)
	first := networkCase(t, "1.0.0", "plan9_riscv64")
	writeIn(t, dir, "1.0.0.json", `{"archives":{
		"vms_vax":{"url":"https://elsewhere.example/x.zip","hashes":["zz:1"]},
		"plan9_riscv64":{"url":"`+filepath.Base(first.place)+`","hashes":["zz:2","`+first.p.H1+`"]}}}`)
	cases := []sinkCase{first}
	for _, v := range []string{"1.0.0", "1.1.0-rc.1+x"} {
		for _, platform := range []string{"aix_ppc64", "hurd_ia64", "linux_amd64"} {
			cases = append(cases, networkCase(t, v, platform))
		}
	}
	var group sync.WaitGroup
	for _, c := range cases {
		s := sinkAt(t, c, dir)
		group.Go(func() {
			if _, _, err := s.Put(t.Context(), c.p, opening(bytes.NewReader(c.zip))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()

	type zips = map[string][]string
	want := map[string]zips{"1.0.0": {"vms_vax": {"zz:1"}}, "1.1.0-rc.1+x": {}}
	for _, c := range cases {
		want[c.p.Version.String()][c.p.Platform.String()] = []string{c.p.H1, sums.ZH(c.p.Digest)}
	}
	want["1.0.0"]["plan9_riscv64"] = append(want["1.0.0"]["plan9_riscv64"], "zz:2")
	for v, want := range want {
		if diff := cmp.Diff(want, networkHashes(t, dir, v)); diff != "" {
			t.Errorf("%s.json (-want +got):\n%s", v, diff)
		}
	}
	var index struct{ Versions map[string]any }
	decodeIn(t, dir, "index.json", &index)
	if len(index.Versions) != 3 || index.Versions["0.9.0"] == nil {
		t.Errorf("index.json has %v", index.Versions)
	}
	// If all packages exist, nothing is written.
	before := networkTimes(t, dir)
	for _, c := range cases {
		checkPut(t, sinkAt(t, c, dir), c, dir, true)
	}
	if diff := cmp.Diff(before, networkTimes(t, dir)); diff != "" {
		t.Errorf("written again (-before +after):\n%s", diff)
	}
}

// TestNetworkSinkListsExistingZips checks that an existing zip is listed if an earlier
// run was killed before it updated both documents.
func TestNetworkSinkListsExistingZips(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string][]string{"both": {"index.json", "1.2.0.json"}, "index": {"index.json"}, "version": {"1.2.0.json"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, dir := sinkCases(t)["network"], t.TempDir()
			checkPut(t, sinkAt(t, c, dir), c, dir, false)
			for _, name := range lost {
				if err := os.Remove(filepath.Join(dir, sinkParent, name)); err != nil {
					t.Fatal(err)
				}
			}
			s := sinkAt(t, c, dir)
			if _, ok, err := s.Has(t.Context(), c.p); ok || err != nil {
				t.Errorf("Has returned %v, %v", ok, err)
			}
			_, kept, err := s.Put(t.Context(), c.p, func(context.Context) (io.ReadCloser, error) {
				t.Error("the zip was opened")
				return nil, fs.ErrInvalid
			})
			if !kept || err != nil {
				t.Errorf("Put returned kept %v, %v", kept, err)
			}
			checkSinkFiles(t, dir, c.files)
		})
	}
}

// TestNetworkSinkRefusesLists checks that invalid or contradictory documents are kept,
// and that nothing is fetched.
func TestNetworkSinkRefusesLists(t *testing.T) {
	t.Parallel()
	other := "zh:" + strings.Repeat("0", 64)
	url := `"url":"` + sinkZipName + `"`
	tests := map[string]struct{ name, content, problem string }{
		"no JSON":                      {"index.json", "<html>", "is corrupt or not a network mirror document: "},
		"cut off":                      {"index.json", `{"versions":{"1.0.0":`, "is corrupt or not a network mirror document: unexpected end of JSON"},
		"text after the object":        {"index.json", `{"versions":{}} {}`, "unexpected text after the JSON object"},
		"of another shape":             {"index.json", `["1.0.0"]`, "has the wrong type: array"},
		"unknown fields":               {"index.json", `{"versions":{},"signed":true}`, `unknown field "signed"`},
		"unknown fields of a version":  {"index.json", `{"versions":{"1.0.0":{"protocols":["5.0"]}}}`, `unknown field "protocols"`},
		"unknown fields of an archive": {"1.2.0.json", `{"archives":{"plan9_riscv64":{"size":1,` + url + `}}}`, `unknown field "size"`},
		"too large":                    {"1.2.0.json", `{"archives":{}}` + strings.Repeat(" ", 4<<20), "exceeds 4194304 bytes"},
		"too many values":              {"index.json", `{"versions":{` + strings.Repeat(`"1.0.0":{},`, 64<<10) + `"1.0.0":{}}}`, "65536 values"},
		"zip elsewhere":                {"1.2.0.json", `{"archives":{"plan9_riscv64":{"url":"https://cdn.example/x.zip"}}}`, `has the URL "https://cdn.example/x.zip" for plan9_riscv64, want`},
		"another zh":                   {"1.2.0.json", `{"archives":{"plan9_riscv64":{` + url + `,"hashes":["` + other + `"]}}}`, "has a different hash for plan9_riscv64: " + other},
		"no hash":                      {"1.2.0.json", `{"archives":{"plan9_riscv64":{` + url + `,"hashes":["x"]}}}`, `has an invalid hash "x" for plan9_riscv64`},
		"another h1":                   {"1.2.0.json", `{"archives":{"plan9_riscv64":{` + url + `,"hashes":["h1:x"]}}}`, "has a different hash for plan9_riscv64: h1:x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, dir := sinkCases(t)["network"], t.TempDir()
			writeIn(t, dir, test.name, test.content)
			path := filepath.Join(dir, sinkParent, test.name)
			_, _, err := sinkAt(t, c, dir).Put(t.Context(), c.p, opening(bytes.NewReader(c.zip)))
			if !errors.Is(err, pull.ErrExists) || !strings.Contains(err.Error(), path+" ") || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("error %v, want ErrExists about %s: %s", err, path, test.problem)
			}
			got := sinkFiles(t, dir)
			if got[sinkParent+test.name] != test.content {
				t.Errorf("%s was changed to %s", test.name, got[sinkParent+test.name])
			}
			if len(got) != 1 {
				t.Errorf("unexpected files: %v", slices.Sorted(maps.Keys(got)))
			}
		})
	}
}

// TestNetworkSinkVerifiesH1 checks that the listed h1: hash is computed from the zip.
// If the package has a different hash, the package is rejected before the file is
// renamed.
func TestNetworkSinkVerifiesH1(t *testing.T) {
	t.Parallel()
	c, dir := sinkCases(t)["network"], t.TempDir()
	c.p.H1 = "h1:" + strings.Repeat("A", 43) + "="
	_, _, err := sinkAt(t, c, dir).Put(t.Context(), c.p, opening(bytes.NewReader(c.zip)))
	if _, ok := errors.AsType[*sums.MismatchError](err); !ok {
		t.Errorf("got %v", err)
	}
	checkSinkFiles(t, dir, map[string]string{})

	broken := []byte("no zip")
	c.p = sinkPackage(t, c.zip)
	_, _, err = sinkAt(t, c, dir).Put(t.Context(), c.p, opening(bytes.NewReader(broken)))
	if err == nil || !strings.Contains(err.Error(), "reading "+sinkZipName) {
		t.Errorf("got %v", err)
	}
	checkSinkFiles(t, dir, map[string]string{})
}

// TestNetworkSinkHosts checks that hosts are written in Punycode, and that hosts with
// ports are rejected.
func TestNetworkSinkHosts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for address, want := range map[string]string{
		"Bücher.example/acme/x":       "xn--bcher-kva.example/acme/x",
		"registry.example:443/acme/x": "registry.example/acme/x",
		"registry.example:8443/a/x":   "",
	} {
		c := sinkCases(t)["network"]
		var err error
		if c.p.Address, err = provider.ParseAddress(address); err != nil {
			t.Fatal(err)
		}
		path, _, err := sinkAt(t, c, dir).Put(t.Context(), c.p, opening(bytes.NewReader(c.zip)))
		if errors.Is(err, pull.ErrPort) != (want == "") {
			t.Errorf("%s: %v", address, err)
		}
		if want != "" && path != filepath.Join(dir, filepath.FromSlash(want), sinkZipName) {
			t.Errorf("%s is at %s", address, path)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 { // two hosts and the lock file
		t.Errorf("%v, %v", entries, err)
	}
}

func writeIn(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(sinkParent), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func decodeIn(t *testing.T, dir, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(sinkParent), name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// networkHashes returns the listed hashes of a version.
func networkHashes(t *testing.T, dir, version string) map[string][]string {
	t.Helper()
	var list struct {
		Archives map[string]struct{ Hashes []string }
	}
	decodeIn(t, dir, version+".json", &list)
	hashes := map[string][]string{}
	for platform, archive := range list.Archives {
		hashes[platform] = archive.Hashes
	}
	return hashes
}

// networkTimes returns the modification times of the provider's files.
func networkTimes(t *testing.T, dir string) map[string]time.Time {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(sinkParent)))
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]time.Time{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		times[entry.Name()] = info.ModTime()
	}
	return times
}
