package expose

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gantry-market/gantry/client/service"
)

// None in the place of a gateway stands for no gateway: ports have no public address.
const None = "none"

// Wanted is a port of a container as somebody names it who orders.
type Wanted struct {
	// Port of the container, Here the port of the own machine to which it is forwarded, and Name the beginning of its name at a
	// gateway. Here and Name are the port's number where the other one is given.
	Port       uint16
	Here, Name string
	// Local says that Here was given, so that a forward is meant.
	Local bool
}

// String is PORT or PORT:LOCAL, as gantry port takes it.
func (w Wanted) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%d:%s", w.Port, w.Here), fmt.Sprintf(":%d", w.Port))
}

// ParseWanted reads PORT, PORT:LOCAL or PORT:NAME. Digits are a port of the own machine; other words begin a name. Error: a
// [service.Failure].
func ParseWanted(text string) (w Wanted, err error) {
	number, word, _ := strings.Cut(text, ":")
	if strings.Trim(word, "0123456789") == "" { // none, or a number
		w.Port, w.Here, err = ParseForward(text)
		w.Name, w.Local = strconv.Itoa(int(w.Port)), word != ""
		return w, err
	}
	p, err := ParsePort(text, false)
	return Wanted{Port: p.Port, Here: number, Name: p.Name}, err
}

// ParseForward reads PORT[:LOCAL]; without LOCAL it is the same. Error: a [service.Failure].
func ParseForward(text string) (there uint16, here string, err error) {
	first, here, two := strings.Cut(text, ":")
	if !two {
		here = first
	}
	n, err := strconv.ParseUint(first, 10, 16)
	_, lerr := strconv.ParseUint(here, 10, 16)
	if err != nil || lerr != nil || n == 0 {
		return 0, "", service.Usage(fmt.Sprintf("%q is not a port, or two", text), "write PORT or PORT:LOCAL, such as 8888 or 8888:9000")
	}
	return uint16(n), here, nil
}

// Via is the gateway for ports of an order: the one that is named; none for [None], and where a forward is meant; or [Auto].
func Via(named string, ports []Wanted) string {
	switch named {
	case None:
		return ""
	case "":
		for _, p := range ports {
			if p.Local {
				return ""
			}
		}
		return Auto
	}
	return named
}
