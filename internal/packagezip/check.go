package packagezip

import (
	"fmt"
	"io"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Report is the result of checking a package.
type Report struct {
	// Executable is the file that OpenTofu would start. It is empty if the package has
	// no executable.
	Executable string
	// Warnings are potential problems, each without a final period.
	Warnings []string
}

func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// Check checks a provider package for a provider type and a platform. The archive must
// be valid and contain an executable that OpenTofu recognizes. The executable must be
// built for the platform.
//
// zip is size bytes long. Check reads only the start of the executable and does not
// verify the CRC-32 of contents. If the package has problems, Check returns a
// *[CheckError] with all problems, together with a valid report. If reading zip fails,
// Check returns the read error.
func Check(zip io.ReaderAt, size int64, typ string, p provider.Platform) (Report, error) {
	src := &source{ReaderAt: zip}
	// Offsets in an archive can be out of range.
	section := io.NewSectionReader(src, 0, size)
	// 1. Check the archive.
	archive, err := Open(section, size)
	if err != nil {
		return Report{}, src.attribute(err)
	}
	files, err := list(section, size)
	if err != nil {
		return Report{}, src.attribute(err)
	}

	// 2. Find the executable.
	name, others := archive.Executable(typ)
	if name == "" {
		return Report{}, &CheckError{Problems: []string{missing(typ, files)}}
	}
	report := Report{Executable: name}
	if len(others) > 0 {
		report.warn("OpenTofu starts %q, which is first in lexical order, and ignores %s", name, enumerate(others))
	}

	// 3. Check the executable.
	file := find(files, name)
	start, err := startOf(file)
	if err != nil {
		return report, src.attribute(fmt.Errorf("reading %q: %w", name, err))
	}
	e := candidate{name: name, platform: p, report: &report}
	if problem := archive.listed().ModeProblem(typ, p); problem != "" {
		e.problems = append(e.problems, problem)
	}
	e.checkContent(start)
	if len(e.problems) > 0 {
		return report, &CheckError{Problems: e.problems}
	}
	return report, nil
}
