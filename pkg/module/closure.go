package module

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	tfaddr "github.com/hashicorp/terraform-registry-address"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/packagezip"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
	"github.com/tofu-oci/tofu-oci/pkg/template"
)

// errClosureLimit means that configurations call too many modules, or modules that are too large.
var errClosureLimit = provider.Errorf(provider.Refused, "the modules exceed a limit")

// ClosureOptions configures [NewClosure].
type ClosureOptions struct {
	// Open opens the OCI repositories to which sources refer. It is required.
	Open func(template.Reference) (repository.Reader, error)
	// AllowSubmodules and AllowLFS have the same effect as in [MirrorOptions].
	AllowSubmodules, AllowLFS bool
	// Environ contains environment variables such as TF_VAR_NAME, in the format of
	// [os.Environ].
	Environ []string
	// MaxPackages and MaxBytes limit the number of packages and their total size. The
	// defaults are 1,000 and 8 GiB.
	MaxPackages int
	MaxBytes    int64
	// OnError, if not nil, receives the errors of root modules. NewClosure then
	// continues with the next root module, so the closure is incomplete.
	OnError func(dir string, err error)
}

// Closure contains everything that configurations require. The caller must close it.
type Closure struct {
	// Modules contains the versions of modules from module registries. Each requirement
	// specifies an exact version. The list is sorted and contains no duplicates.
	Modules []Requirement
	// Providers contains the requirements of each configuration, sorted and without
	// duplicates. A provider can have several requirements.
	Providers []provider.Requirement
	// Direct contains the calls to modules that are not in a module registry, sorted.
	Direct []DirectCall

	from    *origin.Modules
	options ClosureOptions
	dir     string
	// mu prevents Close from removing a package that is being unpacked.
	mu       sync.Mutex
	isClosed bool
	bytes    int64
	packages map[packageKey]scratchPackage
	modules  map[string]Requirement // by String
	direct   map[string]DirectCall  // by position
}

// packageKey identifies a package regardless of the subdirectory of the module.
type packageKey struct {
	registry origin.Location // without its source
	url, ref string
	// isWrapped reports that the location ends in //*.
	isWrapped bool
}

// scratchPackage is a fetched package in a directory.
type scratchPackage struct {
	dir, commit string
	// files contains the files with the paths of the origin.
	files       []File
	isUnwrapped bool
}

// NewClosure finds the modules and providers that the root modules in directories
// require. Versions are selected as by tofu init: each call selects the newest version
// that meets its constraint. NewClosure does not read modules that init has installed.
//
// If a module in a registry cannot be read, NewClosure returns an error. Modules with
// unsupported sources are listed in Direct.
func NewClosure(ctx context.Context, from *origin.Modules, dirs []string, o ClosureOptions) (*Closure, error) {
	dir, err := atomicfile.NewScratchDir("")
	if err != nil {
		return nil, fmt.Errorf("creating a temporary directory: %w", err)
	}
	o.MaxPackages, o.MaxBytes = cmp.Or(o.MaxPackages, 1_000), cmp.Or(o.MaxBytes, 8<<30)
	c := &Closure{from: from, options: o, dir: dir, packages: map[packageKey]scratchPackage{}, modules: map[string]Requirement{}, direct: map[string]DirectCall{}}
	for _, root := range dirs {
		err := c.read(ctx, root)
		if err != nil && o.OnError != nil {
			o.OnError(root, err)
			continue
		}
		if err != nil {
			c.Close()
			return nil, err
		}
	}
	c.Modules = slices.SortedFunc(maps.Values(c.modules), func(a, b Requirement) int { return cmp.Compare(a.String(), b.String()) })
	c.Direct = slices.SortedFunc(maps.Values(c.direct), func(a, b DirectCall) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	slices.SortFunc(c.Providers, func(a, b provider.Requirement) int { return cmp.Compare(a.String(), b.String()) })
	c.Providers = slices.CompactFunc(c.Providers, func(a, b provider.Requirement) bool { return a.String() == b.String() })
	return c, nil
}

// Close removes the fetched packages.
func (c *Closure) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isClosed = true
	_ = os.RemoveAll(c.dir)
}

// read adds the requirements of a root module.
func (c *Closure) read(ctx context.Context, root string) error {
	o := configuration.FromEnvironment(c.options.Environ, false)
	o.Fetch = c.fetch
	found, err := configuration.Load(ctx, root, o)
	if err != nil {
		return err
	}
	c.Providers = append(c.Providers, found.Required...)
	for _, call := range found.Unread {
		c.addDirect(call, DirectCall{Reason: call.Reason, IsUnread: true})
	}
	return nil
}

// fetch downloads the package of a call unless the closure already has it.
func (c *Closure) fetch(ctx context.Context, call configuration.Call) (configuration.Package, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return configuration.Package{}, context.Cause(ctx)
	case c.isClosed:
		return configuration.Package{}, os.ErrClosed
	}
	if _, err := tfaddr.ParseModuleSource(call.Source); err != nil {
		return c.fetchDirect(ctx, call)
	}
	called, subdirectory, err := ParseCall(call.Source, call.Version, provider.DefaultHost)
	if err != nil {
		return configuration.Package{}, err
	}
	// 1. Select a version.
	address := called.Address
	v, err := c.selectVersion(ctx, called)
	if err != nil {
		return configuration.Package{}, err
	}
	r := Requirement{Address: address, Constraint: provider.ExactConstraint(v)}
	// 2. Fetch its package.
	located, err := c.from.Location(ctx, address.InRegistry(), v)
	if err != nil {
		return configuration.Package{}, err
	}
	l, err := parseLocation(located)
	if err != nil {
		return configuration.Package{}, err
	}
	p, subdir, err := c.unpack(ctx, l, MirrorOptions{Open: c.options.Open, AllowSubmodules: c.options.AllowSubmodules, AllowLFS: c.options.AllowLFS})
	if err != nil {
		return configuration.Package{}, fmt.Errorf("%s: %w", r, err)
	}
	c.modules[r.String()] = r
	return configuration.Package{Dir: p.dir, Subdir: path.Join(subdir, subdirectory), Name: r.String()}, nil
}

// selectVersion returns the newest version that meets a requirement.
func (c *Closure) selectVersion(ctx context.Context, called Requirement) (provider.Version, error) {
	r := provider.Requirement{Address: called.Address.InRegistry(), Constraint: called.Constraint}
	// As in OpenTofu, the registry must also list exact versions.
	versions, err := c.from.Versions(ctx, r.Address)
	if err != nil {
		return provider.Version{}, err
	}
	met, err := r.Select(versions, 1)
	if err != nil {
		return provider.Version{}, err
	}
	return met[0], nil
}

// unpack fetches a package to a separate directory, unless it is already fetched. It
// returns the package and the subdirectory of the module.
func (c *Closure) unpack(ctx context.Context, l location, o MirrorOptions) (p scratchPackage, subdir string, err error) {
	p, known := c.packages[l.key()]
	if !known {
		if p, err = c.add(ctx, l, o); err != nil {
			return p, "", err
		}
		c.packages[l.key()] = p
	}
	if p.isUnwrapped {
		return p, "", nil
	}
	subdir, err = l.directory(p.files)
	return p, subdir, err
}

func (l location) key() packageKey {
	k := packageKey{registry: l.Location, url: l.url.String(), ref: l.ref, isWrapped: l.subdir == "*"}
	k.registry.Source = ""
	return k
}

// add fetches and unpacks a package.
func (c *Closure) add(ctx context.Context, l location, o MirrorOptions) (p scratchPackage, err error) {
	if len(c.packages) == c.options.MaxPackages {
		return p, fmt.Errorf("%w: more than %d packages", errClosureLimit, c.options.MaxPackages)
	}
	// 1. Fetch the files.
	f, err := l.fetch(ctx, c.from, o)
	if err != nil {
		return p, err
	}
	defer f.close()
	files := slices.Clone(f.files)
	if l.subdir == "*" {
		dir, err := l.directory(files)
		if err != nil {
			return p, err
		}
		p.isUnwrapped = unwrap(files, dir)
	}
	// 2. Pack them, so that the rules for packages apply, and unpack the zip.
	zip, err := packZip(ctx, Package{Name: "module", Files: files}, c.dir)
	if err != nil {
		return p, err
	}
	defer func() { _ = zip.file.Close() }()
	if c.bytes += zip.pkg.Size; c.bytes > c.options.MaxBytes {
		return p, fmt.Errorf("%w: more than %d bytes", errClosureLimit, c.options.MaxBytes)
	}
	p.dir, p.commit = filepath.Join(c.dir, strconv.Itoa(len(c.packages))), f.commit
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return p, err
	}
	unpacked, err := packagezip.Open(zip.file, zip.pkg.Size)
	if err == nil {
		err = unpacked.Unpack(ctx, p.dir)
	}
	for i, file := range f.files {
		at := filepath.Join(p.dir, filepath.FromSlash(files[i].Path))
		file.Open = func(context.Context) (io.ReadCloser, error) { return bounded.OpenFile(at) }
		p.files = append(p.files, file)
	}
	return p, err
}

// fetched returns a package that the closure has fetched.
func (c *Closure) fetched(l location) (f fetched, ok bool) {
	if c == nil {
		return f, false
	}
	p, ok := c.packages[l.key()]
	return fetched{files: slices.Clone(p.files), commit: p.commit, close: func() {}}, ok
}
