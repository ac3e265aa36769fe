package commandline

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/text"
)

// Words that other programs have for what is meant here.
var (
	otherCommands = map[string]string{
		"ls": "list", "tags": "list", "versions": "list", "push": "publish", "upload": "publish", "sync": "mirror", "download": "pull", "fetch": "pull",
		"get": "pull", "install": "pull", "check": "verify", "run": "exec", "server": "serve", "config": "tofurc", "clean": "cache prune",
	}
	otherFlags = map[string][]string{
		"source": {"from"}, "src": {"from"}, "destination": {"to", "dir"}, "dest": {"to", "dir"}, "target": {"to", "dir"}, "repo": {"to", "from"},
		"repository": {"to", "from"}, "registry": {"to", "from"}, "out": {"dir"}, "output-dir": {"dir"}, "directory": {"dir", "chdir", "module-dir"}, "d": {"dir"},
		"chdir": {"module-dir", "dir"}, "dir": {"chdir", "module-dir"}, "check": {"check-level", "validate"},
		"recheck": {"verify-cache"}, "max-age": {"tags-ttl"}, "format": {"output"}, "json": {"output json"}, "os": {"platform"}, "arch": {"platform"}, "p": {"platform"}, "insecure": {"plain-http"},
		"jobs": {"concurrency"}, "j": {"concurrency"}, "parallel": {"concurrency"}, "n": {"dry-run"}, "check-only": {"dry-run"}, "f": {"force"},
		"cert": {"ca-file"}, "cacert": {"ca-file"}, "name": {"provider"}, "silent": {"quiet"}, "port": {"listen"}, "addr": {"listen"}, "key": {"sign-key", "keyring"},
		"user": {"username"}, "password": {"password-stdin"}, "pass": {"password-stdin"}, "token": {"password-stdin"}, "to": {"from"},
	}
)

// unknownCommand is the error of a name that is no command's, or none of the
// command's commands.
func unknownCommand(parents []string, name string, commands []*cli.Command) error {
	var names []string
	for _, command := range commands {
		names = append(names, command.Name)
	}
	program := strings.Join(append([]string{"tofu-oci"}, parents...), " ")
	meant, found := text.Nearest(name, names)
	if other := otherCommands[strings.ToLower(name)]; other != "" && len(parents) == 0 {
		meant, found = other, true
	}
	switch {
	case found:
		return usagef("there is no command %q; did you mean %s %s?", strings.Join(append(parents, name), " "), program, meant)
	case len(parents) == 0:
		return usagef("there is no command %q; see tofu-oci --help", name)
	}
	return usagef("%s has no command %q; there are %s; see %s --help", strings.Join(parents, " "), name, strings.Join(names, ", "), program)
}

// unknownFlag is the error of a flag that the command does not have.
func (c *call) unknownFlag(arg, name string) error {
	commands := c.commands
	subject := "there is no flag"
	if c.command != nil {
		commands = []*cli.Command{c.command}
		subject = strings.Join(c.names, " ") + " has no flag"
	}
	if c.command != nil && c.command.Name == Login && (name == "password" || strings.HasPrefix(arg, "-p")) {
		// What follows may be the password, also without a space: -pSECRET.
		return usagef("login takes no password on the command line, where others on this machine and the shell's history see it: pipe it into --password-stdin, or be asked for it at a terminal")
	}
	arg, _, _ = strings.Cut(arg, "=")
	if arg == "-encodedCommand" {
		return usagef("PowerShell took the braces of a template for a script: write the template in quotes, such as 'ghcr.io/acme/{namespace}/{type}'")
	}
	if meant, found := nearestFlag(name, commands); found {
		return usagef("%s %s; did you mean --%s?", subject, arg, meant)
	}
	return usagef("%s %s; see %s --help", subject, arg, c.program())
}

// nearestFlag finds the flag that was meant, by its long name.
func nearestFlag(name string, commands []*cli.Command) (string, bool) {
	for _, other := range otherFlags[strings.ToLower(name)] {
		if word, _, _ := strings.Cut(other, " "); len(flagsNamed(commands, word)) > 0 {
			return other, true
		}
	}
	return text.Nearest(name, flagNames(commands))
}

func flagNames(commands []*cli.Command) []string {
	var names []string
	for _, command := range commands {
		for _, flag := range command.Flags {
			names = append(names, flag.Names()[0])
		}
		names = append(names, flagNames(command.Subcommands)...)
	}
	return names
}

// valueProblem reads a flag's value as the library will, whose own errors speak of
// its parser. It is empty where the value can be read.
func valueProblem(flag cli.Flag, value string) string {
	switch flag.(type) {
	case *cli.IntFlag:
		if _, err := strconv.ParseInt(value, 0, 0); err != nil {
			return "must be a whole number, such as 4"
		}
	case *cli.Float64Flag:
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return "must be a number, such as 2.5"
		}
	case *cli.BoolFlag:
		if _, err := strconv.ParseBool(value); err != nil {
			return "must be true or false"
		}
	case *cli.DurationFlag:
		if _, err := time.ParseDuration(value); err != nil {
			return durationProblem(value)
		}
	}
	return ""
}

// durationProblem says what is wrong with a duration, and what was meant.
func durationProblem(value string) string {
	number := strings.TrimRight(strings.TrimSpace(value), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(value), number)))
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		return "must be a duration, such as 30s or 2m"
	}
	begins := func(name string) bool { return strings.HasPrefix(name, unit) }
	switch {
	case unit == "":
		return fmt.Sprintf("a duration needs its unit; did you mean %ss?", number)
	case begins("seconds"):
		return fmt.Sprintf("the units of a duration are ms, s, m and h; did you mean %ss?", number)
	case begins("minutes") || unit == "mins":
		return fmt.Sprintf("the units of a duration are ms, s, m and h; did you mean %sm?", number)
	}
	return "the units of a duration are ms, s, m and h, as in 30s or 2m"
}
