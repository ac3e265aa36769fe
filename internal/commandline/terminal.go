package commandline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

const (
	// maxPassword bounds a password, in bytes; tokens have some thousands.
	maxPassword = 64 << 10
	// maxTyped is how much of a line a terminal of Linux passes on.
	maxTyped = 4095
)

// ReadPassword reads what is piped in: one line, or the whole of it without an end of
// line.
func ReadPassword(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPassword+1))
	if err != nil {
		return "", fmt.Errorf("reading the password from stdin: %w", err)
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case password == "":
		return "", usagef("--password-stdin: stdin is empty; did the program before it in the pipe fail?")
	case len(data) > maxPassword:
		return "", usagef("--password-stdin: stdin has more than %d bytes, which is no password", maxPassword)
	case strings.ContainsAny(password, "\r\n\x00"):
		return "", usagef("--password-stdin: stdin has more than one line, which is no password")
	}
	return password, nil
}

// Ask asks at a terminal, writes the question to stderr, and returns the line that is typed,
// which is not shown if it is hidden. When the context ends, so does Ask, and the terminal
// is as it was.
func Ask(ctx context.Context, terminal *os.File, stderr io.Writer, question string, hidden bool) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("asking at the terminal: %w", err)
	}
	if _, err := io.WriteString(stderr, question); err != nil {
		return "", err
	}
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // which a signal does not end
		read := readLine
		if hidden {
			read = func(*os.File) (string, error) {
				text, err := term.ReadPassword(fd)
				return string(text), err
			}
		}
		text, err := read(terminal)
		answers <- answer{text, err}
	}()
	var given answer
	select {
	case given = <-answers:
	case <-ctx.Done():
		hidden = true
		given.err = errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
	if hidden { // the end of the line was not shown
		_, _ = fmt.Fprintln(stderr)
	}
	switch {
	case errors.Is(given.err, io.EOF) || given.err == nil && given.text == "":
		return "", usagef("nothing was typed")
	case len(given.text) >= maxTyped:
		return "", usagef("a terminal passes on no more than %d characters of a line: pipe the password into --password-stdin", maxTyped)
	}
	return given.text, given.err
}

// readLine reads a line and not a byte more: the next one is the password.
func readLine(r *os.File) (string, error) {
	var line []byte
	for one := make([]byte, 1); len(line) < maxTyped; {
		n, err := r.Read(one)
		if n == 1 && one[0] == '\n' {
			break
		}
		line = append(line, one[:n]...)
		if err != nil {
			return "", err
		}
	}
	return strings.TrimSuffix(string(line), "\r"), nil
}
