package packagezip

import (
	"fmt"
	"io"

	"github.com/tofu-oci/tofu-oci/pkg/provider"
)

// Report is what was found in a package.
type Report struct {
	// Executable is the file that OpenTofu would launch, empty without any.
	Executable string
	// Warnings are what looks wrong and may be meant so, each a sentence without
	// its full stop.
	Warnings []string
}

func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// Check reports whether a provider package would work: whether its archive keeps the
// rules, OpenTofu finds an executable in it, and that is made for the platform.
//
// Check looks at a package for a provider type and a platform: size bytes of
// zip. Of the executable only the start is read, so contents are not compared
// with their CRC-32. The error is an *[CheckError] with every problem at once, beside
// which the report holds too, or tells that zip could not be read.
func Check(zip io.ReaderAt, size int64, typ string, p provider.Platform) (Report, error) {
	src := &source{ReaderAt: zip}
	// What an archive says of offsets may lead anywhere.
	section := io.NewSectionReader(src, 0, size)
	// 1. The archive as a whole.
	archive, err := Open(section, size)
	if err != nil {
		return Report{}, src.blame(err)
	}
	files, err := list(section, size)
	if err != nil {
		return Report{}, src.blame(err)
	}

	// 2. The file that OpenTofu takes.
	name, others := archive.Executable(typ)
	if name == "" {
		return Report{}, &CheckError{Problems: []string{missing(typ, files)}}
	}
	report := Report{Executable: name}
	if len(others) > 0 {
		report.warn("OpenTofu launches %q, the first in lexical order, and never %s", name, enumerate(others))
	}

	// 3. Whether it starts on the platform.
	file := find(files, name)
	start, err := startOf(file)
	if err != nil {
		return report, src.blame(fmt.Errorf("reading %q: %w", name, err))
	}
	e := candidate{name: name, platform: p, report: &report}
	e.checkMode(file)
	e.checkContent(start)
	if len(e.problems) > 0 {
		return report, &CheckError{Problems: e.problems}
	}
	return report, nil
}
