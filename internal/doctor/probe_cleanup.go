package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
)

// cleanUpTime limits the time for completing a push and deleting the pushed content
// after a probe is canceled.
const cleanUpTime = time.Minute

// journal is a repository that records the manifests and tags that might have been pushed.
type journal struct {
	repository.Repository
	mu        sync.Mutex
	manifests []digest.Digest
	tags      []string
	// accepted contains the manifests that were pushed successfully.
	accepted map[digest.Digest]bool
}

// PushManifest records the manifest and pushes it.
func (j *journal) PushManifest(ctx context.Context, m artifact.Blob) error {
	return j.push(ctx, m.Descriptor.Digest, "", func(ctx context.Context) error {
		return j.Repository.PushManifest(ctx, m)
	})
}

// PushTag records the manifest and the tag, and pushes them.
func (j *journal) PushTag(ctx context.Context, m artifact.Blob, tag string, was digest.Digest) error {
	return j.push(ctx, m.Descriptor.Digest, tag, func(ctx context.Context) error {
		return j.Repository.PushTag(ctx, m, tag, was)
	})
}

// push completes a push that was started before ctx was canceled, because a registry could
// store the content of an interrupted request after cleanUp has looked for it.
func (j *journal) push(ctx context.Context, manifest digest.Digest, tag string, push func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	j.record(manifest, tag)
	return j.result(manifest, push(ctx))
}

func (j *journal) record(manifest digest.Digest, tag string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Contains(j.manifests, manifest) {
		j.manifests = append(j.manifests, manifest)
	}
	if tag != "" && !slices.Contains(j.tags, tag) {
		j.tags = append(j.tags, tag)
	}
}

func (j *journal) result(manifest digest.Digest, err error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.accepted[manifest] = j.accepted[manifest] || err == nil
	return err
}

func (j *journal) hasAccepted(manifest digest.Digest) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.accepted[manifest]
}

// cleanUp deletes everything that was pushed, in reverse order, so that no manifest is
// deleted before the manifests that refer to it. The registry's garbage collection deletes
// the blobs.
func (p *probe) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	leave := func(what string, err error) {
		if err != nil {
			p.Left, p.leftErr = append(p.Left, what), cmp.Or(p.leftErr, err)
		}
	}
	for _, tag := range slices.Backward(p.repo.tags) {
		leave("tag "+tag, p.deleteTag(ctx, tag))
	}
	for _, d := range slices.Backward(p.repo.manifests) {
		leave("manifest "+d.String(), p.repo.Capabilities().DeleteManifest(ctx, d, ""))
	}
}

// deleteTag deletes a tag together with its manifest or, if the registry doesn't delete
// manifests, only the tag.
func (p *probe) deleteTag(ctx context.Context, tag string) error {
	now, err := repository.Inspect(ctx, p.repo, tag, repository.DepthIndex)
	switch {
	case err != nil || now.Digest == "":
		return err
	case !slices.Contains(p.repo.manifests, now.Digest):
		return fmt.Errorf("the tag %s points to other content: %w", tag, repository.ErrTagMoved)
	}
	err = p.repo.Capabilities().DeleteManifest(ctx, now.Digest, tag)
	if errors.Is(err, repository.ErrTagNotDeleted) {
		err = p.repo.Capabilities().DeleteTag(ctx, tag, now.Digest)
	}
	return err
}
