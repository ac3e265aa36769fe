package sync

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxFile is the maximum size of a declaration, in bytes. A provider block takes about
	// 100 bytes, and the largest registry has 5,000 providers.
	maxFile = 4 << 20
	// maxTargets is the maximum number of targets.
	maxTargets = 100
	// formatVersion is the supported version of the format.
	formatVersion = 1
	// Defaults of prune blocks.
	defaultKeepPrevious = 1
	defaultKeepFor      = 90 * 24 * time.Hour
)

// file is the content of a declaration.
type file struct {
	// Schema is for editors of JSON.
	Schema    *hcl.Attribute `hcl:"$schema,optional"`
	Version   *hcl.Attribute `hcl:"version,optional"`
	Trust     *hcl.Attribute `hcl:"trust,optional"`
	Sources   *hcl.Attribute `hcl:"sources,optional"`
	LockFiles *hcl.Attribute `hcl:"lock_files,optional"`
	Targets   []labeled      `hcl:"target,block"`
	Defaults  *plain         `hcl:"defaults,block"`
	Providers []labeled      `hcl:"provider,block"`
	Denials   []labeled      `hcl:"deny,block"`
	Prune     *plain         `hcl:"prune,block"`
	Notify    *plain         `hcl:"notify,block"`
}

// labels is the number of labels of each type of block.
var labels = map[string]int{"target": 1, "defaults": 0, "provider": 1, "deny": 1, "prune": 0, "notify": 0}

// labeled is a block with a label, and plain a block without.
type labeled struct {
	Label     string         `hcl:"label,label"`
	Range     hcl.Range      `hcl:"label,label_range"`
	Arguments hcl.Attributes `hcl:",remain"`
}

type plain struct {
	Range     hcl.Range      `hcl:",type_range"`
	Arguments hcl.Attributes `hcl:",remain"`
}

// Read reads a declaration: in HCL 2's JSON syntax if the name ends in ".json", and
// otherwise in the native syntax. env returns environment variables, like [os.LookupEnv].
// Errors about the content have a position and the kind [provider.Malformed]. Read also
// returns errors of the file system.
func Read(path string, env func(string) (string, bool)) (*Declaration, error) {
	data, err := bounded.ReadFile(path, maxFile)
	if err != nil {
		return nil, err
	}
	return parse(path, data, env)
}

func parse(path string, data []byte, env func(string) (string, bool)) (*Declaration, error) {
	parseBody := stricthcl.Parse
	if strings.HasSuffix(path, ".json") {
		parseBody = func(path string, data []byte) (hcl.Body, error) { return stricthcl.ParseJSON(path, data, labels) }
	}
	body, err := parseBody(path, data)
	if err != nil {
		return nil, err
	}
	var f file
	if err := stricthcl.DecodeBody(path, body, &f); err != nil {
		return nil, err
	}
	d := &Declaration{Path: path, Digest: digest.FromBytes(data), named: map[provider.Address]*block{}}
	for _, read := range []func() error{
		func() error { return d.readHeader(f) },
		func() error { return d.readTargets(f.Targets, env) },
		func() error { return d.readSettings(f) },
		func() error { return d.readDenials(f.Denials) },
		func() error { return d.readPrune(f.Prune) },
		func() error { return d.readNotify(f.Notify) },
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// readHeader reads the arguments outside of blocks.
func (d *Declaration) readHeader(f file) error {
	start := hcl.Range{Filename: d.Path, Start: hcl.InitialPos}
	if f.Version == nil {
		return stricthcl.Wrong(start, "missing argument version: write version = %d", formatVersion)
	}
	arguments := hcl.Attributes{}
	for _, a := range []*hcl.Attribute{f.Schema, f.Version, f.Trust, f.Sources, f.LockFiles} {
		if a != nil {
			arguments[a.Name] = a
		}
	}
	err := parseArguments("", arguments, map[string]func(*hcl.Attribute) error{
		"$schema": func(a *hcl.Attribute) error { _, err := stricthcl.String(a.Name, a.Expr); return err },
		"version": func(a *hcl.Attribute) error {
			if n, err := number(a, 0); err != nil || n != formatVersion {
				return stricthcl.Wrong(a.Expr.Range(), "unsupported version: this version of tofu-oci supports only version = %d", formatVersion)
			}
			return nil
		},
		"trust":      func(a *hcl.Attribute) (err error) { d.Trust, err = d.path(a.Name, a.Expr); return err },
		"sources":    func(a *hcl.Attribute) (err error) { d.Sources, err = d.paths(a); return err },
		"lock_files": func(a *hcl.Attribute) (err error) { d.LockFiles, err = d.paths(a); return err },
	})
	switch n := len(f.Targets); {
	case err != nil:
		return err
	case n == 0:
		return stricthcl.Wrong(start, "missing target block: want at least one")
	case n > maxTargets:
		return stricthcl.Wrong(f.Targets[maxTargets].Range, "more than %d targets", maxTargets)
	}
	return nil
}

// path reads a path that is relative to the declaration.
func (d *Declaration) path(name string, expr hcl.Expression) (string, error) {
	path, err := stricthcl.String(name, expr)
	switch {
	case err != nil:
		return "", err
	case path == "" || path == "-" || strings.ContainsRune(path, 0):
		return "", stricthcl.Wrong(expr.Range(), "invalid path %q", path)
	case filepath.IsAbs(path):
		return path, nil
	}
	return filepath.Join(literal(filepath.Dir(d.Path), path), path), nil
}

// literal escapes a directory before a pattern. It uses classes, because Windows has no other
// escapes.
func literal(dir, pattern string) string {
	if !strings.ContainsAny(pattern, "*?[{") {
		return dir
	}
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", "{", "[{]").Replace(dir)
}

func (d *Declaration) paths(a *hcl.Attribute) (paths []string, err error) {
	list, diags := hcl.ExprList(a.Expr)
	if diags.HasErrors() || len(list) == 0 {
		return nil, stricthcl.Wrong(a.Expr.Range(), "%s must be a list of strings, and not empty", a.Name)
	}
	for _, expr := range list {
		path, err := d.path("each value in "+a.Name, expr)
		if err == nil && slices.Contains(paths, path) {
			err = stricthcl.Wrong(expr.Range(), "duplicate path %s", path)
		}
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (d *Declaration) readDenials(blocks []labeled) error {
	seen := map[string]string{}
	for _, b := range blocks {
		denial := Denial{Position: position(b.Range)}
		var err error
		if denial.Pattern, err = readPattern(b); err != nil {
			return err
		}
		var versions []provider.Constraint
		err = parseArguments("deny", b.Arguments, map[string]func(*hcl.Attribute) error{
			"versions": func(a *hcl.Attribute) (err error) { versions, err = constraints(a); return err },
			"reason":   func(a *hcl.Attribute) (err error) { denial.Reason, err = line(a); return err },
			"by":       func(a *hcl.Attribute) (err error) { denial.By, err = line(a); return err },
		})
		if err == nil {
			err = require("deny", b.Range, b.Arguments, "versions", "reason")
		}
		if err != nil {
			return err
		}
		for _, denial.Versions = range versions {
			key := denial.Pattern.String() + " " + denial.Versions.String()
			if other, duplicate := seen[key]; duplicate {
				return stricthcl.Wrong(b.Range, "%s is already denied at %s", key, other)
			}
			seen[key] = denial.Position
			d.Denials = append(d.Denials, denial)
		}
	}
	return nil
}

func (d *Declaration) readPrune(b *plain) error {
	if b == nil {
		return nil
	}
	d.Prune = &Prune{KeepPrevious: defaultKeepPrevious, KeepFor: defaultKeepFor, MaxDelete: defaultMaxDelete}
	return parseArguments("prune", b.Arguments, map[string]func(*hcl.Attribute) error{
		"mode": func(a *hcl.Attribute) error {
			mode, err := oneOf(a, "report", "delete")
			d.Prune.Delete = mode == "delete"
			return err
		},
		"keep_previous": func(a *hcl.Attribute) (err error) { d.Prune.KeepPrevious, err = number(a, 0); return err },
		"keep_for":      func(a *hcl.Attribute) (err error) { d.Prune.KeepFor, err = age(a); return err },
		"max_delete":    func(a *hcl.Attribute) (err error) { d.Prune.MaxDelete, err = number(a, 1); return err },
	})
}

// variable is the form of the names of environment variables.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (d *Declaration) readNotify(b *plain) error {
	if b == nil {
		return nil
	}
	d.Notify = &Notify{Format: "slack"}
	err := parseArguments("notify", b.Arguments, map[string]func(*hcl.Attribute) error{
		"url_env": func(a *hcl.Attribute) (err error) {
			d.Notify.URLEnv, err = stricthcl.String(a.Name, a.Expr)
			if err == nil && !variable.MatchString(d.Notify.URLEnv) {
				// The value isn't printed, because it can be the URL, which is a secret.
				err = stricthcl.Wrong(a.Expr.Range(), "url_env must be the name of an environment variable that contains the URL")
			}
			return err
		},
		"format": func(a *hcl.Attribute) (err error) { d.Notify.Format, err = oneOf(a, "slack", "json"); return err },
	})
	if err == nil {
		err = require("notify", b.Range, b.Arguments, "url_env")
	}
	return err
}
