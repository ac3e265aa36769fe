package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/bounded"
	"github.com/tofu-oci/tofu-oci/internal/report"
	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

const (
	// maxSources bounds a file of PROVIDERs, in bytes: some ten thousand lines. The
	// largest registry has five thousand providers.
	maxSources = 1 << 20
	// fromStdin is the name that stands for it.
	fromStdin = "-"
)

// sourcesFlag is that of every command that works on many PROVIDERs.
func sourcesFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "sources", Usage: "also the PROVIDERs in `FILE`, one a line; # begins a comment, and - is stdin (repeatable)"}
}

// named reads the PROVIDERs among the arguments and those of --sources, in this order.
func named(c *cli.Context, args []string, out *report.Report) ([]provider.Requirement, error) {
	wanted, err := parseRequirements(args)
	if err != nil {
		return nil, err
	}
	seen := map[string]string{}
	for _, r := range wanted {
		seen[r.String()] = "on the command line"
	}
	names := c.StringSlice("sources")
	if first := slices.Index(names, fromStdin); first >= 0 && slices.Contains(names[first+1:], fromStdin) {
		return nil, usagef("--sources -: stdin can be read once")
	}
	for _, name := range names {
		listed, err := readSources(c, name)
		if err != nil {
			return nil, usagef("--sources: %w", err)
		}
		for _, s := range listed {
			if before, twice := seen[s.requirement.String()]; twice {
				out.Note("%s: %s is named %s already", s.place, s.requirement, before)
				continue
			}
			seen[s.requirement.String()] = "in " + s.place
			wanted = append(wanted, s.requirement)
		}
	}
	return wanted, nil
}

// listedSource is a line of a file of PROVIDERs.
type listedSource struct {
	place       string // FILE:LINE
	requirement provider.Requirement
}

// readSources reads a file of PROVIDERs.
func readSources(c *cli.Context, name string) ([]listedSource, error) {
	data, err := sourcesText(c, name)
	if err != nil {
		return nil, err
	}
	if name == fromStdin {
		name = "stdin"
	}
	var all []listedSource
	for i, line := range strings.Split(strings.TrimPrefix(string(data), "\uFEFF"), "\n") {
		line = strings.TrimSpace(withoutComment(line))
		if line == "" {
			continue
		}
		if flag := flagIn(line); flag != "" {
			return nil, fmt.Errorf("%s:%d: a line is one PROVIDER and has no flags: write %s on the command line, where it applies to every PROVIDER", name, i+1, flag)
		}
		r, err := provider.ParseRequirement(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		all = append(all, listedSource{fmt.Sprintf("%s:%d", name, i+1), r})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s names no PROVIDER: write one a line, such as hashicorp/null", name)
	}
	return all, nil
}

// flagIn returns the first flag in a line, or "".
func flagIn(line string) string {
	for word := range strings.FieldsSeq(line) {
		if strings.HasPrefix(word, "--") {
			flag, _, _ := strings.Cut(word, "=")
			return flag
		}
	}
	return ""
}

// sourcesText reads what a file has, or stdin.
func sourcesText(c *cli.Context, name string) ([]byte, error) {
	if name != fromStdin {
		return bounded.ReadFileOrPipe(name, maxSources)
	}
	data, err := io.ReadAll(io.LimitReader(c.App.Reader, maxSources+1))
	if err == nil && len(data) > maxSources {
		err = &bounded.TooLargeError{Path: "stdin", Limit: maxSources}
	}
	return data, err
}

// withoutComment cuts a line where a # begins it, or follows a space.
func withoutComment(line string) string {
	for i, r := range line {
		if r == '#' && (i == 0 || strings.ContainsRune(" \t", rune(line[i-1]))) {
			return line[:i]
		}
	}
	return line
}
