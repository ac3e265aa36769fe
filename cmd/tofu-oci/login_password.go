package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/tofu-oci/tofu-oci/internal/logins"
	"github.com/tofu-oci/tofu-oci/internal/report"
)

const (
	// maxPassword bounds a password, in bytes; tokens have some thousands.
	maxPassword = 64 << 10
	// maxTyped is how much of a line a terminal of Linux passes on.
	maxTyped = 4095
)

// readLogin reads the user name and the password, from flags, stdin and a terminal.
func readLogin(c *cli.Context, target logins.Target) (logins.Credential, error) {
	terminal, _ := c.App.Reader.(*os.File)
	if terminal != nil && !term.IsTerminal(int(terminal.Fd())) {
		terminal = nil
	}
	name := c.String("username")
	var err error
	switch {
	case terminal == nil && !c.Bool("password-stdin"):
		return logins.Credential{}, usagef("there is no terminal to ask at: name the user with --username, and pipe the password into --password-stdin")
	case name == "" && c.Bool("password-stdin"):
		return logins.Credential{}, usagef("--username is missing: name whose login it is; where only a token counts any name will do")
	case name == "":
		if name, err = ask(c, terminal, fmt.Sprintf("User name for %s: ", target), false); err != nil {
			return logins.Credential{}, err
		}
	}
	if strings.ContainsFunc(name, unicode.IsControl) || strings.Contains(name, ":") { // and perhaps a password
		return logins.Credential{}, usagef("--username: a name has no colon, which separates it from the password, and no control characters; the password comes by --password-stdin")
	}
	var password string
	if terminal != nil {
		password, err = ask(c, terminal, fmt.Sprintf("Password of %s for %s: ", name, target), true)
	} else {
		password, err = passwordFrom(c.App.Reader)
	}
	return logins.Credential{Username: name, Password: logins.NewSecret(password)}, err
}

// passwordFrom reads what is piped in: one line, or the whole of it without an end of
// line.
func passwordFrom(r io.Reader) (string, error) {
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

// ask asks at a terminal. Ctrl-C ends it, and the terminal is as it was.
func ask(c *cli.Context, terminal *os.File, question string, hidden bool) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("asking at the terminal: %w", err)
	}
	if _, err := io.WriteString(c.App.ErrWriter, report.Printable(question)); err != nil {
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
	case <-c.Context.Done():
		hidden = true
		given.err = errors.Join(context.Cause(c.Context), term.Restore(fd, before))
	}
	if hidden { // the end of the line was not shown
		_, _ = fmt.Fprintln(c.App.ErrWriter)
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
