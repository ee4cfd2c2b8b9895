package messages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVolumesAreRead(t *testing.T) {
	for text, want := range map[string]Volume{
		"data:50GiB":              {"data", 50 << 10, "/data"},
		"x_1-y:16MiB":             {"x_1-y", 16, "/x_1-y"},
		"w:16TiB:/home/ml/w:here": {"w", MaxVolumeMiB, "/home/ml/w:here"},
		"etc2:1GiB:/etcetera":     {"etc2", 1 << 10, "/etcetera"},
	} {
		got, err := ParseVolume(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
}

func TestVolumesThatCannotBe(t *testing.T) {
	for text, want := range map[string]string{
		"": "no size", "data": "no size", "data:": "its size", "data:50": "its size", "data:50GB": "its size", "data:1.5GiB": "its size",
		"data:-1GiB": "its size", "data:0GiB": "its size", "data:15MiB": "its size", "data:17TiB": "its size", "data:GiB": "its size",
		"data:99999999999999999999GiB": "its size", "data:4294967295TiB": "its size", "data:5GiBB": "its size",
		":1GiB": "its name", "Data:1GiB": "its name", "..:1GiB": "its name", "a/b:1GiB": "its name", "-a:1GiB": "its name",
		strings.Repeat("a", 64) + ":1GiB": "its name", "dä:1GiB": "its name",
		"data:1GiB:": "its path", "data:1GiB:/": "its path", "data:1GiB:data": "its path", "data:1GiB:/a/../b": "its path", "data:1GiB:/a/": "its path",
		"data:1GiB://a": "its path", "data:1GiB:/a\nb": "its path", "data:1GiB:/a\x00": "its path", "data:1GiB:/" + strings.Repeat("a", 255): "its path",
		"data:1GiB:/proc": "makes /proc itself", "data:1GiB:/sys/fs": "makes /sys itself", "data:1GiB:/dev/shm": "makes /dev itself", "etc:1GiB": "makes /etc itself",
	} {
		_, err := ParseVolume(text)
		require.ErrorIs(t, err, ErrVolume, text)
		require.ErrorContains(t, err, want, text)
	}
}
