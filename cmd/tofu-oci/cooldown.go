package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/internal/commandline"
)

// minAgeFlag is that of every command that chooses versions to bring somewhere.
func minAgeFlag() cli.Flag {
	return &cli.StringFlag{
		Name:  "min-age",
		Usage: "hold back versions that were published less than `DURATION` ago, such as 72h or 3d, by their origin's date; what is named exactly or locked passes",
	}
}

// minAge reads --min-age; 0 where it is not given.
func minAge(c *cli.Context) (time.Duration, error) {
	text := c.String("min-age")
	if text == "" {
		return 0, nil
	}
	d, err := commandline.ParseAge(text)
	if err != nil {
		return 0, usagef("--min-age: %w", err)
	}
	return d, nil
}
