package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tofu-oci/tofu-oci/internal/transfer"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
)

// settle reads the tag back, and reads it once more where jobs that publish
// other platforms may be at work: where releases come from local builds or are
// narrowed to some platforms, and the repository cannot tell writers apart. sending is how long writing took here.
func (p *publisher) settle(ctx context.Context, result Result, sending time.Duration) error {
	if err := p.readBack(ctx, result); err != nil {
		return err
	}
	_, isRemote := p.src.(lister)
	_, isLocal := p.repo.(localRepository)
	if isLocal || isRemote && len(p.options.Platforms) == 0 {
		return nil
	}
	if err := transfer.Pause(ctx, max(p.settling(), sending)); err != nil {
		return err
	}
	return p.readBack(ctx, result)
}

func (p *publisher) settling() time.Duration { return cmp.Or(p.options.Settle, DefaultSettle) }

// readBack compares the tag with what this run made of it. Another run that has
// moved it since may have taken our packages in; else they are merged again.
func (p *publisher) readBack(ctx context.Context, result Result) error {
	now, err := p.readStored(ctx, result.Tag)
	if err != nil {
		return fmt.Errorf("reading the tag back: %w", err)
	}
	p.index = now.descriptor
	if now.digest == result.Digest {
		return nil
	}
	if now.digest == "" {
		return fmt.Errorf("reading the tag back: %w", errTagLost)
	}
	for _, done := range result.Packages {
		t, there := now.index.Target(done.Package.Platform)
		if d, known := t.Digest(); !there || !known || d != done.Package.Digest {
			return artifact.ErrTagMoved
		}
	}
	return nil
}

// errTagLost: a registry took the tag and does not have it.
var errTagLost = errors.New("the repository took the tag and does not show it")
