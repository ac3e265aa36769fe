package cliconfig

import (
	"errors"
	"github.com/tofu-oci/tofu-oci/internal/stricthcl"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/hcl/parser"
)

// parserProblem says what HCL 1 found, without the words of the file that its
// messages have: one of them may be a token that lost its quotes.
func parserProblem(message string) string {
	for _, known := range parserProblems {
		if found := known.pattern.FindStringSubmatch(message); found != nil {
			return strings.ReplaceAll(known.problem, "$1", inWords(found[len(found)-1]))
		}
	}
	return "this is no HCL"
}

// tokens are the names that HCL 1 has for what may stand in a file.
var tokens = map[string]string{
	"EOF": "the end of the file", "COMMENT": "a comment", "IDENT": "a word without quotes", "NUMBER": "a number", "FLOAT": "a number", "BOOL": "true or false",
	"NULL": "null", "STRING": "a text in quotes", "HEREDOC": "a text after <<", "LBRACK": "[", "RBRACK": "]", "LBRACE": "{", "RBRACE": "}", "COMMA": "a comma", "PERIOD": "a period",
	"COLON": "a colon", "ASSIGN": "an equals sign", "ADD": "a plus sign", "SUB": "a minus sign", "ILLEGAL": "a character that has no meaning here",
}

// inWords says what a token is, by the name that HCL 1 has for it. Other words stay.
func inWords(name string) string {
	if words := tokens[name]; words != "" {
		return words
	}
	return name
}

// parserProblems are the messages of HCL 1's scanners and parsers. The one kind
// of word that is taken from them is a token's type, such as RBRACE.
var parserProblems = []struct {
	pattern *regexp.Regexp
	problem string
}{
	{regexp.MustCompile(`^key '(?s:.*)' expected start of object`), "a name must be followed by a brace or an equals sign: texts stand in quotes"},
	{regexp.MustCompile(`^Unknown token: \S+ ([A-Z]+)`), "a value must stand here, not $1: a text in quotes, a number, true, false, a list or an object"},
	{regexp.MustCompile(`error while trying to parse (object|list) within list`), "within a list, this $1 is malformed"},
	{regexp.MustCompile(`^object expected closing RBRACE got: ([A-Z]+)$`), "} must stand here, not $1"},
	{regexp.MustCompile(`^(?:nested object )?expected: [A-Z| ]+ got: ([A-Z]+)$`), "a name or a block must stand here, not $1"},
	{regexp.MustCompile(`^nested object expected: LBRACE got: ([A-Z]+)$`), "a brace must stand here, not $1"},
	{regexp.MustCompile(`^error parsing list, expected comma or list end, got: ([A-Z]+)$`), "a comma or the end of the list must stand here, not $1"},
	{regexp.MustCompile(`^no object keys found`), "there is no name in front of the equals sign"},
	{regexp.MustCompile(`^(literal|comment|heredoc) not terminated`), "the $1 does not end"},
	{regexp.MustCompile(`^(illegal UTF-8 encoding|illegal char escape|illegal char|illegal hexadecimal number|illegal octal number|zero-length heredoc anchor|invalid characters in heredoc anchor|numbers cannot start with 0|unexpected null character)`), "$1"},
	{regexp.MustCompile(`^EOF token found$`), "the text ends too early"},
}

// setTwice is the error about an argument that is there already, the only one
// of the parser that has its position in its text.
var setTwice = regexp.MustCompile(`^The argument "(?s:(.*))" at (?:.*:)?([0-9]+):([0-9]+) was already set`)

// scannerPlace is the position in an error of HCL 1's scanner for JSON.
var scannerPlace = regexp.MustCompile(`^([0-9]+):([0-9]+): ((?s:.*))$`)

// parserError gives an error of HCL 1's parsers a position.
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
	return &stricthcl.Error{Position: at, Problem: name + " is set already: an argument may be there once"}
}

// argumentNames are the names that a message may repeat.
var argumentNames = map[string]bool{
	"include": true, "exclude": true, "path": true, "url": true, "repository_template": true, "download_retry_count": true, "trust_all_hashes": true,
	"services": true, "token": true, "args": true, "plugin_cache_dir": true, "username": true, "password": true, "access_token": true,
	"refresh_token": true, "docker_credentials_helper": true, "discover_ambient_credentials": true, "docker_style_config_files": true,
	"retry_count": true, "request_timeout_seconds": true,
}
