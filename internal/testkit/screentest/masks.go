package screentest

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Masks have what differs between two runs written in the same way, in as many columns.
type Masks map[string]string

// samePlace: one sign in as many columns as there were.
const samePlace = -1

var masked = []struct {
	is   *regexp.Regexp
	name string // the beginning of what stands there instead; a text without a number where it is fixed
	long int    // columns of what stands there instead; 0 for those of name, samePlace for those that there were
}{
	{regexp.MustCompile(`^[ █▀▄]{25,}$`), "▒", samePlace}, // a line of a QR code
	{regexp.MustCompile(`/tmp/[^ "]*/`), "/folder/", 0},
	{regexp.MustCompile(`\bgantry_team_[\w-]{43}`), "gantry_team_token", 0},
	{regexp.MustCompile(`\bgantry_[\w-]{43}`), "gantry_token", 0},
	{regexp.MustCompile(`[A-Za-z0-9+/]{100,}={0,2}`), strings.Repeat("instruction/", 5), 0},
	{regexp.MustCompile(`#code=[\w-]{20,}`), "#code=code", 0},
	{regexp.MustCompile(`GPU \d, round \d+, leaf \d+, byte \d+ is \d+ and not \d+`), "GPU 1, round 0, leaf 579, byte 6 is 248 and not 8", 0},
	{regexp.MustCompile(`\bweb-[a-z2-7]{16}\.gw\.test:\d+`), "web-a2b3c4d5e6f7g2h3.gw.test:4001", 0},
	{regexp.MustCompile(`%3A%2F%2F127.0.0.1%3A\d+`), "%3A%2F%2F127.0.0.1%3A4001", 0},
	{regexp.MustCompile(`\b[0-9.]+ USDC of the reservation`), "0.0042 USDC of the reservation", 0},
	{regexp.MustCompile(`\b[89]\d{8}\b`), "898035556", 0}, // a period
	{regexp.MustCompile(`\bburned [0-9.]+ GNT`), "burned 0.000126 GNT", 0},
	{regexp.MustCompile(`\bslot \d+\b`), "slot 31", 0},
	{regexp.MustCompile(`\b[1-9A-HJ-NP-Za-km-z]{86,88}\b`), "signature", 88},
	{regexp.MustCompile(`\b12D3KooW[1-9A-HJ-NP-Za-km-z]{44}\b`), "12D3KooW", 52},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "hash", 64},
	{regexp.MustCompile(`\b[1-9A-HJ-NP-Za-km-z]{43,44}\b`), "", 44},
	{regexp.MustCompile(`\b[1-9A-HJ-NP-Za-km-z]{6}…`), "Begins…", 0},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?`), "2026-01-02 15:04:05", 0},
	{regexp.MustCompile(`\b(\d+ [A-Z][a-z][a-z] )?\d\d:\d\d\b`), "15:04", 0},
	{regexp.MustCompile(`\b127\.0\.0\.1(:|/tcp/)\d+`), "127.0.0.1${1}4001", 0},
	{regexp.MustCompile(`\bin (\d+h)?(\d+m)?\d+s\b`), "in 5s", 0}, // what is left of a time
	{regexp.MustCompile(`\b\d+s\b`), "5s", 0},
	{regexp.MustCompile(`\b\d+ ms\b`), "15 ms", 0},
	{regexp.MustCompile(`\b\d+ s paid = [0-9.]+`), "5 s paid = 0.005000", 0},
}

// Mask is a text as a golden screen has it.
func (m Masks) Mask(text string) string {
	for _, k := range masked {
		if k.long == samePlace {
			text = k.is.ReplaceAllStringFunc(text, func(found string) string { return strings.Repeat(k.name, utf8.RuneCountInString(found)) })
			continue
		}
		if k.long == 0 {
			text = k.is.ReplaceAllString(text, k.name)
			continue
		}
		text = k.is.ReplaceAllStringFunc(text, func(found string) string {
			if _, ok := m[found]; !ok {
				m[found] = fmt.Sprintf("%s%d", k.name, len(m)+1)
				if k.name == "" {
					m[found] = "A" + m[found]
				}
				m[found] += strings.Repeat("x", k.long-len(m[found]))
			}
			return m[found]
		})
	}
	return text
}
