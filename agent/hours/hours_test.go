package hours

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func must(t require.TestingT, text, zone string) Schedule {
	s, err := Parse(text, zone)
	require.NoError(t, err, text)
	return s
}

func at(t *testing.T, s string) time.Time {
	x, err := time.Parse(time.RFC3339, s)
	require.NoError(t, err)
	return x
}

func TestOpen(t *testing.T) {
	for text, days := range map[string]map[string]bool{
		"weekdays 19:00-08:00; weekends": {
			"2026-11-20T18:59:59Z": false, "2026-11-20T19:00:00Z": true, // Friday
			"2026-11-21T07:59:00Z": true, "2026-11-21T12:00:00Z": true, "2026-11-22T23:59:59Z": true,
			"2026-11-23T00:00:00Z": false, "2026-11-23T07:00:00Z": false, "2026-11-23T19:00:00Z": true,
		},
		"19:00 - 08:00":               {"2026-11-23T07:00:00Z": true, "2026-11-23T08:00:00Z": false, "2026-11-23T20:00:00Z": true},
		"sat 22:00-06:00":             {"2026-11-22T05:59:00Z": true, "2026-11-22T06:00:00Z": false, "2026-11-21T21:59:00Z": false},
		"fri-mon":                     {"2026-11-20T00:00:00Z": true, "2026-11-23T23:59:00Z": true, "2026-11-24T00:00:00Z": false},
		"Tuesday, thu 7:30-8:00":      {"2026-11-24T07:30:00Z": true, "2026-11-26T07:59:00Z": true, "2026-11-25T07:30:00Z": false},
		"mon 12:00-13:00,18:00-24:00": {"2026-11-23T12:30:00Z": true, "2026-11-23T13:00:00Z": false, "2026-11-23T23:59:00Z": true, "2026-11-24T00:00:00Z": false},
	} {
		for when, want := range days {
			require.Equal(t, want, must(t, text, "UTC").Open(at(t, when)), "%s at %s", text, when)
		}
	}
	require.True(t, Schedule{}.Open(time.Now()))
	for _, all := range []string{"", "Always", "daily", "weekdays; weekends", "00:00-24:00", "00:00-12:00; 12:00-00:00"} {
		s := must(t, all, "")
		require.True(t, s.Always(), all)
		_, changes := s.Change(time.Now())
		require.False(t, changes)
		require.True(t, s.Covers(time.Now(), time.Now().Add(100*365*24*time.Hour)))
	}
	require.Equal(t, "always", must(t, " ", "").String())
	require.EqualValues(t, 730, Schedule{}.Of(730))
	require.EqualValues(t, 5*13+2*24-8, must(t, "weekdays 19:00-08:00; weekends", "").Of(7*24), "Friday's night ends on a Saturday")
	require.EqualValues(t, 3, must(t, "sun 0:00-0:59; sun 23:00-24:00", "").Of(2*7*24), "rounded down")
	require.Equal(t, "weekends 1:00-2:00", must(t, " weekends   1:00-2:00 ", "").String())
	require.Equal(t, "weekends (Europe/Berlin)", must(t, "weekends", "Europe/Berlin").String())
}

// Every wrong text says what is wrong with it.
func TestBadHours(t *testing.T) {
	for text, want := range map[string]string{
		"weekdays 19-8":           `"19-8" is not a time`,
		"weekdays 19:00":          `"19:00" is not a time`,
		"weekdays 25:00-26:00":    "00:00 to 24:00",
		"24:00-08:00":             "is not a time",
		"19:0-08:00":              "is not a time",
		"19:60-20:00":             "is not a time",
		"+9:00-20:00":             "is not a day",
		"019:00-20:00":            "is not a time",
		"mon 08:00-08:00":         "leave the times out",
		"someday":                 `"someday" is not a day`,
		"mon--fri":                "is not a day",
		"weekdays-weekends":       "is not a day",
		"nights 19:00-08:00":      `"nights" is not a day`,
		"weekends;":               "nothing between two semicolons",
		";":                       "nothing between two semicolons",
		"mon tue 19:00-08:00":     "put a semicolon between entries",
		"mon 19:00-20:00 tue":     "put a semicolon between entries",
		"mon,,tue":                `"" is not a day`,
		"mon 19:00-20:00,":        `"" is not a time`,
		strings.Repeat("mon;", 9): "nothing between",
	} {
		_, err := Parse(text, "")
		require.ErrorIs(t, err, ErrHours, text)
		require.ErrorContains(t, err, want)
	}
	for _, zone := range []string{"Mars/Olympus", "Local", "../etc/passwd", "CEST+1"} {
		_, err := Parse("weekends", zone)
		require.ErrorIs(t, err, ErrHours, zone)
		require.ErrorContains(t, err, "Europe/Berlin")
	}
}

// The two days of a year on which clocks change, in Berlin: 2026-03-29 skips 02:00 to 03:00, 2026-10-25 has it twice.
func TestSummerTime(t *testing.T) {
	night := must(t, "sun 01:30-02:30", "Europe/Berlin")
	for _, c := range []struct{ from, begins, ends string }{
		{"2026-03-22T12:00:00Z", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"}, // at 02:00 it is 03:00
		{"2026-10-24T12:00:00Z", "2026-10-24T23:30:00Z", "2026-10-25T00:30:00Z"},
		{"2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"}, // 02:00 once more
	} {
		begins, ok := night.Change(at(t, c.from))
		require.True(t, ok)
		require.True(t, begins.Equal(at(t, c.begins)), "%s begins at %s", c.from, begins.UTC())
		ends, ok := night.Change(begins)
		require.True(t, ok)
		require.True(t, ends.Equal(at(t, c.ends)), "%s ends at %s", c.from, ends.UTC())
		require.True(t, night.Covers(begins, ends))
		require.False(t, night.Covers(begins, ends.Add(time.Second)))
		require.False(t, night.Covers(begins.Add(-time.Second), ends))
	}
	// A time that the clock skips is there a week later.
	skipped := must(t, "sun 02:10-02:20", "Europe/Berlin")
	begins, ok := skipped.Change(at(t, "2026-03-22T12:00:00Z"))
	require.True(t, ok)
	require.True(t, begins.Equal(at(t, "2026-04-05T00:10:00Z")), begins.UTC())
	// A night across the change is an hour shorter, or longer.
	for from, length := range map[string]time.Duration{"2026-03-28T21:00:00+01:00": 9 * time.Hour, "2026-10-24T21:00:00+02:00": 11 * time.Hour, "2026-11-07T21:00:00+01:00": 10 * time.Hour} {
		begins, _ := must(t, "22:00-08:00", "Europe/Berlin").Change(at(t, from))
		ends, _ := must(t, "22:00-08:00", "Europe/Berlin").Change(begins)
		require.Equal(t, length, ends.Sub(begins), from)
	}
}

var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Havana", "Africa/Casablanca", "Pacific/Apia"}

// drawn is a schedule with the windows that it was written from, which a model reads without the parser.
func drawn(t *rapid.T) (s Schedule, zone *time.Location, in func(weekday time.Weekday, minute int) bool) {
	type window struct {
		days     [7]bool
		from, to int
	}
	var windows []window
	var text []string
	for range rapid.IntRange(1, 4).Draw(t, "windows") {
		w := window{from: rapid.IntRange(0, 1439).Draw(t, "from"), to: rapid.IntRange(0, 1440).Draw(t, "to")}
		if w.from == w.to {
			w.to = (w.to + 1) % 1441
		}
		var days []string
		for day := range 7 {
			if rapid.Bool().Draw(t, "day") {
				w.days[day] = true
				days = append(days, dayNames[day][:3])
			}
		}
		if len(days) == 0 {
			w.days, days = [7]bool{true, true, true, true, true, true, true}, []string{"daily"}
		}
		windows = append(windows, w)
		text = append(text, fmt.Sprintf("%s %02d:%02d-%02d:%02d", strings.Join(days, ","), w.from/60, w.from%60, w.to/60, w.to%60))
	}
	name := rapid.SampledFrom(zones).Draw(t, "zone")
	zone, err := time.LoadLocation(name)
	require.NoError(t, err)
	return must(t, strings.Join(text, "; "), name), zone, func(day time.Weekday, minute int) bool {
		for _, w := range windows {
			today, before := w.days[day], w.days[(day+6)%7]
			switch {
			case w.from < w.to && today && minute >= w.from && minute < w.to:
				return true
			case w.from > w.to && (today && minute >= w.from || before && minute < w.to):
				return true
			}
		}
		return false
	}
}

// Whatever the hours, the zone and the time of the year: a walk over the minutes finds the same hours and the same changes.
func TestMinuteByMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, zone, in := drawn(t)
		model := func(x time.Time) bool {
			x = x.In(zone)
			return in(x.Weekday(), x.Hour()*60+x.Minute())
		}
		from := time.Unix(rapid.Int64Range(1_293_840_000, 1_893_456_000).Draw(t, "unix"), 0)
		if rapid.Bool().Draw(t, "at a change of the clock") {
			if _, end := from.In(zone).ZoneBounds(); !end.IsZero() && end.Year() < 2040 {
				from = end.Add(-time.Duration(rapid.IntRange(1, 3*86_400).Draw(t, "before")) * time.Second)
			}
		}
		minute := from.Truncate(time.Minute)
		open := model(from)
		require.Equal(t, open, s.Open(from))
		got, changes := s.Change(from)
		for range 15 * minutesOfDay {
			minute = minute.Add(time.Minute)
			if now := model(minute); now != open {
				require.True(t, changes)
				require.True(t, got.Equal(minute), "from %s: %s, by the model %s", from.In(zone), got, minute.In(zone))
				require.Equal(t, now, s.Open(minute))
				require.Equal(t, open, s.Covers(from, minute))
				require.False(t, s.Covers(from, minute.Add(time.Second)))
				return
			}
		}
		require.False(t, changes)
	})
}

func FuzzParse(f *testing.F) {
	f.Add("weekdays 19:00-08:00; weekends", "Europe/Berlin")
	f.Add("- - , ;", "")
	f.Fuzz(func(t *testing.T, text, zone string) {
		s, err := Parse(text, zone)
		if err != nil {
			require.ErrorIs(t, err, ErrHours)
			return
		}
		now := time.Unix(1_774_700_000, 0)
		if change, ok := s.Change(now); ok {
			require.True(t, change.After(now))
			require.NotEqual(t, s.Open(now), s.Open(change))
		}
	})
}
