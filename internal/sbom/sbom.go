// Package sbom creates software bills of materials for provider packages from the build
// information that the go command stores in executables.
package sbom

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// maxVersion is the maximum length of a version in CycloneDX.
const maxVersion = 1024

// namespace is the prefix of all property names.
const namespace = "tofu-oci:"

// document is a CycloneDX 1.6 document. See https://cyclonedx.org/docs/1.6/json/.
type document struct {
	Format       string        `json:"bomFormat"`
	SpecVersion  string        `json:"specVersion"`
	SerialNumber string        `json:"serialNumber"`
	Version      int           `json:"version"`
	Metadata     metadata      `json:"metadata"`
	Components   []component   `json:"components"`
	Compositions []composition `json:"compositions,omitempty"`
}

type metadata struct {
	Lifecycles []map[string]string `json:"lifecycles"`
	Tools      tools               `json:"tools"`
	Component  component           `json:"component"`
}

type tools struct {
	Components []component `json:"components"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref,omitempty"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Pedigree   *pedigree  `json:"pedigree,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// pedigree contains the required module that another module replaces.
type pedigree struct {
	Ancestors []component `json:"ancestors"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type composition struct {
	Aggregate  string   `json:"aggregate"`
	Assemblies []string `json:"assemblies"`
}

// CycloneDX returns a CycloneDX document in JSON. Its subject is the zip of a package,
// and its components are the modules of the package's executable. Identical arguments
// result in identical bytes. executable is empty if the package has no executable.
//
// If info is nil, the document has no components and declares that the composition of
// the package is unknown.
func CycloneDX(p provider.Package, executable string, info *debug.BuildInfo) ([]byte, error) {
	subject := component{
		Type: "application", Ref: "terraform-provider-" + p.Address.Type, Name: "terraform-provider-" + p.Address.Type, Version: p.Version.String(),
		Hashes: []hash{{"SHA-256", p.Digest.Encoded()}},
		Properties: []property{
			{namespace + "executable", executable}, {namespace + "filename", p.Filename},
			{namespace + "platform", p.Platform.String()}, {namespace + "provider", p.Address.String()},
		},
	}
	d := document{
		Format: "CycloneDX", SpecVersion: "1.6", SerialNumber: serialNumber(p), Version: 1, Components: []component{},
		Metadata: metadata{
			Lifecycles: []map[string]string{{"phase": "post-build"}},
			Tools:      tools{Components: []component{{Type: "application", Name: "tofu-oci"}}},
		},
	}
	if info == nil {
		d.Compositions = []composition{{Aggregate: "unknown", Assemblies: []string{subject.Ref}}}
	} else {
		subject.Properties = append(subject.Properties, settings(info)...)
		d.Components = components(info)
	}
	d.Metadata.Component = subject
	return json.MarshalIndent(d, "", "  ")
}

// serialNumber returns a version 8 UUID that identifies the zip.
func serialNumber(p provider.Package) string {
	id, _ := hex.DecodeString(p.Digest.Encoded()) // a digest in a different format would result in zeros
	id = append(id, make([]byte, 16)...)[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// settings returns the Go version, the main package, and the settings of the build,
// such as the VCS revision.
func settings(info *debug.BuildInfo) []property {
	all := []property{{namespace + "go:version", info.GoVersion}}
	if info.Path != "" {
		all = append(all, property{namespace + "go:path", info.Path})
	}
	for _, s := range info.Settings {
		all = append(all, property{namespace + "go:build:" + s.Key, s.Value})
	}
	return all
}

// components returns the sorted modules and the standard library.
func components(info *debug.BuildInfo) []component {
	version, _, _ := strings.Cut(info.GoVersion, " ") // experiments follow the version
	std := module("stdlib", strings.TrimPrefix(version, "go"))
	std.Version = version
	all := []component{std}
	if info.Main.Path != "" {
		all = append(all, moduleOf(&info.Main))
	}
	for _, dep := range info.Deps {
		all = append(all, moduleOf(dep))
	}
	slices.SortStableFunc(all, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	return slices.CompactFunc(all, func(a, b component) bool { return a.Ref == b.Ref })
}

// moduleOf returns the component for a module. A module that is replaced by another
// module is an ancestor of its replacement. A module that is replaced by a directory
// keeps its name, but has no version.
func moduleOf(m *debug.Module) component {
	switch {
	case m.Replace == nil:
		return module(m.Path, m.Version)
	case m.Replace.Version == "":
		c := module(m.Path, "")
		c.Properties = []property{{namespace + "go:replaced-by", m.Replace.Path}, {namespace + "go:replaced-version", m.Version}}
		return c
	}
	c, replaced := module(m.Replace.Path, m.Replace.Version), module(m.Path, m.Version)
	replaced.Ref = ""
	c.Pedigree = &pedigree{Ancestors: []component{replaced}}
	return c
}

func module(path, version string) component {
	if version == "(devel)" || len(version) > maxVersion {
		version = ""
	}
	id := purl(path, version)
	return component{Type: "library", Ref: id, Name: path, Version: version, PURL: id}
}

// purl returns the package URL of a module. Like cyclonedx-gomod and Syft, it keeps the
// case of the path, because module paths are case-sensitive.
func purl(path, version string) string {
	elements := strings.Split(path, "/")
	for i, element := range elements {
		elements[i] = escape(element)
	}
	id := "pkg:golang/" + strings.Join(elements, "/")
	if version != "" {
		id += "@" + escape(version)
	}
	return id
}

// escape escapes a string like a URL path element, including "+".
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
