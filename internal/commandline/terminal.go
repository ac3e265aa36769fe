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
	// maxPassword limits a password's size in bytes. Tokens are a few thousand bytes
	// long.
	maxPassword = 64 << 10
	// maxTyped is the maximum length of a line that a Linux terminal accepts.
	maxTyped = 4095
)

// ReadPassword reads a password from a pipe. The password is a single line, with or
// without a newline.
func ReadPassword(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPassword+1))
	if err != nil {
		return "", fmt.Errorf("reading the password from stdin: %w", err)
	}
	password := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case password == "":
		return "", usagef("--password-stdin: stdin is empty; check whether the previous command in the pipeline failed")
	case len(data) > maxPassword:
		return "", usagef("--password-stdin: password exceeds %d bytes", maxPassword)
	case strings.ContainsAny(password, "\r\n\x00"):
		return "", usagef("--password-stdin: password contains a line break or a null byte")
	}
	return password, nil
}

// Prompt writes a prompt to stderr and returns the line that the user enters at the
// terminal. If hidden is true, the input is not displayed. When ctx is canceled, Prompt
// restores the terminal and returns.
func Prompt(ctx context.Context, terminal *os.File, stderr io.Writer, prompt string, hidden bool) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("reading from the terminal: %w", err)
	}
	if _, err := io.WriteString(stderr, prompt); err != nil {
		return "", err
	}
	type input struct {
		text string
		err  error
	}
	inputs := make(chan input, 1)
	go func() { // a signal cannot interrupt reading
		read := readLine
		if hidden {
			read = func(*os.File) (string, error) {
				text, err := term.ReadPassword(fd)
				return string(text), err
			}
		}
		text, err := read(terminal)
		inputs <- input{text, err}
	}()
	var entered input
	select {
	case entered = <-inputs:
	case <-ctx.Done():
		hidden = true
		entered.err = errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
	if hidden { // the newline was not displayed
		_, _ = fmt.Fprintln(stderr)
	}
	switch {
	case errors.Is(entered.err, io.EOF) || entered.err == nil && entered.text == "":
		return "", usagef("no input")
	case len(entered.text) >= maxTyped:
		return "", usagef("input exceeds %d characters, the limit for terminal input; use --password-stdin, and pipe the password to the command", maxTyped)
	}
	return entered.text, entered.err
}

// readLine reads a line byte by byte, because the next line can be a password and must
// not be read ahead.
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
