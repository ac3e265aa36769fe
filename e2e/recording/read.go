package recording

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// Read parses a picture drawn by [Draw]. It rejects any content except styled text,
// because the picture in a README must not run scripts or load resources.
func Read(picture io.Reader) (scenes []Scene, err error) {
	lines, err := textLines(picture)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		why, isWhy := strings.CutPrefix(line, "# ")
		command, isCommand := strings.CutPrefix(line, prompt)
		switch {
		case isWhy:
			scenes = append(scenes, Scene{Step: Step{Why: why}})
		case len(scenes) == 0:
			return nil, fmt.Errorf("the image starts with %q", line)
		case isCommand:
			scenes[len(scenes)-1].Command = command
		default:
			scenes[len(scenes)-1].Output += line + "\n"
		}
	}
	return scenes, nil
}

// harmless lists the allowed elements.
var harmless = map[string]bool{"svg": true, "title": true, "style": true, "rect": true, "circle": true, "g": true, "text": true, "tspan": true}

// textLines returns the lines of the terminal, with wrapped rows joined.
func textLines(picture io.Reader) (lines []string, err error) {
	decoder, inText := xml.NewDecoder(picture), false
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if !harmless[t.Name.Local] {
				return nil, fmt.Errorf("unexpected element %q in the image", t.Name.Local)
			}
			if t.Name.Local == "text" {
				if inText = true; len(lines) == 0 || attribute(t, "class") != "n" {
					lines = append(lines, "")
				}
			}
		case xml.EndElement:
			inText = inText && t.Name.Local != "text"
		case xml.CharData:
			if inText {
				lines[len(lines)-1] += strings.ReplaceAll(string(t), hardSpace, " ")
			}
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
