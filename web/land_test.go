package web

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files that tests compare")

const (
	landFile   = "static/views/land.js"
	landDegree = 3.0  // between two dots
	landTop    = 80.0 // degrees north
	landRows   = 46
)

// landHead begins the file. Places on the map are reckoned from the same numbers.
const landHead = `// The land of the world as dots, one for each 3 degrees: Natural Earth 1:110m, public domain. go test ./web -run TestLand -update
// makes it from web/testdata/land.
export const degree = 3;
export const top = 80;
export const rows = [
`

// topology is what a TopoJSON file has of one collection of polygons.
type topology struct {
	Transform struct{ Scale, Translate [2]float64 }
	Arcs      [][][2]float64
	Objects   struct {
		Land struct{ Geometries []struct{ Arcs [][][]int } }
	}
}

type point struct{ x, y float64 }

// rings are the outlines of land and of lakes. Longitudes continue beyond 180 degrees where an outline does.
func (t topology) rings() (out [][]point) {
	arcs := make([][]point, len(t.Arcs))
	for i, arc := range t.Arcs {
		var x, y float64 // each is given by its distance from the one before
		for _, d := range arc {
			x, y = x+d[0], y+d[1]
			arcs[i] = append(arcs[i], point{x*t.Transform.Scale[0] + t.Transform.Translate[0], y*t.Transform.Scale[1] + t.Transform.Translate[1]})
		}
	}
	for _, g := range t.Objects.Land.Geometries {
		for _, polygon := range g.Arcs {
			for _, ring := range polygon {
				var outline []point
				for _, i := range ring {
					if i >= 0 {
						outline = append(outline, arcs[i]...)
						continue
					}
					backwards := slices.Clone(arcs[^i])
					slices.Reverse(backwards)
					outline = append(outline, backwards...)
				}
				for i := 1; i < len(outline); i++ {
					outline[i].x -= 360 * math.Round((outline[i].x-outline[i-1].x)/360)
				}
				out = append(out, outline)
			}
		}
	}
	return out
}

// inside counts the outlines to the right of a place.
func inside(rings [][]point, at point) bool {
	odd := false
	for _, r := range rings {
		for i := 1; i < len(r); i++ {
			a, b := r[i-1], r[i]
			if (a.y > at.y) != (b.y > at.y) && at.x < a.x+(b.x-a.x)*(at.y-a.y)/(b.y-a.y) {
				odd = !odd
			}
		}
	}
	return odd
}

// TestLand: the dots of the map are the land of Natural Earth.
func TestLand(t *testing.T) {
	raw, err := os.ReadFile("testdata/land/land-110m.json")
	require.NoError(t, err)
	var land topology
	require.NoError(t, json.Unmarshal(raw, &land))
	rings := land.rings()
	require.Greater(t, len(rings), 100)
	on := func(lon, lat float64) bool {
		odd := false // an outline and the lakes in it may lie on different sides of 180 degrees
		for _, turn := range []float64{-360, 0, 360} {
			odd = odd != inside(rings, point{lon + turn, lat})
		}
		return odd
	}
	for name, at := range map[string]point{"Berlin": {13, 52}, "Denver": {-105, 40}, "Chukotka, beyond 180 degrees": {-175, 66.5}, "Siberia": {120, 66.5}, "Sydney's inland": {149, -33}} {
		require.True(t, on(at.x, at.y), name)
	}
	for name, at := range map[string]point{"the Atlantic": {-40, 30}, "the Pacific": {-150, 0}, "the Bering Sea": {-178, 60}, "the Caspian Sea": {51, 40}} {
		require.False(t, on(at.x, at.y), name)
	}
	var b strings.Builder
	b.WriteString(landHead)
	for row := range landRows {
		b.WriteString("  '")
		for column := range int(360 / landDegree) {
			dot := byte('.')
			if on(-180+landDegree*(float64(column)+0.5), landTop-landDegree*(float64(row)+0.5)) {
				dot = '#'
			}
			b.WriteByte(dot)
		}
		b.WriteString("',\n")
	}
	b.WriteString("];\n")
	if *update {
		require.NoError(t, os.WriteFile(landFile, []byte(b.String()), 0o600))
	}
	committed, err := os.ReadFile(landFile)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(committed), "go test ./web -run TestLand -update")
	require.Less(t, len(committed), 12_000)
}

// region is a line of the table of places.
var region = regexp.MustCompile(`(?m)^  (?:'([^']+)'|(\w+)): \[(-?\d+), (-?\d+)\],?$`)

// TestPlacesOfRegions: each name is one that a machine can have, is written as the page looks it up, and lies on the map.
func TestPlacesOfRegions(t *testing.T) {
	text, err := os.ReadFile("static/views/regions.js")
	require.NoError(t, err)
	all := region.FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(all), 100)
	seen := map[string]bool{}
	for _, m := range all {
		name := m[1] + m[2]
		require.False(t, seen[name], "%s is there twice", name)
		seen[name] = true
		require.LessOrEqual(t, len(name), 16, name)
		require.Regexp(t, `^[a-z][a-z0-9-]*$`, name)
		lon, err := strconv.Atoi(m[3])
		require.NoError(t, err)
		lat, err := strconv.Atoi(m[4])
		require.NoError(t, err)
		require.True(t, lon >= -180 && lon <= 180 && float64(lat) <= landTop && float64(lat) >= landTop-landRows*landDegree, name)
	}
	require.True(t, seen["us-west-2"] && seen["eu-central"] && seen["de"] && seen["frankfurt"])
}
