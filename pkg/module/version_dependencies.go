package module

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tofu-oci/tofu-oci/internal/opentofu/configuration"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/origin"
)

// MissingCall is a call to a module that has no matching version in the mirror.
type MissingCall struct {
	// Root is the directory of the root module. For [FindVersionDependencies], it is
	// the given version that makes the call, directly or through other modules, as
	// returned by String.
	Root string
	// Requirement is the module that is called, with the constraint of the call.
	Requirement Requirement
	// Position is the position of the call, such as
	// "registry.opentofu.org/acme/vpc/aws@1.0.0//main.tf:3".
	Position string
}

// String describes the call in a sentence without a period.
func (m MissingCall) String() string {
	return fmt.Sprintf("%s calls %s, but the mirror contains no matching version", m.Position, m.Requirement)
}

// MissingError is the error for modules that a mirror doesn't contain.
type MissingError struct{ Calls []MissingCall }

// maxMissing is the maximum number of calls in a message.
const maxMissing = 4

func (e *MissingError) Error() string {
	var all []string
	for _, call := range e.Calls[:min(len(e.Calls), maxMissing)] {
		all = append(all, call.String())
	}
	if n := len(e.Calls) - maxMissing; n > 0 {
		all = append(all, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(all, "; ")
}

// Kind returns [provider.NotFound].
func (e *MissingError) Kind() provider.ErrorKind { return provider.NotFound }

// MissingCalls returns Missing, or nil if c is nil.
func (c *Dependencies) MissingCalls() []MissingCall {
	if c == nil {
		return nil
	}
	return c.Missing
}

// MissingErr returns a *[MissingError] if modules are missing from the mirror.
func (c *Dependencies) MissingErr() error {
	if len(c.Missing) == 0 {
		return nil
	}
	return &MissingError{c.Missing}
}

// FindVersionDependencies finds the registry modules that the given versions call,
// directly or through other modules. This includes calls in the submodules in the
// directory "modules". Each requirement must specify an exact version. The result's
// Modules also contain the given versions. Its Roots map each module to the given
// versions that call it, as returned by String. If from is nil, modules come only from
// the mirror. See [FindDependencies].
func FindVersionDependencies(ctx context.Context, from *origin.Modules, of []Requirement, o DependencyOptions) (*Dependencies, error) {
	c, err := newDependencies(from, o)
	if err != nil {
		return nil, err
	}
	for _, r := range of {
		c.root = r.String()
		err := c.readModule(ctx, r)
		if err == nil {
			continue
		}
		err = fmt.Errorf("finding the modules that %s calls: %w", r, err)
		if o.OnError == nil || ctx.Err() != nil {
			c.Close()
			return nil, err
		}
		o.OnError(c.root, err)
	}
	c.sort()
	return c, nil
}

// Of returns the modules that a version calls, without the version itself.
func (c *Dependencies) Of(version Requirement) []Requirement {
	return slices.DeleteFunc(slices.Clone(c.Modules), func(r Requirement) bool {
		return r.String() == version.String() || !slices.Contains(c.Roots[r.String()], version.String())
	})
}

// readModule adds the requirements of a version of a module. It reads a root module
// that calls the module and its submodules.
func (c *Dependencies) readModule(ctx context.Context, r Requirement) error {
	v, isExact := r.Constraint.Exact()
	if !isExact {
		return errors.New("not an exact version")
	}
	p, err := c.fetch(ctx, configuration.Call{Source: r.Address.String(), Version: v.String()})
	if err != nil || p.Dir == "" {
		return err
	}
	sources := []string{r.Address.String()}
	modules, _ := os.ReadDir(filepath.Join(p.Dir, filepath.FromSlash(p.Subdir), "modules"))
	for _, d := range modules {
		files, _ := os.ReadDir(filepath.Join(p.Dir, filepath.FromSlash(p.Subdir), "modules", d.Name()))
		if slices.ContainsFunc(files, func(f os.DirEntry) bool { return configuration.IsFile(f.Name()) }) && isPlain(d.Name()) {
			sources = append(sources, r.Address.String()+"//"+path.Join("modules", d.Name()))
		}
	}
	var root strings.Builder
	for i, source := range sources {
		fmt.Fprintf(&root, "module \"m%d\" {\n  source  = %q\n  version = %q\n}\n", i, source, v.String())
	}
	dir, err := os.MkdirTemp(c.dir, "root-")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "main.tf"), []byte(root.String()), 0o600)
	}
	if err != nil {
		return err
	}
	if err := c.read(ctx, dir); err != nil {
		return text.WithText(err, strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
	}
	return nil
}

// isPlain reports whether a name can be part of a source without quoting.
func isPlain(name string) bool { return !strings.ContainsAny(name, "\"\\$%?{}/") }

// addMissing records a call for which the mirror contains no matching version.
func (c *Dependencies) addMissing(call configuration.Call, r Requirement) {
	if call.Position.File == "" {
		return // the call comes from readModule
	}
	m := MissingCall{Root: c.root, Requirement: r, Position: call.Position.String()}
	if !slices.ContainsFunc(c.Missing, func(other MissingCall) bool { return other.Root == m.Root && other.Position == m.Position }) {
		c.Missing = append(c.Missing, m)
	}
}

// versions returns the versions of a module in its registry or, if the modules come only
// from the mirror, in the mirror.
func (c *Dependencies) versions(ctx context.Context, a Address) ([]provider.Version, error) {
	if c.from != nil {
		return c.from.Versions(ctx, a.InRegistry())
	}
	repo, err := c.stored(a)
	if err != nil {
		return nil, err
	}
	tags, err := repo.Tags(ctx)
	return artifact.Tags(tags).Released(), err
}

func (c *Dependencies) stored(a Address) (repository.Reader, error) {
	repo, err := c.options.Stored(a)
	if err != nil {
		return nil, err
	}
	return repository.ModuleReader(repo), nil
}

// locate returns the location of a version in the mirror or, if the mirror doesn't
// contain the version, at its origin.
func (c *Dependencies) locate(ctx context.Context, a Address, v provider.Version) (location, error) {
	if c.options.Stored != nil {
		repo, err := c.stored(a)
		if err != nil {
			return location{}, err
		}
		found, err := repository.Inspect(ctx, repo, artifact.Tag(v), repository.DepthIndex)
		isStored := err == nil && found.Module && found.Index.Annotations[artifact.AnnotationModule] == a.InRegistry().String()
		if isStored || c.from == nil {
			return location{stored: repo, ref: artifact.Tag(v), subdir: found.Index.Annotations[artifact.AnnotationModuleSubdirectory]}, err
		}
	}
	return locate(ctx, c.from, a.InRegistry(), v)
}
