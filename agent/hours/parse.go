package hours

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const example = `write for example "weekdays 19:00-08:00; weekends"`

// Parse reads hours: entries with semicolons between, each of them days, times or both. Days are daily, weekdays, weekends, mon,
// mon-fri, or several of them with commas between; times are from-to such as 19:00-08:00, several with commas between. Times that end
// before they begin end on the next day. Days without times are whole days, times without days are of each day. Empty, or "always", is always.
// zone is an IANA name; empty for the machine's own. Error: ErrHours.
func Parse(text, zone string) (Schedule, error) {
	at, err := zoneOf(zone)
	if err != nil {
		return Schedule{}, err
	}
	text = strings.Join(strings.Fields(text), " ")
	if text == "" || strings.EqualFold(text, "always") {
		return Schedule{}, nil
	}
	week := new([minutesOfWeek]bool)
	for entry := range strings.SplitSeq(text, ";") {
		if err := add(week, strings.TrimSpace(entry)); err != nil {
			return Schedule{}, err
		}
	}
	if !slices.Contains(week[:], false) {
		week = nil
	}
	return Schedule{text: text, zone: at, open: week}, nil
}

// add marks the minutes of one entry.
func add(week *[minutesOfWeek]bool, entry string) error {
	if entry == "" {
		return fmt.Errorf("%w: there is nothing between two semicolons, or after the last; %s", ErrHours, example)
	}
	// Blanks around commas and dashes mean nothing.
	for _, sign := range []string{",", "-"} {
		for _, wide := range []string{sign + " ", " " + sign} {
			entry = strings.ReplaceAll(entry, wide, sign)
		}
	}
	days, times, both := strings.Cut(entry, " ")
	switch {
	case both && strings.Contains(times, " "):
		return fmt.Errorf("%w: %q has more than days and times; put a semicolon between entries: %s", ErrHours, entry, example)
	case !both && days[0] >= '0' && days[0] <= '9':
		days, times = "daily", entry
	case !both:
		times = "00:00-24:00"
	}
	on, err := parseDays(days)
	if err != nil {
		return err
	}
	for span := range strings.SplitSeq(times, ",") {
		from, to, err := parseSpan(span)
		if err != nil {
			return err
		}
		for day, is := range on {
			for m := from; is && m < to; m++ {
				week[(day*minutesOfDay+m)%minutesOfWeek] = true
			}
		}
	}
	return nil
}

var dayNames = [7]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// parseDays reads which days of a week, from Sunday.
func parseDays(text string) (on [7]bool, err error) {
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		switch part {
		case "daily":
			on = [7]bool{true, true, true, true, true, true, true}
			continue
		case "weekdays":
			for day := 1; day <= 5; day++ {
				on[day] = true
			}
			continue
		case "weekends":
			on[0], on[6] = true, true
			continue
		}
		first, last, several := strings.Cut(part, "-")
		if !several {
			last = first
		}
		from, ok1 := dayOf(first)
		to, ok2 := dayOf(last)
		if !ok1 || !ok2 {
			return on, fmt.Errorf("%w: %q is not a day; use mon, tue, wed, thu, fri, sat, sun, mon-fri, weekdays, weekends or daily", ErrHours, part)
		}
		for day := from; ; day = (day + 1) % 7 {
			on[day] = true
			if day == to {
				break
			}
		}
	}
	return on, nil
}

// dayOf reads a day by its name or the first three letters of it.
func dayOf(s string) (int, bool) {
	for i, name := range dayNames {
		if s == name || s == name[:3] {
			return i, true
		}
	}
	return 0, false
}

// parseSpan reads from-to in minutes from the beginning of a day; to may lie in the next.
func parseSpan(s string) (from, to int, err error) {
	a, b, ok := strings.Cut(s, "-")
	from, ok1 := parseTime(a)
	to, ok2 := parseTime(b)
	if !ok || !ok1 || !ok2 || from == minutesOfDay {
		return 0, 0, fmt.Errorf("%w: %q is not a time from-to; use 00:00 to 24:00 such as 19:00-08:00", ErrHours, s)
	}
	if from == to {
		return 0, 0, fmt.Errorf("%w: %q ends when it begins; for a whole day leave the times out", ErrHours, s)
	}
	if to < from {
		to += minutesOfDay
	}
	return from, to, nil
}

// parseTime reads 7:30 or 07:30 in minutes of the day.
func parseTime(s string) (int, bool) {
	hour, minute, ok := strings.Cut(s, ":")
	h, err1 := strconv.ParseUint(hour, 10, 8)
	m, err2 := strconv.ParseUint(minute, 10, 8)
	if !ok || err1 != nil || err2 != nil || len(hour) > 2 || len(minute) != 2 || m > 59 || h > 24 || (h == 24 && m != 0) {
		return 0, false
	}
	return int(h*60 + m), true
}
