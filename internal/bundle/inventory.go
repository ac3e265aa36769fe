package bundle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// InventorySchema identifies the format of an inventory.
const InventorySchema = "https://raw.githubusercontent.com/tofu-oci/tofu-oci/main/docs/schema/v2/bundle-inventory.schema.json"

// Inventory lists the content of a receiver's repositories. A nil *Inventory is empty.
type Inventory struct {
	Schema string `json:"$schema"`
	// Repositories is sorted by address.
	Repositories []StoredRepository `json:"repositories"`
	// Imported lists the results of the import that wrote the inventory.
	Imported []Imported `json:"imported,omitempty"`
}

// Imported is the result of importing a version.
type Imported struct {
	Address string `json:"address"`
	Version string `json:"version"`
	// Status is a status of package publish, or "failed".
	Status string        `json:"status"`
	Digest digest.Digest `json:"digest,omitempty"`
}

// StoredRepository lists the content of a receiver's repository.
type StoredRepository struct {
	Address string `json:"address"`
	// Tags maps tags to digests. It contains the tags of released, pending, and denied
	// versions and the latest tag of a module.
	Tags map[string]digest.Digest `json:"tags"`
	// Content contains the digests of the versions' manifests and blobs, sorted.
	Content []digest.Digest `json:"content"`
}

// NewInventory lists the versions of providers and modules in their repositories. It
// omits versions whose content is incomplete or damaged, so that the next bundle
// contains them.
func NewInventory(ctx context.Context, all []provider.Address, open func(provider.Address) (repository.Reader, error)) (*Inventory, error) {
	i := &Inventory{Schema: InventorySchema, Repositories: []StoredRepository{}}
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b provider.Address) int { return strings.Compare(a.String(), b.String()) })
	for _, a := range slices.Compact(all) {
		repo, err := open(a)
		if err != nil {
			return nil, err
		}
		stored, err := list(ctx, a, repo)
		if errors.Is(err, repository.ErrNoRepository) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("listing the content of %s: %w", repo, err)
		}
		i.Repositories = append(i.Repositories, stored)
	}
	return i, nil
}

// list lists the content of a repository.
func list(ctx context.Context, a provider.Address, repo repository.Reader) (StoredRepository, error) {
	stored := StoredRepository{Address: a.String(), Tags: map[string]digest.Digest{}, Content: []digest.Digest{}}
	tags, err := repo.Tags(ctx)
	if err != nil {
		return stored, err
	}
	released := tags
	if a.IsModule() {
		released = artifact.ModuleTags(tags)
	}
	var versions []string
	for _, v := range artifact.Tags(released).Released() {
		tag := artifact.Tag(v)
		if a.IsModule() {
			tag, _ = artifact.ModuleTag(tags, v)
		}
		versions = append(versions, tag)
	}
	for _, v := range artifact.Tags(tags).Undecided() {
		versions = append(versions, artifact.PendingTag(v))
	}
	for _, v := range artifact.Tags(tags).Denied() {
		record, _, err := repository.ReadDenial(ctx, repo, v)
		if err != nil {
			return stored, err
		}
		if record.Digest != "" {
			stored.Tags[record.Tag] = record.Digest
		}
	}
	for _, tag := range versions {
		found, err := repository.Inspect(ctx, repo, tag, repository.DepthBlobs)
		if err != nil {
			return stored, err
		}
		isLost := func(p provider.Platform) bool { return !found.At(p).IsIntact() }
		if !found.Exists() || found.Dangling || slices.ContainsFunc(found.Index.Platforms(), isLost) {
			continue
		}
		graph, err := found.ReadGraph(ctx, repo)
		if err != nil {
			return stored, err
		}
		stored.Tags[tag] = graph.Root.Digest
		if isLatest, err := isLatest(ctx, repo, a, graph.Root.Digest); err != nil {
			return stored, err
		} else if isLatest {
			stored.Tags[artifact.LatestTag] = graph.Root.Digest
		}
		for _, m := range graph.Manifests {
			stored.Content = append(stored.Content, m.Descriptor.Digest)
		}
		for _, d := range graph.Blobs {
			stored.Content = append(stored.Content, d.Digest)
		}
	}
	slices.Sort(stored.Content)
	stored.Content = slices.Compact(stored.Content)
	return stored, nil
}

// Encode returns the inventory as JSON.
func (i *Inventory) Encode() ([]byte, error) { return encode(i) }

// ReadInventory reads an inventory from a JSON file.
func ReadInventory(path string) (*Inventory, error) {
	data, err := bounded.ReadFileOrPipe(path, maxManifest)
	if err != nil {
		return nil, err
	}
	var i Inventory
	if err := bounded.DecodeJSON(data, &i, maxValues); err != nil {
		return nil, malformed("invalid inventory %s: %w", path, err)
	}
	if i.Schema != InventorySchema {
		return nil, malformed(`%s is not an inventory: want "$schema" %q, got %.100q`, path, InventorySchema, i.Schema)
	}
	return &i, nil
}

// Addresses returns the addresses of all repositories. It omits invalid addresses.
func (i *Inventory) Addresses() (all []provider.Address) {
	if i == nil {
		return nil
	}
	for _, r := range i.Repositories {
		if a, err := parseAddress(r.Address); err == nil && a.String() == r.Address {
			all = append(all, a)
		}
	}
	return all
}

// Add adds the repositories of another inventory.
func (i *Inventory) Add(other *Inventory) {
	i.Repositories = append(i.Repositories, other.Repositories...)
	slices.SortFunc(i.Repositories, func(a, b StoredRepository) int { return strings.Compare(a.Address, b.Address) })
}

// has reports whether the receiver has content with the given digest.
func (i *Inventory) has(a provider.Address, d digest.Digest) bool {
	_, found := slices.BinarySearch(i.repository(a).Content, d)
	return found
}

// hasVersion reports whether the receiver has a version with the given digest, even if
// the version is pending.
func (i *Inventory) hasVersion(a provider.Address, v provider.Version, d digest.Digest) bool {
	return i.hasTag(a, artifact.Tag(v), d) || i.hasTag(a, artifact.PendingTag(v), d) || a.IsModule() && i.hasTag(a, artifact.ModuleTagPrefix+artifact.Tag(v), d)
}

// hasTag reports whether the receiver's tag points to the given digest.
func (i *Inventory) hasTag(a provider.Address, tag string, d digest.Digest) bool {
	return i.repository(a).Tags[tag] == d
}

func (i *Inventory) repository(a provider.Address) StoredRepository {
	if i != nil {
		for _, r := range i.Repositories {
			if r.Address == a.String() {
				return r
			}
		}
	}
	return StoredRepository{}
}
