package cliconfig

import (
	"errors"
	"regexp"
	"strconv"

	"github.com/tofu-oci/tofu-oci/internal/stricthcl"

	"github.com/hashicorp/hcl/hcl/parser"
)

// parserProblem describes an error from HCL 1. It never quotes text from the file,
// because the text can be a secret if quotes are missing.
func parserProblem(message string) string {
	for _, known := range parserProblems {
		if known.message.MatchString(message) {
			return known.problem
		}
	}
	if known := lexicalProblem.FindString(message); known != "" {
		return known
	}
	return "invalid HCL syntax"
}

// parserProblems maps messages from HCL 1's parsers to descriptions.
var parserProblems = []struct {
	message *regexp.Regexp
	problem string
}{
	{regexp.MustCompile(`^key '(?s:.*)' expected start of object`), "a name must be followed by a brace or an equals sign; strings must be quoted"},
	{regexp.MustCompile(`^Unknown token:`), "expected a value: a quoted string, a number, true, false, a list, or an object"},
	{regexp.MustCompile(`error while trying to parse (object|list) within list`), "this object or list in a list is malformed"},
	{regexp.MustCompile(`^object expected closing RBRACE`), "expected }"},
	{regexp.MustCompile(`^(nested object )?expected: [A-Z| ]+ got:`), "expected a name, a block, or a brace"},
	{regexp.MustCompile(`^error parsing list, expected comma or list end`), "expected a comma or the end of the list"},
	{regexp.MustCompile(`^unexpected token while parsing list`), "unexpected element in a list"},
	{regexp.MustCompile(`^no object keys found`), "expected a name before the equals sign"},
	{regexp.MustCompile(`^EOF token found$`), "unexpected end of the file"},
}

// lexicalProblem matches messages from HCL 1's scanners that can be shown unchanged.
var lexicalProblem = regexp.MustCompile(`^((literal|comment|heredoc) not terminated|illegal UTF-8 encoding|illegal char escape|illegal char|illegal hexadecimal number|illegal octal number|zero-length heredoc anchor|invalid characters in heredoc anchor|numbers cannot start with 0|unexpected null character)`)

// setTwice matches the error for a repeated argument. This error is the only parser
// error whose message contains the position.
var setTwice = regexp.MustCompile(`^The argument "(?s:(.*))" at (?:.*:)?([0-9]+):([0-9]+) was already set`)

// scannerPlace matches an error and its position from HCL 1's JSON scanner.
var scannerPlace = regexp.MustCompile(`^([0-9]+):([0-9]+): ((?s:.*))$`)

// parserError converts an error from HCL 1's parsers to an error with a position.
func parserError(file string, err error) *stricthcl.Error {
	if at, ok := errors.AsType[*parser.PosError](err); ok {
		return &stricthcl.Error{Position: stricthcl.Position{File: file, Line: at.Pos.Line, Column: at.Pos.Column}, Problem: parserProblem(at.Err.Error())}
	}
	at := stricthcl.Position{File: file}
	if found := scannerPlace.FindStringSubmatch(err.Error()); found != nil {
		at.Line, _ = strconv.Atoi(found[1])
		at.Column, _ = strconv.Atoi(found[2])
		return &stricthcl.Error{Position: at, Problem: parserProblem(found[3])}
	}
	found := setTwice.FindStringSubmatch(err.Error())
	if found == nil {
		return &stricthcl.Error{Position: at, Problem: parserProblem(err.Error())}
	}
	name := "this argument"
	if argumentNames[found[1]] {
		name = found[1]
	}
	at.Line, _ = strconv.Atoi(found[2])
	at.Column, _ = strconv.Atoi(found[3])
	return &stricthcl.Error{Position: at, Problem: name + " is already set; arguments must not be repeated"}
}

// argumentNames contains the names that are allowed in messages.
var argumentNames = map[string]bool{
	"include": true, "exclude": true, "path": true, "url": true, "repository_template": true, "download_retry_count": true, "trust_all_hashes": true,
	"services": true, "token": true, "args": true, "plugin_cache_dir": true, "username": true, "password": true, "access_token": true,
	"refresh_token": true, "docker_credentials_helper": true, "discover_ambient_credentials": true, "docker_style_config_files": true,
	"retry_count": true, "request_timeout_seconds": true,
}
