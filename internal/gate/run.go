package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/tofu-oci/tofu-oci/internal/atomicfile"
	"github.com/tofu-oci/tofu-oci/internal/extprog"
	"github.com/tofu-oci/tofu-oci/internal/text"
	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
	"github.com/tofu-oci/tofu-oci/pkg/publish"
	"github.com/tofu-oci/tofu-oci/pkg/repository"
	"github.com/tofu-oci/tofu-oci/pkg/source/oci"
)

// Run runs the program for a release whose content is in repo and returns the program's
// result. The files that the program needs are read from repo, verified, and later
// removed. If the program fails or its result is invalid, Run returns an error.
func (g Gate) Run(ctx context.Context, repo repository.Reader, c publish.Candidate) (Result, error) {
	in, err := newInput(ctx, repo, g, c)
	if err != nil {
		return Result{}, fmt.Errorf("preparing the input: %w", err)
	}
	dir, err := atomicfile.NewScratchDir("")
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	replace, err := g.prepare(ctx, repo, c.Release, dir, &in)
	if err != nil {
		return Result{}, fmt.Errorf("preparing files: %w", err)
	}
	stdin, err := json.Marshal(in)
	if err != nil {
		return Result{}, err
	}
	program := extprog.New(g.Command...)
	out, err := program.Run(ctx, extprog.Call{Stdin: stdin, Replace: replace, Inherit: g.variables(), Timeout: g.Timeout, MaxOutput: maxResult})
	if _, failed := errors.AsType[*extprog.Error](err); failed {
		err = errors.New(text.Redact(err.Error()))
	}
	if err != nil {
		return Result{}, err
	}
	result, err := parseResult(out, in.Index)
	if err != nil {
		return result, fmt.Errorf("the output of %s is invalid: %w", program.Name(), err)
	}
	return result, nil
}

// variables returns the names of the environment variables that the program receives.
func (g Gate) variables() []string {
	names := []string{"PATH", "HOME", "TMPDIR"}
	if runtime.GOOS == "windows" {
		names = append(names, "SYSTEMROOT", "PATHEXT", "COMSPEC", "USERPROFILE", "TEMP", "TMP")
	}
	return append(names, g.Env...)
}

// Try runs the gates for a released or pending version and returns their decisions. It
// writes nothing.
func (gs Gates) Try(ctx context.Context, repo repository.Reader, a provider.Address, v provider.Version, verify func(context.Context, provider.Release) (provider.Verdict, error)) ([]repository.DecisionRecord, error) {
	i, err := repository.Inspect(ctx, repo, artifact.Tag(v), repository.DepthManifests)
	if err == nil && !i.Exists() {
		i, err = repository.Inspect(ctx, repo, artifact.PendingTag(v), repository.DepthManifests)
	}
	if err == nil && (!i.Exists() || i.IsDenial()) {
		err = fmt.Errorf("%w: neither released nor pending in %s", provider.ErrVersionNotFound, repo)
	}
	if err != nil {
		return nil, err
	}
	r, err := oci.FromInspection(ctx, repo, i, a, v, i.Index.Platforms())
	if err != nil {
		return nil, err
	}
	c := publish.Candidate{Action: "run", Release: r, Index: artifact.Blob{Descriptor: i.Descriptor, Bytes: i.Bytes}}
	if !a.IsModule() {
		if c.Signature, err = verify(ctx, r); err != nil {
			return nil, err
		}
	}
	var records []repository.DecisionRecord
	for _, g := range gs {
		result, err := g.Run(ctx, repo, c)
		if ctx.Err() != nil {
			return records, ctx.Err()
		}
		if err != nil {
			result = failed(err)
		}
		records = append(records, repository.DecisionRecord{Decision: g.decision(repo, c, result), Repository: repo.String(), Index: i.Digest})
	}
	return records, nil
}

// failed returns the result that holds a release because the gate failed.
func failed(err error) Result {
	return Result{Verdict: Hold, Reason: fmt.Sprintf("the gate failed: %.2000s", err)}
}
