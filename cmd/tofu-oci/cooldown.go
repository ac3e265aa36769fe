package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/tofu-oci/tofu-oci/pkg/artifact"
	"github.com/tofu-oci/tofu-oci/pkg/mirror"
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
	d, err := parseAge(text)
	if err != nil {
		return 0, usagef("--min-age: %w", err)
	}
	return d, nil
}

// heldItem is the result of a release that is held back.
func heldItem(r mirror.Result, dryRun bool) item {
	held := r.Item.Held
	return item{
		Provider: held.Address.String(), Version: held.Version.String(), Status: statusHeld, DryRun: dryRun,
		Repository: r.Repository, Tag: artifact.Tag(held.Version), Published: dateText(held.Published), Eligible: dateText(held.Eligible),
	}
}

// held reports a release that is held back.
func (o *output) held(i item, young *mirror.TooYoungError) {
	how := ""
	if young.Published.IsZero() {
		how = "; to take it all the same, name it: " + young.Address.String() + "@" + young.Version.String()
	}
	o.note("%v%s", young, how)
	o.done(i, "")
}

// dateText writes a version's date in RFC 3339; nothing for none.
func dateText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
