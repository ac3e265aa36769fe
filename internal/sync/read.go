package sync

import (
	"os"
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
	// maxFile is the maximum size of a declaration, in bytes. A provider block is about 100
	// bytes long, and the largest registry has 5,000 providers.
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
	// Schema is used by JSON editors.
	Schema        *hcl.Attribute `hcl:"$schema,optional"`
	Version       *hcl.Attribute `hcl:"version,optional"`
	Trust         *hcl.Attribute `hcl:"trust,optional"`
	Sources       *hcl.Attribute `hcl:"sources,optional"`
	LockFiles     *hcl.Attribute `hcl:"lock_files,optional"`
	Terraform     *hcl.Attribute `hcl:"terraform,optional"`
	Roots         *hcl.Attribute `hcl:"roots,optional"`
	Targets       []labeled      `hcl:"target,block"`
	Defaults      *plain         `hcl:"defaults,block"`
	Providers     []labeled      `hcl:"provider,block"`
	Modules       []labeled      `hcl:"module,block"`
	Denials       []labeled      `hcl:"deny,block"`
	ModuleDenials []labeled      `hcl:"deny_module,block"`
	Gates         []labeled      `hcl:"gate,block"`
	Prune         *plain         `hcl:"prune,block"`
	Notify        *plain         `hcl:"notify,block"`
}

// labels maps each block type to its number of labels.
var labels = map[string]int{"target": 1, "defaults": 0, "provider": 1, "module": 1, "deny": 1, "deny_module": 1, "gate": 1, "prune": 0, "notify": 0}

// labeled is a block with a label, and plain is a block without a label.
type labeled struct {
	Label     string         `hcl:"label,label"`
	Range     hcl.Range      `hcl:"label,label_range"`
	Arguments hcl.Attributes `hcl:",remain"`
}

type plain struct {
	Range     hcl.Range      `hcl:",type_range"`
	Arguments hcl.Attributes `hcl:",remain"`
}

// Read reads a declaration. If the file name ends in ".json", the declaration must use
// HCL 2's JSON syntax. Otherwise, it must use the native syntax. env looks up
// environment variables, like [os.LookupEnv]. Errors about the content have the kind
// [provider.Malformed]. They report all problems with their positions, although syntax
// errors hide other problems. Read also returns file system errors.
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
	body, syntax := parseBody(path, data)
	if body == nil {
		return nil, syntax
	}
	var f file
	syntax = stricthcl.Join(syntax, stricthcl.DecodeBody(path, body, &f))
	d := &Declaration{Path: path, Digest: digest.FromBytes(data), named: map[provider.Address]*block{}}
	var wrongTargets error
	if syntax == nil || len(f.Targets) > 0 { // a target block without a label was dropped
		wrongTargets = d.readTargets(f.Targets, env)
	}
	if err := stricthcl.Join(
		syntax, wrongTargets, d.readHeader(f), d.readSettings(f),
		d.readDenials("deny", f.Denials), d.readDenials("deny_module", f.ModuleDenials), d.readGates(f.Gates), d.readPrune(f.Prune), d.readNotify(f.Notify),
	); err != nil {
		return nil, err
	}
	return d, nil
}

// start returns the position that is used in errors about the entire file.
func (d *Declaration) start() hcl.Range { return hcl.Range{Filename: d.Path, Start: hcl.InitialPos} }

// readHeader reads the arguments outside blocks.
func (d *Declaration) readHeader(f file) error {
	start := d.start()
	var missing error
	if f.Version == nil {
		missing = stricthcl.Errorf(start, "missing argument version; add version = %d", formatVersion)
	}
	arguments := hcl.Attributes{}
	for _, a := range []*hcl.Attribute{f.Schema, f.Version, f.Trust, f.Sources, f.LockFiles, f.Terraform, f.Roots} {
		if a != nil {
			arguments[a.Name] = a
		}
	}
	return stricthcl.Join(missing, parseArguments("", start, arguments, map[string]func(*hcl.Attribute) error{
		"$schema": func(a *hcl.Attribute) error { _, err := stricthcl.String(a.Name, a.Expr); return err },
		"version": func(a *hcl.Attribute) error {
			if n, err := number(0)(a); err != nil || n != formatVersion {
				return stricthcl.Errorf(a.Expr.Range(), "unsupported version: this version of tofu-oci supports only version = %d", formatVersion)
			}
			return nil
		},
		"trust":      into(&d.Trust, d.path),
		"sources":    into(&d.Sources, d.paths),
		"lock_files": into(&d.LockFiles, d.paths),
		"terraform":  into(&d.Terraform, boolean),
		"roots":      into(&d.Roots, d.paths),
	}))
}

// path reads a path that is relative to the declaration.
func (d *Declaration) path(a *hcl.Attribute) (string, error) {
	path, err := stricthcl.String(a.Name, a.Expr)
	if err != nil {
		return "", err
	}
	return d.relative(path, a.Expr.Range())
}

// paths reads a list of paths that are relative to the declaration.
func (d *Declaration) paths(a *hcl.Attribute) (paths []string, err error) {
	err = stricthcl.Strings(a.Name, a.Expr, func(path string, at hcl.Range) error {
		path, err := d.relative(path, at)
		if err == nil && slices.Contains(paths, path) {
			err = stricthcl.Errorf(at, "duplicate path %s", path)
		}
		paths = append(paths, path)
		return err
	})
	return paths, err
}

func (d *Declaration) relative(path string, at hcl.Range) (string, error) {
	switch {
	case path == "" || path == "-" || strings.ContainsRune(path, 0):
		return "", stricthcl.Errorf(at, "invalid path %q", path)
	case isRooted(path):
		return path, nil
	}
	return filepath.Join(literal(filepath.Dir(d.Path), path), path), nil
}

// isRooted reports whether a path is absolute, or, on Windows, starts with a separator
// but has no drive.
func isRooted(path string) bool {
	return filepath.IsAbs(path) || path != "" && os.IsPathSeparator(path[0])
}

// literal escapes the directory that precedes a pattern. It uses character classes,
// because Windows supports no other escapes.
func literal(dir, pattern string) string {
	if !strings.ContainsAny(pattern, "*?[{") {
		return dir
	}
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", "{", "[{]").Replace(dir)
}

// readDenials reads the deny blocks of one kind.
func (d *Declaration) readDenials(kind string, blocks []labeled) error {
	seen := map[string]string{}
	var errs []error
	for _, b := range blocks {
		denial := Denial{Position: position(b.Range)}
		var err error
		denial.Pattern, err = readPattern(kind, b)
		var versions []provider.Constraint
		err = stricthcl.Join(err, parseArguments(kind, b.Range, b.Arguments, map[string]func(*hcl.Attribute) error{
			"versions": into(&versions, constraints),
			"reason":   into(&denial.Reason, line),
			"by":       into(&denial.By, line),
		}, "versions", "reason"))
		if errs = append(errs, err); err != nil {
			continue
		}
		for _, denial.Versions = range versions {
			key := denial.Pattern.String() + " " + denial.Versions.String()
			if other, duplicate := seen[key]; duplicate {
				errs = append(errs, stricthcl.Errorf(b.Range, "%s is already denied at %s", key, other))
				continue
			}
			seen[key] = denial.Position
			d.Denials = append(d.Denials, denial)
		}
	}
	return stricthcl.Join(errs...)
}

func (d *Declaration) readPrune(b *plain) error {
	if b == nil {
		return nil
	}
	d.Prune = &Prune{KeepPrevious: defaultKeepPrevious, KeepFor: defaultKeepFor, MaxDelete: defaultMaxDelete}
	mode := ""
	err := parseArguments("prune", b.Range, b.Arguments, map[string]func(*hcl.Attribute) error{
		"mode":          into(&mode, oneOf[string]("report", "delete")),
		"keep_previous": into(&d.Prune.KeepPrevious, number(0)),
		"keep_for":      into(&d.Prune.KeepFor, age),
		"max_delete":    into(&d.Prune.MaxDelete, number(1)),
	})
	d.Prune.Delete = mode == "delete"
	return err
}

// variable matches environment variable names.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (d *Declaration) readNotify(b *plain) error {
	if b == nil {
		return nil
	}
	d.Notify = &Notify{Format: "slack"}
	return parseArguments("notify", b.Range, b.Arguments, map[string]func(*hcl.Attribute) error{
		"url_env": func(a *hcl.Attribute) (err error) {
			d.Notify.URLEnv, err = stricthcl.String(a.Name, a.Expr)
			if err == nil && !variable.MatchString(d.Notify.URLEnv) {
				// The error doesn't contain the value, because the value might be the
				// URL, which is a secret.
				err = stricthcl.Errorf(a.Expr.Range(), "url_env must be the name of an environment variable that contains the URL")
			}
			return err
		},
		"format": into(&d.Notify.Format, oneOf[string]("slack", "json")),
	}, "url_env")
}
