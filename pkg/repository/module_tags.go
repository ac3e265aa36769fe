package repository

import (
	"context"
	"errors"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// ForModule returns a repository in which a version of a module can also have the tag
// "vX.Y.Z", as other tools write it. If a version has only this tag, the methods treat
// it as the tag "X.Y.Z". PushTag and DeleteTag use the existing tag.
func ForModule(repo Repository) Repository {
	return moduleRepository{Repository: repo, reader: moduleReader{repo}}
}

// ModuleReader is the equivalent of [ForModule] for reading.
func ModuleReader(repo Reader) Reader { return moduleReader{repo} }

// ForModuleCopy returns the source and the target for copying a version of a module, and
// the tag of the version in the source. If the version doesn't exist in the target,
// PushTag writes the same tag.
func ForModuleCopy(ctx context.Context, from Reader, to Repository, v provider.Version) (Reader, Repository, string) {
	tag := artifact.Tag(v)
	if tags, err := from.Tags(ctx); err == nil { // otherwise, reading the source reports the error
		tag, _ = artifact.ModuleTag(tags, v)
	}
	return moduleReader{from}, moduleRepository{to, moduleReader{to}, map[string]string{artifact.Tag(v): tag}}, tag
}

type moduleReader struct{ Reader }

func (m moduleReader) Tags(ctx context.Context) ([]string, error) {
	tags, err := m.Reader.Tags(ctx)
	return artifact.ModuleTags(tags), err
}

func (m moduleReader) Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	d, data, err := m.Reader.Manifest(ctx, reference)
	if _, isVersion := artifact.ParseTag(reference); isVersion && errors.Is(err, ErrNotFound) {
		if d, data, found := m.Reader.Manifest(ctx, artifact.ModuleTagPrefix+reference); !errors.Is(found, ErrNotFound) {
			return d, data, found
		}
	}
	return d, data, err
}

// tagOf returns the existing tag that Manifest reads.
func (m moduleReader) tagOf(ctx context.Context, tag string) (string, error) {
	if _, isVersion := artifact.ParseTag(tag); !isVersion {
		return tag, nil
	}
	_, _, err := m.Reader.Manifest(ctx, tag)
	if exists, err := isFound(err); exists || err != nil {
		return tag, ignoreDangling(err)
	}
	_, _, err = m.Reader.Manifest(ctx, artifact.ModuleTagPrefix+tag)
	if exists, err := isFound(err); !exists {
		return tag, ignoreDangling(err)
	}
	return artifact.ModuleTagPrefix + tag, nil
}

func ignoreDangling(err error) error {
	if _, dangling := errors.AsType[*DanglingTagError](err); dangling {
		return nil
	}
	return err
}

type moduleRepository struct {
	Repository
	reader moduleReader
	// preferred maps tags to the tags to write if neither exists.
	preferred map[string]string
}

func (m moduleRepository) Capabilities() Capabilities {
	t := m.Repository.Capabilities()
	if untag := t.DeleteTag; untag != nil {
		t.DeleteTag = func(ctx context.Context, tag string, was digest.Digest) error {
			tag, err := m.reader.tagOf(ctx, tag)
			if err != nil {
				return err
			}
			return untag(ctx, tag, was)
		}
	}
	if remove := t.DeleteManifest; remove != nil {
		t.DeleteManifest = func(ctx context.Context, d digest.Digest, tag string) error {
			tag, err := m.reader.tagOf(ctx, tag)
			if err != nil {
				return err
			}
			return remove(ctx, d, tag)
		}
	}
	return t
}

func (m moduleRepository) PushTag(ctx context.Context, b artifact.Blob, tag string, was digest.Digest) error {
	if was != "" {
		existing, err := m.reader.tagOf(ctx, tag)
		if err != nil {
			return err
		}
		return m.Repository.PushTag(ctx, b, existing, was)
	}
	if preferred := m.preferred[tag]; preferred != "" {
		tag = preferred
	}
	return m.Repository.PushTag(ctx, b, tag, was)
}

func (m moduleRepository) Tags(ctx context.Context) ([]string, error) { return m.reader.Tags(ctx) }

func (m moduleRepository) Manifest(ctx context.Context, reference string) (ocispec.Descriptor, []byte, error) {
	return m.reader.Manifest(ctx, reference)
}
