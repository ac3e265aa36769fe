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

// errDependencyLimit is returned if configurations call too many modules, or modules that
// are too large.
var errDependencyLimit = provider.Errorf(provider.Refused, "the modules exceed a limit")

// DependencyOptions configures [FindDependencies].
type DependencyOptions struct {
	// Open opens the OCI repositories that sources refer to. It is required.
	Open func(template.Reference) (repository.Reader, error)
	// Stored, if not nil, returns the repository of a mirrored module. Versions in this
	// repository are read from it instead of from their origin.
	Stored func(Address) (repository.Reader, error)
	// AllowIncomplete has the same effect as in [MirrorOptions].
	AllowIncomplete bool
	// Environ contains environment variables such as TF_VAR_NAME, in the format of
	// [os.Environ].
	Environ []string
	// MaxPackages and MaxBytes limit the number of packages and their total size. The
	// defaults are 1,000 and 8 GiB.
	MaxPackages int
	MaxBytes    int64
	// OnError, if not nil, is called with the error for each root module that could not
	// be read. FindDependencies then continues with the next root module, so the result is
	// incomplete.
	OnError func(dir string, err error)
}

// Dependencies contains the modules and providers that configurations require. The caller
// must close it.
type Dependencies struct {
	// Modules contains the versions of modules from module registries. Each requirement
	// specifies an exact version. The list is sorted and contains no duplicates.
	Modules []Requirement
	// Providers contains the requirements of each configuration, sorted and without
	// duplicates. A provider can have several requirements.
	Providers []provider.Requirement
	// Missing contains the calls to registry modules that have no matching version in
	// the mirror, sorted. It is always empty if the modules come from their origin.
	Missing []MissingCall
	// NonRegistryCalls contains the calls that a CLI configuration cannot redirect,
	// sorted. If some of these calls are unresolved, Modules and Providers might be
	// incomplete.
	NonRegistryCalls []NonRegistryCall
	// Roots maps each element of Modules and Providers, as returned by String, to the
	// directories of the root modules that require it. The directories are in the order
	// that [FindDependencies] received.
	Roots map[string][]string

	from    *origin.Modules
	options DependencyOptions
	dir     string
	root    string // the root module that is being read
	// mu prevents Close from removing a package that is being unpacked.
	mu       sync.Mutex
	isClosed bool
	bytes    int64
	packages map[packageKey]scratchPackage
	modules  map[string]Requirement     // by String
	direct   map[string]NonRegistryCall // by position
}

// packageKey identifies a package regardless of the subdirectory of the module.
type packageKey struct {
	registry origin.Location // without its source
	url, ref string
	// isWrapped reports whether the location ends in //*.
	isWrapped bool
	// allowIncomplete is set for git commits of direct calls, which can lack files that
	// the package of a registry module must have.
	allowIncomplete bool
}

// scratchPackage is a fetched package in a temporary directory.
type scratchPackage struct {
	dir string
	fetched
}

// FindDependencies finds the modules and providers that the root modules in the given
// directories require. For each call, it selects the newest version that meets the
// constraint, as tofu init does. It does not read modules that init has installed. If
// from is nil, it selects the newest version in the mirror. See [DependencyOptions].
//
// If a module in a registry cannot be read, FindDependencies calls OnError or returns an
// error. Modules with unsupported sources are listed in NonRegistryCalls.
func FindDependencies(ctx context.Context, from *origin.Modules, dirs []string, o DependencyOptions) (*Dependencies, error) {
	c, err := newDependencies(from, o)
	if err != nil {
		return nil, err
	}
	for _, root := range dirs {
		c.root = root
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
	c.sort()
	return c, nil
}

func newDependencies(from *origin.Modules, o DependencyOptions) (*Dependencies, error) {
	dir, err := atomicfile.NewScratchDir("")
	if err != nil {
		return nil, fmt.Errorf("creating a temporary directory: %w", err)
	}
	o.MaxPackages, o.MaxBytes = cmp.Or(o.MaxPackages, 1_000), cmp.Or(o.MaxBytes, 8<<30)
	return &Dependencies{from: from, options: o, dir: dir, packages: map[packageKey]scratchPackage{}, modules: map[string]Requirement{}, direct: map[string]NonRegistryCall{}, Roots: map[string][]string{}}, nil
}

// sort sets the sorted lists.
func (c *Dependencies) sort() {
	c.Modules = slices.SortedFunc(maps.Values(c.modules), func(a, b Requirement) int { return cmp.Compare(a.String(), b.String()) })
	c.NonRegistryCalls = slices.SortedFunc(maps.Values(c.direct), func(a, b NonRegistryCall) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	slices.SortFunc(c.Missing, func(a, b MissingCall) int {
		return cmp.Or(cmp.Compare(a.Root, b.Root), cmp.Compare(a.Position, b.Position))
	})
	slices.SortFunc(c.Providers, func(a, b provider.Requirement) int { return cmp.Compare(a.String(), b.String()) })
	c.Providers = slices.CompactFunc(c.Providers, func(a, b provider.Requirement) bool { return a.String() == b.String() })
}

// Close removes the packages that were fetched.
func (c *Dependencies) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isClosed = true
	_ = os.RemoveAll(c.dir)
}

// read adds the requirements of the current root module, which is in dir.
func (c *Dependencies) read(ctx context.Context, dir string) error {
	o := configuration.FromEnvironment(c.options.Environ, false)
	o.Fetch = c.fetch
	found, err := configuration.Load(ctx, dir, o)
	if err != nil {
		return err
	}
	c.Providers = append(c.Providers, found.Required...)
	for _, r := range found.Required {
		c.addRoot(r.String())
	}
	for _, call := range found.Unread {
		c.addNonRegistryCall(call, NonRegistryCall{Reason: call.Reason, IsUnread: true, IsUnresolved: call.IsUnresolved})
	}
	return nil
}

// addRoot records that the current root module has a requirement.
func (c *Dependencies) addRoot(requirement string) {
	if !slices.Contains(c.Roots[requirement], c.root) {
		c.Roots[requirement] = append(c.Roots[requirement], c.root)
	}
}

// fetch downloads the package for a call unless it was already fetched.
func (c *Dependencies) fetch(ctx context.Context, call configuration.Call) (fetched configuration.Package, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return fetched, context.Cause(ctx)
	case c.isClosed:
		return fetched, os.ErrClosed
	}
	if _, err := tfaddr.ParseModuleSource(call.Source); err != nil {
		return c.fetchNonRegistryCall(ctx, call)
	}
	called, subdirectory, err := ParseCall(call.Source, call.Version, provider.DefaultHost)
	if err != nil {
		return fetched, err
	}
	// 1. Select a version. As in OpenTofu, even an exact version must be in the
	// registry's list.
	wanted := provider.Requirement{Address: called.Address.InRegistry(), Constraint: called.Constraint}
	versions, err := c.versions(ctx, called.Address)
	if err == nil {
		versions, err = wanted.Select(versions, 1)
	}
	if provider.KindOf(err) == provider.NotFound && c.from == nil {
		c.addMissing(call, Requirement{Address: called.Address, Constraint: called.Constraint})
		return fetched, nil
	}
	if err != nil {
		return fetched, err
	}
	r := Requirement{Address: called.Address, Constraint: provider.ExactConstraint(versions[0])}
	// 2. Fetch the version's package.
	l, err := c.locate(ctx, called.Address, versions[0])
	if err != nil {
		return fetched, err
	}
	p, subdir, err := c.unpack(ctx, l, MirrorOptions{Open: c.options.Open, AllowIncomplete: c.options.AllowIncomplete})
	if err != nil {
		return fetched, fmt.Errorf("%s: %w", r, err)
	}
	c.modules[r.String()] = r
	c.addRoot(r.String())
	return configuration.Package{Dir: p.dir, Subdir: path.Join(subdir, subdirectory), Name: r.String()}, nil
}

// unpack fetches a package into a separate directory, unless the package has already
// been fetched. It returns the package and the subdirectory of the module.
func (c *Dependencies) unpack(ctx context.Context, l location, o MirrorOptions) (p scratchPackage, subdir string, err error) {
	p, known := c.packages[l.key(o)]
	if !known {
		if p, err = c.add(ctx, l, o); err != nil {
			return p, "", err
		}
		c.packages[l.key(o)] = p
	}
	subdir, err = l.directory(p.fetched)
	return p, subdir, err
}

func (l location) key(o MirrorOptions) packageKey {
	if l.stored != nil {
		return packageKey{url: "stored:" + l.stored.String(), ref: l.ref}
	}
	k := packageKey{registry: l.Location, url: l.url.String(), ref: l.ref, isWrapped: l.subdir == "*", allowIncomplete: l.isGit && o.AllowIncomplete}
	k.registry.Source = ""
	return k
}

func (c *Dependencies) add(ctx context.Context, l location, o MirrorOptions) (p scratchPackage, err error) {
	if len(c.packages) == c.options.MaxPackages {
		return p, fmt.Errorf("%w: more than %d packages", errDependencyLimit, c.options.MaxPackages)
	}
	// 1. Fetch the files.
	if p.fetched, err = l.fetch(ctx, c.from, o); err != nil {
		return p, err
	}
	defer p.close()
	// 2. Pack the files and unpack the zip, so that the rules for packages apply.
	zip, err := packZip(ctx, Package{Name: "module", Files: p.files}, c.dir)
	if err != nil {
		return p, err
	}
	defer func() { _ = zip.file.Close() }()
	if c.bytes += zip.zip.Size; c.bytes > c.options.MaxBytes {
		return p, fmt.Errorf("%w: more than %d bytes", errDependencyLimit, c.options.MaxBytes)
	}
	p.dir = filepath.Join(c.dir, strconv.Itoa(len(c.packages)))
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return p, err
	}
	unpacked, err := packagezip.Open(zip.file, zip.zip.Size)
	if err == nil {
		err = unpacked.Unpack(ctx, p.dir)
	}
	for i := range p.files {
		at := filepath.Join(p.dir, filepath.FromSlash(p.files[i].Path))
		p.files[i].Open = func(context.Context) (io.ReadCloser, error) { return bounded.OpenFile(at) }
	}
	return p, err
}

// find returns a package if it was already fetched with the same options.
func (c *Dependencies) find(l location, o MirrorOptions) (f fetched, isFetched bool) {
	if c == nil {
		return f, false
	}
	p, isFetched := c.packages[l.key(o)]
	f, f.close = p.fetched, func() {}
	return f, isFetched
}
