package recording

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Dimensions of the picture in user units.
const (
	letter, line = 8.4, 20.0 // for a font size of 14
	margin, head = 16.0, 36.0
	width        = columns*letter + 2*margin
	height       = rows*line + head + margin
	// hardSpace is a space that viewers do not collapse.
	hardSpace = "\u00a0"
	// moment is a negligible duration, in seconds.
	moment = 0.001
)

// look is the style sheet. It follows the viewer's theme. If the viewer prefers reduced
// motion, it shows only the first screen, without animation.
const look = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace;fill:#e6edf3}
.w{fill:#0d1117}.e{fill:none;stroke:#30363d}.r,.h{fill:#8b949e}.p,.g{fill:#3fb950}.c{fill:#79c0ff}.k{fill:#e6edf3}.t{opacity:0}
@media(prefers-color-scheme:light){text,.k{fill:#1f2328}.w{fill:#f6f8fa}.e{stroke:#d0d7de}.r,.h{fill:#59636e}.p,.g{fill:#1a7f37}.c{fill:#0550ae}}
@media(prefers-reduced-motion:reduce){*{animation:none!important}}
`

// drawing is an SVG under construction, with separate buffers for its style and its
// content.
type drawing struct {
	style, content strings.Builder
	seconds        float64
	animations     int
}

// Draw writes a picture that shows the scenes.
func Draw(w io.Writer, scenes []Scene) error {
	// 1. Compute the rows and their times.
	all, seconds := screen(scenes)
	d := drawing{seconds: seconds}
	// 2. Show each row at its time, and scroll when the screen is full.
	for i, r := range all {
		d.row(r, float64(i))
	}
	scroll := d.scroll(all)
	// 3. Add the window frame.
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[1]g" height="%[2]g" role="img">
<title>tofu-oci mirrors a provider into an OCI image layout, lists it, and pulls it out again</title>
<style>%[3]s%[4]s</style>
<rect class="w" width="%[1]g" height="%[2]g" rx="8"/><rect class="e" x=".5" y=".5" width="%[5]g" height="%[6]g" rx="8"/>
<circle cx="20" cy="18" r="6" fill="#ff5f57"/><circle cx="40" cy="18" r="6" fill="#febc2e"/><circle cx="60" cy="18" r="6" fill="#28c840"/>
<svg x="%[7]g" y="%[8]g" width="%[9]g" height="%[10]g"><g%[11]s>
%[12]s</g></svg>
</svg>
`, width, height, look, d.style.String(), width-1, height-1, margin, head, width-2*margin, rows*line, scroll, d.content.String())
	return err
}

// row draws one row. For a command, it also draws the cover that hides the command
// until it is typed.
func (d *drawing) row(r row, at float64) {
	if r.width() == 0 {
		return
	}
	class := ""
	if r.wrapped {
		class = ` class="n"`
	}
	// textLength aligns the columns regardless of the font.
	fmt.Fprintf(&d.content, `<text%s y="%g" textLength="%.1f"%s>`, class, at*line+14, float64(r.width())*letter, d.animate(r.from, "opacity:0", "opacity:1"))
	for _, s := range r.spans {
		if s.class == classPlain {
			d.content.WriteString(escape(s.text))
			continue
		}
		fmt.Fprintf(&d.content, `<tspan class="%s">%s</tspan>`, s.class, escape(s.text))
	}
	d.content.WriteString("</text>\n")
	if r.typed > 0 {
		d.typing(r, at)
	}
}

// typing covers a row and moves the cover to the right letter by letter. The cover's
// left edge shows the cursor. Without animation, the cover is invisible.
func (d *drawing) typing(r row, at float64) {
	wide := float64(r.width()) * letter
	begin, end := r.from, r.from+r.typed
	name := d.keyframes(fmt.Sprintf("0%%,%s{opacity:0}%s{opacity:1;transform:none}%s{opacity:1;transform:translateX(%.1fpx)}%s,100%%{opacity:0}",
		d.percent(begin-moment), d.percent(begin), d.percent(end), wide, d.percent(end+moment)))
	fmt.Fprintf(&d.content, `<g class="t" style="animation:%s %.2fs steps(%d) infinite"><rect class="w" y="%g" width="%.1f" height="%g"/><rect class="k" y="%g" width="8" height="16"/></g>`+"\n",
		name, d.seconds, r.width(), at*line-1, wide+letter, line, at*line+2)
}

// scroll moves all rows up so that the last row is always visible.
func (d *drawing) scroll(all []row) (style string) {
	var frames strings.Builder
	frames.WriteString("0%{transform:none}")
	for i, r := range all {
		if i < rows {
			continue
		}
		up := float64(i-rows+1) * line
		fmt.Fprintf(&frames, "%s{transform:translateY(-%gpx)}", d.percent(r.from), up)
		if i == len(all)-1 {
			fmt.Fprintf(&frames, "100%%{transform:translateY(-%gpx)}", up)
		}
	}
	return fmt.Sprintf(` style="animation:%s %.2fs step-end infinite"`, d.keyframes(frames.String()), d.seconds)
}

// animate changes a style at the given time.
func (d *drawing) animate(at float64, before, after string) (style string) {
	name := d.keyframes(fmt.Sprintf("0%%{%s}%s,100%%{%s}", before, d.percent(at), after))
	return fmt.Sprintf(` style="animation:%s %.2fs step-end infinite"`, name, d.seconds)
}

// keyframes adds an animation and returns its name.
func (d *drawing) keyframes(frames string) (name string) {
	d.animations++
	name = fmt.Sprintf("a%d", d.animations)
	fmt.Fprintf(&d.style, "@keyframes %s{%s}\n", name, frames)
	return name
}

func (d *drawing) percent(at float64) string { return fmt.Sprintf("%.4f%%", at/d.seconds*100) }

// escape escapes the text of a line. It also replaces adjacent spaces, which viewers
// would collapse.
func escape(text string) string {
	text = strings.ReplaceAll(text, "  ", hardSpace+hardSpace)
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder never returns an error
	return b.String()
}
