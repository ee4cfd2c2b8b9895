package solanapay

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	qr "github.com/piglig/go-qr"
)

// margin is the light border that readers need, modules.
const margin = 4

// QR is a link as a picture of dark and light modules.
type QR struct {
	Size int    `json:"size" doc:"Width and height with the light border, in modules"`
	Path string `json:"path" doc:"The dark modules as the path of an SVG of that size"`

	code *qr.QrCode
}

// NewQR encodes a link. Error: it is too long, above 2,000 bytes.
func NewQR(link string) (QR, error) {
	code, err := qr.EncodeText(link, qr.Medium)
	if err != nil {
		return QR{}, fmt.Errorf("QR code: %w", err)
	}
	q := QR{Size: code.Size() + 2*margin, code: code}
	var path strings.Builder
	for y := range code.Size() {
		for x := 0; x < code.Size(); {
			from := x
			for x < code.Size() && code.Module(x, y) {
				x++
			}
			if n := x - from; n > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", from+margin, y+margin, n, n)
			} else {
				x++
			}
		}
	}
	q.Path = path.String()
	return q, nil
}

// dark reports whether a module of the whole picture is dark.
func (q QR) dark(x, y int) bool {
	x, y = x-margin, y-margin
	return x >= 0 && y >= 0 && x < q.code.Size() && y < q.code.Size() && q.code.Module(x, y)
}

// SVG is the picture, dark on light whatever the reader's colours are.
func (q QR) SVG() []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges">`+
		`<path fill="#fff" d="M0 0h%dv%dH0z"/><path fill="#000" d="%s"/></svg>`+"\n", q.Size, q.Size, q.Size, q.Size, q.Path)
}

// PNG is the picture with so many pixels a module.
func (q QR) PNG(scale int) ([]byte, error) {
	img := image.NewPaletted(image.Rect(0, 0, q.Size*scale, q.Size*scale), color.Palette{color.White, color.Black})
	for y := range q.Size * scale {
		for x := range q.Size * scale {
			if q.dark(x/scale, y/scale) {
				img.SetColorIndex(x, y, 1)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return nil, fmt.Errorf("QR code: %w", err)
	}
	return b.Bytes(), nil
}

// halves are two modules of a column, one above the other, in a character: neither, the upper, the lower, both are
// light.
var halves = [4]string{" ", "▀", "▄", "█"}

// Terminal is the picture in characters, two rows of modules a line. Light modules are drawn, as most terminals are
// dark; where light is not dark's opposite, readers take the inverse too.
func (q QR) Terminal() string {
	var b strings.Builder
	for y := 0; y < q.Size; y += 2 {
		for x := range q.Size {
			at := 0
			if !q.dark(x, y) {
				at |= 1
			}
			if y+1 < q.Size && !q.dark(x, y+1) {
				at |= 2
			}
			b.WriteString(halves[at])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
