//go:build linux

package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// TestCanDraw checks which terminals support bars.
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

// TestBarsNarrow checks that lines fit on a terminal with 60 columns and still contain
// the remaining time. Longer lines would wrap and fill the screen.
func TestBarsNarrow(t *testing.T) {
	t.Parallel()
	const columns = 60
	screen, terminal := openTerminal(t, columns, 20)
	r := newRun()
	r.listeners = []listener{newBars(terminal, r)}
	progress := r.progress()
	p := lineOf(t, "hashicorp/googleworkspace")
	done := r.step("checking " + strings.Repeat("long ", 30))
	r.plan(3)
	progress.Begin(p, 2*minBar)
	progress.Advance(p, minBar)
	shown := readUntil(t, screen, "checking")
	shown += readUntil(t, screen, "MB / ")
	progress.Advance(p, minBar/2)
	shown += readUntil(t, screen, " left")
	progress.Advance(p, minBar/2)
	shown += readUntil(t, screen, "finishing")
	progress.End(p, nil)
	done()
	r.notify(displayClosed{})
	for line := range strings.Lines(escapes.ReplaceAllString(shown, "\n")) {
		if line = strings.Trim(line, "\r\n"); utf8.RuneCountInString(line) > columns {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
}

// TestRunBar checks that the run's bar advances with the bytes of an unfinished
// release and never moves backward. When the release is finished, the bar is full.
func TestRunBar(t *testing.T) {
	t.Parallel()
	screen, terminal := openTerminal(t, 80, 20)
	r := newRun()
	r.listeners = []listener{newBars(terminal, r)}
	progress := r.progress()
	p := lineOf(t, "hashicorp/large")
	r.plan(2)
	r.itemStarted(p.Address, p.Version)
	readUntil(t, screen, "[-----")
	progress.Begin(p, 8*minBar)
	progress.Advance(p, 4*minBar)
	readUntil(t, screen, "[========>-")
	progress.End(p, errors.New("reset"))
	progress.Begin(p, 8*minBar)
	progress.Advance(p, 8*minBar)
	progress.End(p, nil)
	r.itemFinished(p.Address, p.Version, Item{})
	if shown := readUntil(t, screen, "1 / 2"); regexp.MustCompile(`releases +\[-`).MatchString(shown) {
		t.Errorf("it went back: %q", shown)
	}
	r.notify(displayClosed{})
}

// TestBarsAfterInterrupt checks that lines are drawn and cleared from the first column,
// because the terminal shows "^C" in the first columns after Ctrl-C.
func TestBarsAfterInterrupt(t *testing.T) {
	t.Parallel()
	screen, terminal := openTerminal(t, 80, 20)
	r := newRun()
	r.listeners = []listener{newBars(terminal, r)}
	r.step("checking")
	r.plan(2)
	shown := readUntil(t, screen, "0 / 2")
	if _, err := terminal.WriteString("^C"); err != nil {
		t.Fatal(err)
	}
	r.notify(displayClosed{})
	if _, err := terminal.WriteString("end"); err != nil {
		t.Fatal(err)
	}
	shown += readUntil(t, screen, "end")
	for end, c := range shown {
		if c != '\n' {
			continue
		}
		for _, line := range screenAfter(shown[:end]) {
			if !regexp.MustCompile(`^(checking: [^h]*|releases .*|\^C)?$`).MatchString(line) {
				t.Errorf("the screen shows %q in %q", line, shown[:end])
			}
		}
	}
	if got := strings.Join(screenAfter(shown), "|"); got != "end" {
		t.Errorf("the screen shows %q after %q", got, shown)
	}
}

// control matches the escape sequences and control characters of bars.
var control = regexp.MustCompile("\x1b\\[([0-9]+)A|\x1b\\[J|[\r\n]")

// screenAfter returns the rows of a screen after it has shown a text.
func screenAfter(text string) []string {
	rows, row, column := [][]rune{nil}, 0, 0
	write := func(plain string) {
		for _, c := range plain {
			for len(rows[row]) <= column {
				rows[row] = append(rows[row], ' ')
			}
			rows[row][column] = c
			column++
		}
	}
	for {
		at := control.FindStringSubmatchIndex(text)
		if at == nil {
			write(text)
			break
		}
		write(text[:at[0]])
		switch found := text[at[0]:at[1]]; {
		case found == "\r":
			column = 0
		case found == "\n":
			if row++; row == len(rows) {
				rows = append(rows, nil)
			}
		case at[2] >= 0:
			n, _ := strconv.Atoi(text[at[2]:at[3]])
			row = max(row-n, 0)
		default:
			rows = rows[:row+1]
			rows[row] = rows[row][:min(column, len(rows[row]))]
		}
		text = text[at[1]:]
	}
	var lines []string
	for _, r := range rows {
		lines = append(lines, strings.TrimRight(string(r), " "))
	}
	return lines
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// readUntil reads the screen until the screen contains the given text.
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

// openTerminal returns both ends of a pseudo-terminal with the given size.
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
