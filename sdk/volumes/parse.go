package volumes

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gantry-market/gantry/sdk/messages"
)

// Parse reads NAME[:SIZE][:PATH] of a volume that is kept. What the text does not say is zero: it is as the volume was. Error:
// messages.ErrVolume.
func Parse(text string) (messages.Volume, error) {
	name, size, _ := strings.Cut(text, ":")
	where := ""
	if strings.HasPrefix(size, "/") {
		size, where = "", size
	} else {
		size, where, _ = strings.Cut(size, ":")
	}
	whole := text
	if size == "" || where == "" {
		whole = fmt.Sprintf("%s:%s:%s", name, cmp.Or(size, fmt.Sprintf("%dMiB", messages.MinVolumeMiB)), cmp.Or(where, "/"+name))
	}
	if strings.HasSuffix(text, ":") {
		whole = text // which is cut off
	}
	v, err := messages.ParseVolume(whole)
	if err != nil {
		return v, err
	}
	if size == "" {
		v.MiB = 0
	}
	if where == "" {
		v.Path = ""
	}
	return v, nil
}
