package sync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tofu-oci/tofu-oci/internal/lock"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// rootFiles matches the files of a configuration.
const rootFiles = "*.{tf,tofu,tf.json,tofu.json}"

// addRoots adds the requirements of root configurations. For modules, these are the
// exact versions that tofu init would install. For providers, these are version
// constraints.
func (s selection) addRoots(ctx context.Context, find RootDependencies) (problems []error) {
	if len(s.declaration.Roots) == 0 {
		return nil
	}
	fail := func(err error) { problems = append(problems, fmt.Errorf("roots: %w", err)) }
	// 1. Find the directories.
	var dirs []string
	for _, pattern := range s.declaration.Roots {
		found, err := findRoots(ctx, pattern)
		if err != nil {
			fail(err)
		}
		dirs = append(dirs, found...)
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	// 2. Read the configurations.
	if find == nil {
		fail(errors.New("the configurations were not read"))
		return problems
	}
	c, err := find(dirs, func(dir string, err error) { fail(s.declaration.withoutSecrets(dir, err)) })
	if err != nil {
		fail(err)
		return problems
	}
	// 3. Add their requirements.
	for _, r := range c.Modules {
		for _, root := range c.Roots[r.String()] {
			s.add(Requirement{Requirement: provider.Requirement{Address: r.Address.InRegistry(), Constraint: r.Constraint}, From: root, Locked: true})
		}
	}
	for _, r := range c.Providers {
		for _, root := range c.Roots[r.String()] {
			if err := s.addMatching(r, root); err != nil {
				problems = append(problems, err)
			}
		}
	}
	for _, call := range c.NonRegistryCalls {
		if call.IsUnread {
			fail(errors.New(call.String()))
		}
	}
	return problems
}

// findRoots returns the directories of the configurations that a name refers to.
func findRoots(ctx context.Context, name string) (dirs []string, err error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return []string{name}, nil
	}
	files, err := lock.Find(ctx, filepath.Join(name, rootFiles))
	if errors.Is(err, lock.ErrNoFile) {
		err = provider.Errorf(provider.NotFound, "%s: no configuration", name)
	}
	for _, file := range files {
		dirs = append(dirs, filepath.Dir(file))
	}
	return slices.Compact(dirs), err
}
