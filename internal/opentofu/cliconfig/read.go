package cliconfig

import (
	"errors"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"io/fs"
	"os"
)

// Read reads the files that [Locate] chose, and puts them together. What could
// not be looked at, and what the environment names without its being there, is
// noted: OpenTofu goes on without it. Errors are those of the file system and
// *[stricthcl.Error], joined.
func Read(e Environment, files Files) (Config, error) {
	var documents []document
	var problems []error
	var notes []Note
	for _, p := range files {
		switch {
		case p.Err != nil:
			notes = append(notes, Note{stricthcl.Position{File: p.Path}, NoteUnreadable, "OpenTofu goes on without this file, which cannot be opened: " + p.Err.Error()})
			continue
		case p.Chosen && !p.Found:
			notes = append(notes, Note{stricthcl.Position{File: p.Path}, NoteMissing, "OpenTofu goes on without this file, which is not there: " + p.Why})
			continue
		case !p.Chosen:
			continue
		}
		d, err := read(p.Path)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		d.pluginCacheDir.text = os.Expand(d.pluginCacheDir.text, e.getenv)
		documents = append(documents, d)
	}
	if len(problems) > 0 {
		return Config{}, errors.Join(problems...)
	}
	c, err := merge(documents)
	if err != nil {
		return Config{}, err
	}
	if dir := e.getenv("TF_PLUGIN_CACHE_DIR"); dir != "" {
		c.PluginCacheDir = dir
	}
	c.Notes = append(notes, c.Notes...)
	if _, err := os.Stat(c.PluginCacheDir); c.PluginCacheDir != "" && errors.Is(err, fs.ErrNotExist) {
		c.Notes = append(c.Notes, Note{stricthcl.Position{File: c.PluginCacheDir}, NoteCacheDir, "OpenTofu complains about this plugin_cache_dir, which is not there"})
	}
	return c, nil
}

func read(path string) (document, error) {
	data, err := readFile(path)
	if err != nil {
		return document{}, err
	}
	return parse(path, data)
}
