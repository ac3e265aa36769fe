package main

import (
	"path/filepath"

	"github.com/tofu-oci/tofu-oci/pkg/lock"
	"github.com/tofu-oci/tofu-oci/pkg/lockfile"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// check says whether lock files can be satisfied.
func (l locking) check() error {
	files, err := l.lockFiles()
	if err != nil {
		return err
	}
	o := l.options.Options
	if len(o.Platforms) == 0 {
		o.Platforms = []provider.Platform{provider.CurrentPlatform()}
	}
	for _, path := range files {
		file, err := lockfile.Read(path)
		var checked []lock.Checked
		if err == nil {
			done := l.out.Step("checking %s", path)
			checked = lock.Check(l.c.Context, l.src, path, file, o)
			done()
			for i := range checked {
				if checked[i].Err != nil {
					checked[i].Err = l.cmd.withRemedy(checked[i].Err)
				}
			}
		}
		l.out.CheckedLock(path, checked, err)
		if err := l.c.Context.Err(); err != nil {
			return err
		}
	}
	return l.out.LockChecked(o.Platforms)
}

// lockFiles returns those that --lock-file names, or the directories have.
func (l locking) lockFiles() ([]string, error) {
	flag, names := "lock-file", l.c.StringSlice("lock-file")
	if len(names) == 0 {
		flag, names = "module-dir", l.c.StringSlice("module-dir")
		if len(names) == 0 {
			names = []string{"."}
		}
		for i, dir := range names {
			if !l.c.Bool("recursive") {
				names[i] = filepath.Join(dir, lock.Filename)
			}
		}
	}
	files, err := lock.Find(l.c.Context, names...)
	if err != nil {
		return nil, usagef("--%s: %w", flag, err)
	}
	return files, nil
}
