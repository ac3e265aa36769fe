package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
)

// written is a flag as it stands in the command line, or as a variable has it.
type written struct {
	name   string
	args   []string
	values []string
	// off tells that it is as if it were not there: a switch that is false, or nothing.
	off bool
	// variable is the one that it comes from, "" for the command line.
	variable string
}

// writtenOf is a flag as a variable has it.
func writtenOf(flag cli.Flag, variable string, values []string) written {
	w := written{name: flag.Names()[0], values: values, off: isOff(flag, values), variable: variable}
	for _, value := range values {
		w.args = append(w.args, "--"+w.name+"="+value)
	}
	return w
}

// isOff tells whether the values of a flag leave it as it is without it.
func isOff(flag cli.Flag, values []string) bool {
	if !isSwitch(flag) {
		return !slices.ContainsFunc(values, func(value string) bool { return value != "" })
	}
	on, err := strconv.ParseBool(strings.Join(values, ""))
	return len(values) > 0 && err == nil && !on
}

// text is how a message names it.
func (w written) text() string {
	if w.name == argument {
		return strings.Join(w.values, " ")
	}
	return "--" + w.name
}

// has finds a flag, by this name of it or NAME=VALUE, or the first [argument].
func (c *call) has(name string) (w written, there bool) {
	if name == argument {
		return written{values: c.rest[:min(len(c.rest), 1)]}, len(c.rest) > 0
	}
	name, value, valued := strings.Cut(name, "=")
	for _, w := range slices.Backward(c.flags) { // the last counts
		if w.name == name {
			return w, !w.off && (!valued || slices.Contains(w.values, value))
		}
	}
	return w, false
}

// repeated refuses a flag that takes one value and is given twice, because the library would
// ignore the first value. A Boolean flag can be repeated with the same value.
func (c *call) repeated() error {
	for i, w := range c.flags {
		flag := flagNamed(c.command, w.name)
		if _, repeatable := flag.(*cli.StringSliceFlag); flag == nil || repeatable {
			continue
		}
		before := slices.IndexFunc(c.flags[:i], func(v written) bool { return v.name == w.name })
		switch {
		case before >= 0 && !isSwitch(flag):
			return usagef("--%s is given twice, but takes one value; see %s --help", w.name, c.program())
		case before >= 0 && c.flags[before].off != w.off:
			return usagef("--%s is given as true and as false", w.name)
		}
	}
	return nil
}

// variables are the flags that come from variables.
func (c *call) variables() map[string]written {
	set := map[string]written{}
	for _, w := range c.flags {
		if w.variable != "" {
			set[w.name] = w
		}
	}
	return set
}
