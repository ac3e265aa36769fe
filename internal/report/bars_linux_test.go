package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// TestCanDraw: bars are for terminals that have room for them and understand them.
func TestCanDraw(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		term          string
		columns, rows uint16
		want          bool
	}{{"xterm", 60, 20, true}, {"xterm", 0, 0, false}, {"dumb", 80, 20, false}} {
		_, terminal := openTerminal(t, test.columns, test.rows)
		if got := canDraw(terminal, test.term); got != test.want {
			t.Errorf("%v: %v", test, got)
		}
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if canDraw(file, "xterm") {
		t.Error("a file is a terminal")
	}
}

// TestBarsNarrow draws on a terminal of 60 columns: no line is longer, or it would be
// two, and the screen would fill with them. The time left is there nevertheless.
func TestBarsNarrow(t *testing.T) {
	t.Parallel()
	const columns = 60
	screen, terminal := openTerminal(t, columns, 20)
	o := &Report{works: newWorks(), stderr: terminal}
	o.tally.began = time.Now()
	b := newBars(terminal, &o.tally, o.works)
	o.display = b
	p := lineOf(t, "hashicorp/googleworkspace")
	done := o.Step("checking %s", strings.Repeat("long ", 30))
	b.expect(3)
	b.begin(p, 2*minBar)
	b.advance(p, minBar)
	shown := readUntil(t, screen, "checking")
	shown += readUntil(t, screen, "MB / ")
	b.advance(p, minBar/2)
	shown += readUntil(t, screen, " left")
	b.advance(p, minBar/2)
	shown += readUntil(t, screen, "finishing")
	b.end(p, nil)
	done()
	b.close()
	for line := range strings.Lines(escapes.ReplaceAllString(shown, "\n")) {
		if line = strings.TrimRight(line, "\r\n"); utf8.RuneCountInString(line) > columns {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}

// TestBarOfTheRun: the line about the whole run moves with the bytes of a release under
// way, never back, and to its end with the release.
func TestBarOfTheRun(t *testing.T) {
	t.Parallel()
	screen, terminal := openTerminal(t, 80, 20)
	var count tally
	b := newBars(terminal, &count, newWorks())
	p := lineOf(t, "hashicorp/large")
	b.expect(2)
	readUntil(t, screen, "[-----")
	b.begin(p, 8*minBar)
	b.advance(p, 4*minBar)
	readUntil(t, screen, "[========>-")
	b.end(p, errors.New("reset"))
	b.begin(p, 8*minBar)
	b.advance(p, 8*minBar)
	b.end(p, nil)
	b.ended(p.Address, p.Version)
	if shown := readUntil(t, screen, "1 / 2"); regexp.MustCompile(`releases +\[-`).MatchString(shown) {
		t.Errorf("it went back: %q", shown)
	}
	b.close()
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// readUntil reads what is on the screen, until a text is.
func readUntil(t *testing.T, screen io.Reader, text string) string {
	t.Helper()
	var shown strings.Builder
	for buffer := make([]byte, 4096); !strings.Contains(shown.String(), text); {
		n, err := screen.Read(buffer)
		shown.Write(buffer[:n])
		if err != nil {
			t.Fatalf("%q: %v", shown.String(), err)
		}
	}
	return shown.String()
}

// openTerminal gives both sides of a terminal of a size.
func openTerminal(t *testing.T, columns, rows uint16) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: rows}); err != nil {
		t.Fatal(err)
	}
	return screen, terminal
}
